#include "run/rewards.h"

#include "base/file.h"
#include "env/plugins/plugin.h"
#include "nn/safetensors.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "waker-reward-1", ENDING[] = ".safetensors";
// Labels that only some have.
static const wk_safetensors_pair RECORDED = {"code", "recorded"}, IN_REPLAY = {"numbers", "replay"};

static bool has_label(const wk_safetensors *file, const wk_safetensors_pair *label)
{
    const char *value = wk_safetensors_metadata(file, label->key);
    return value && strcmp(value, label->value) == 0;
}

// The reward that a file's name stands for; false: none.
static bool name_of(const char *file, char name[WK_REWARD_NAME_MAX])
{
    size_t length = strlen(file), ending = strlen(ENDING);
    if (length <= ending || length - ending >= WK_REWARD_NAME_MAX) return false;
    if (strcmp(file + length - ending, ENDING) != 0) return false;
    snprintf(name, WK_REWARD_NAME_MAX, "%.*s", (int)(length - ending), file);
    return wk_reward_name_valid(name);
}

bool wk_reward_file_named(const char *name)
{
    char ignored[WK_REWARD_NAME_MAX];
    return name_of(name, ignored);
}

// Texts of the labels are printed and compared: none is taken that a program would not write.
static wk_status read_label(const wk_safetensors *file, const char *path, const char *name,
                            wk_reward_label *out, wk_error *err)
{
    enum { FORMAT_KEY, NAME, DOMAIN, PATH, HASH, KEYS };
    static const char *const keys[KEYS] = {"format", "name", "domain", "path", "sha256"};
    const char *values[KEYS];
    for (int i = 0; i < KEYS; i++)
        if (!(values[i] = wk_safetensors_metadata(file, keys[i])))
            return wk_fail(err, WK_E_FORMAT, "'%s' has no label '%s': it is not a reward of a run",
                           path, keys[i]);
    bool sound = strcmp(values[FORMAT_KEY], FORMAT) == 0 && wk_reward_name_valid(values[NAME]) &&
                 wk_reward_name_valid(values[DOMAIN]) && wk_code_path_valid(values[PATH]) &&
                 wk_sha256_valid(values[HASH]);
    if (!sound)
        return wk_fail(err, WK_E_FORMAT, "the labels of '%s' are not those of a reward", path);
    if (strcmp(values[NAME], name) != 0)
        return wk_fail(err, WK_E_FORMAT, "'%s' is the file of the reward '%s'; rename it back",
                       path, values[NAME]);
    out->recorded = has_label(file, &RECORDED);
    out->in_replay = has_label(file, &IN_REPLAY);
    snprintf(out->name, sizeof out->name, "%s", values[NAME]);
    snprintf(out->domain, sizeof out->domain, "%s", values[DOMAIN]);
    snprintf(out->file.path, sizeof out->file.path, "%s", values[PATH]);
    snprintf(out->file.sha256, sizeof out->file.sha256, "%s", values[HASH]);
    return WK_OK;
}

// Opens the file of a task and reads its label, which must have the file's name. Close it also
// after a failure.
static wk_status open_file(const char *run, const char *name, wk_safetensors **file,
                           wk_reward_label *label, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, "%s/%s/%s%s", run, WK_REWARD_FOLDER, name, ENDING));
    WK_TRY(wk_safetensors_open(path, file, err));
    return read_label(*file, path, name, label, err);
}

wk_status wk_reward_table_create(const uint64_t *rows, size_t count, wk_reward_table *out,
                                 wk_error *err)
{
    *out = (wk_reward_table){.count = count};
    out->episodes = calloc(count + 1, sizeof *out->episodes);
    out->rows = calloc(count + 1, sizeof *out->rows);
    out->starts = calloc(count + 1, sizeof *out->starts);
    bool room = out->episodes && out->rows && out->starts;
    for (size_t i = 0; i < count && room; i++) {
        out->rows[i] = rows[i];
        out->starts[i + 1] = out->starts[i] + rows[i];
    }
    if (room) out->rewards = calloc(out->starts[count] + 1, sizeof *out->rewards);
    if (out->rewards) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for the rewards of %zu episodes", count);
}

void wk_reward_table_free(wk_reward_table *table)
{
    free(table->episodes);
    free(table->rows);
    free(table->starts);
    free(table->rewards);
    *table = (wk_reward_table){0};
}

enum { EPISODES, ROWS, REWARDS, TENSORS };
static const char *const tensor_names[TENSORS] = {"episodes", "rows", "rewards"};
static const wk_safetensors_dtype tensor_types[TENSORS] = {WK_ST_U64, WK_ST_U64, WK_ST_F32};

// The sizes of the three tensors agree with each other before memory is taken for them.
static wk_status read_tensors(const wk_safetensors *file, const char *name, wk_reward_table *out,
                              wk_error *err)
{
    const wk_safetensors_spec *specs[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        specs[i] = wk_safetensors_find(file, tensor_names[i]);
        if (!specs[i] || specs[i]->rank != 1 || specs[i]->dtype != tensor_types[i])
            return wk_fail(err, WK_E_FORMAT, "the reward '%s' has no list '%s'", name,
                           tensor_names[i]);
    }
    size_t count = specs[EPISODES]->shape[0], numbers = specs[REWARDS]->shape[0], all = 0;
    uint64_t *rows = calloc(count + 1, sizeof *rows);
    if (!rows) return wk_fail(err, WK_E_MEMORY, "no memory for the reward '%s'", name);
    bool whole = specs[ROWS]->shape[0] == count;
    wk_status status = whole ? wk_safetensors_read(file, specs[ROWS], rows, err) : WK_OK;
    for (size_t i = 0; i < count && whole; i++) {
        whole = rows[i] <= numbers - all;
        if (whole) all += rows[i];
    }
    if (status == WK_OK && (!whole || all != numbers))
        status =
            wk_fail(err, WK_E_FORMAT, "the lists of the reward '%s' do not fit each other", name);
    if (status == WK_OK) status = wk_reward_table_create(rows, count, out, err);
    free(rows);
    if (status == WK_OK) status = wk_safetensors_read(file, specs[EPISODES], out->episodes, err);
    if (status == WK_OK) status = wk_safetensors_read(file, specs[REWARDS], out->rewards, err);
    const char *fault = NULL;
    for (size_t i = 1; i < count && status == WK_OK; i++)
        if (out->episodes[i] <= out->episodes[i - 1]) fault = "its episodes are out of order";
    for (size_t i = 0; i < numbers && status == WK_OK; i++)
        if (!isfinite(out->rewards[i])) fault = "a reward is not finite";
    return fault ? wk_fail(err, WK_E_FORMAT, "the reward '%s' is damaged: %s", name, fault)
                 : status;
}

wk_status wk_reward_table_read(const char *run, const char *name, wk_reward_table *out,
                               wk_error *err)
{
    wk_safetensors *file = NULL;
    wk_reward_label label;
    *out = (wk_reward_table){0};
    wk_status status = open_file(run, name, &file, &label, err);
    if (status == WK_OK) status = read_tensors(file, name, out, err);
    wk_safetensors_close(file);
    if (status == WK_OK)
        out->label = label;
    else
        wk_reward_table_free(out);
    return status;
}

wk_status wk_reward_table_write(const wk_reward_table *table, const wk_dir *folder, wk_error *err)
{
    const wk_reward_label *label = &table->label;
    const uint64_t counts[TENSORS] = {table->count, table->count, table->starts[table->count]};
    const void *const bytes[TENSORS] = {table->episodes, table->rows, table->rewards};
    wk_safetensors_source sources[TENSORS] = {0};
    for (int i = 0; i < TENSORS; i++)
        sources[i] = (wk_safetensors_source){.spec = {.name = tensor_names[i],
                                                      .dtype = tensor_types[i],
                                                      .rank = 1,
                                                      .shape = {counts[i]}},
                                             .bytes = bytes[i]};
    wk_safetensors_pair labels[7] = {{"format", FORMAT},
                                     {"name", label->name},
                                     {"domain", label->domain},
                                     {"path", label->file.path},
                                     {"sha256", label->file.sha256}};
    size_t n_labels = 5;
    if (label->recorded) labels[n_labels++] = RECORDED;
    if (label->in_replay) labels[n_labels++] = IN_REPLAY;
    char name[WK_REWARD_NAME_MAX + 32];
    snprintf(name, sizeof name, "%s%s", label->name, ENDING);
    return wk_safetensors_save_in(folder, name, sources, TENSORS, labels, n_labels, err);
}

const float *wk_reward_table_find(const wk_reward_table *table, uint64_t episode, uint64_t *rows)
{
    if (table->count == 0) return NULL;
    const uint64_t *found =
        bsearch(&episode, table->episodes, table->count, sizeof episode, wk_compare_u64);
    if (!found) return NULL;
    *rows = table->rows[found - table->episodes];
    return table->rewards + table->starts[found - table->episodes];
}

// The labels of all rewards of a run, by name; a run without any is fine.
static wk_status read_labels(const char *run, const wk_domain *domain, wk_run_rewards *out,
                             wk_error *err)
{
    char path[WK_PATH_MAX], name[WK_REWARD_NAME_MAX];
    wk_names names = {0};
    bool there;
    WK_TRY(wk_path_join(run, WK_REWARD_FOLDER, path, err));
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    wk_status status = there ? wk_path_list(path, &names, err) : WK_OK;
    if (names.count > 0) out->items = calloc(WK_TASKS_MAX, sizeof *out->items);
    if (names.count > 0 && !out->items) status = wk_fail(err, WK_E_MEMORY, "no memory for rewards");
    int room = WK_TASKS_MAX - domain->n_tasks;
    for (size_t i = 0; i < names.count && status == WK_OK; i++) {
        wk_safetensors *file = NULL;
        if (!name_of(names.items[i], name)) continue;
        if (out->count >= room) {
            status = wk_fail(err, WK_E_INPUT, "'%s' with its rewards has more than %d tasks",
                             domain->name, WK_TASKS_MAX);
            break;
        }
        wk_reward_label *label = &out->items[out->count++].label;
        status = open_file(run, name, &file, label, err);
        wk_safetensors_close(file);
        if (status == WK_OK && strcmp(label->domain, domain->name) != 0)
            status = wk_fail(err, WK_E_FORMAT,
                             "the reward '%s' of '%s' is for the domain '%s', not '%s'",
                             label->name, run, label->domain, domain->name);
    }
    wk_names_free(&names);
    return status;
}

static wk_status open_named(const char *directory, const char *path, const wk_log *log,
                            wk_run_plugins *code, wk_run_rewards *rewards, wk_error *err)
{
    wk_code_file file;
    WK_TRY(wk_run_plugins_open_reward(path, code, &file, err));
    const wk_reward *loaded = code->rewards[code->n_rewards - 1].reward;
    wk_run_reward *reward = NULL;
    for (int i = 0; i < rewards->count; i++)
        if (strcmp(rewards->items[i].label.name, loaded->name) == 0) reward = &rewards->items[i];
    if (!reward)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "'%s' has no task '%s'; add it with 'waker relabel %s --reward %s'",
                       directory, loaded->name, directory, path);
    reward->changed = strcmp(file.sha256, reward->label.file.sha256) != 0;
    if (reward->changed)
        wk_log_line(log, WK_LOG_WARN,
                    "the reward %s changed since the run was relabelled: SHA-256 now %.12s..., "
                    "then %.12s...",
                    file.path, file.sha256, reward->label.file.sha256);
    reward->code = loaded;
    return WK_OK;
}

wk_status wk_run_rewards_open(const char *directory, const wk_domain *domain,
                              const wk_named_plugins *named, const wk_log *log,
                              wk_run_plugins *code, wk_run_rewards *out, wk_error *err)
{
    WK_TRY(read_labels(directory, domain, out, err));
    for (int i = 0; named && i < named->n_rewards; i++)
        WK_TRY(open_named(directory, named->rewards[i], log, code, out, err));

    // The domain with these tasks after its own. Code that was not named is no failure until its
    // task is played.
    wk_added_task tasks[WK_TASKS_MAX];
    if (out->count == 0) return WK_OK;
    for (int i = 0; i < out->count; i++) {
        wk_run_reward *r = &out->items[i];
        tasks[i] = (wk_added_task){r->label.name, r->code};
        if (!r->code && r->label.recorded)
            wk_fail(&r->missing, WK_E_UNSUPPORTED,
                    "its reward was computed by %s, which is not a plug-in: to use it in an "
                    "environment, write a plug-in (waker/reward.h) with the same name and give it "
                    "with --reward FILE",
                    r->label.file.path);
        else if (!r->code)
            wk_run_plugins_refuse_reward(r->label.file.path, &r->missing);
    }
    return wk_relabelled_create(domain, tasks, out->count, &out->extended, err);
}

void wk_run_rewards_close(wk_run_rewards *rewards)
{
    wk_relabelled_destroy(rewards->extended);
    free(rewards->items);
    *rewards = (wk_run_rewards){0};
}

bool wk_run_rewards_in_replay(const wk_run_rewards *rewards)
{
    return rewards->count > 0 && rewards->items[0].label.in_replay;
}

wk_status wk_run_reward_covers(const char *directory, const wk_reward_table *table,
                               const wk_replay *replay, wk_error *err)
{
    const wk_reward_label *label = &table->label;
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        uint64_t rows = 0;
        wk_replay_episode episode = wk_replay_at(replay, i);
        if (wk_reward_table_find(table, episode.id, &rows) && rows >= episode.rows) continue;
        return wk_fail(
            err, WK_E_INPUT,
            "the task '%s' lacks episode %" PRIu64 " of '%s', which was collected later: bring it "
            "up to date with 'waker relabel %s --%s %s%s'",
            label->name, episode.id, directory, directory, label->recorded ? "python" : "reward",
            label->file.path, label->recorded ? ":FUNCTION" : "");
    }
    return WK_OK;
}
