#include "run/weights.h"

#include "base/file.h"
#include "config/parts.h"
#include "nn/safetensors.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is said of each kind, where its files are, and how a user gets them.
static const struct {
    const char *name, *folder, *file, *words, *advice;
} kinds[] = {
    {"snapshot", "snapshots", ".safetensors", "snapshot",
     "a run writes one every snapshot.every agent steps and when it ends"},
    {"checkpoint", "checkpoints", "/learner.safetensors", "checkpoint",
     "a run writes its first within a minute, and its last when it ends"},
    {"adapted", "adapt", "/weights.safetensors", "adapted policies",
     "create them with 'waker adapt'"},
    {"finetuned", "finetune", "/weights.safetensors", "fine-tuned policy",
     "create one with 'waker finetune'"},
};

const char *wk_weights_kind_name(wk_weights_kind kind)
{
    return kinds[kind].name;
}

wk_status wk_weights_check_name(const char *name, wk_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = name ? strlen(name) : 1;
    if (length > 0 && length < WK_WEIGHTS_NAME_MAX && (!name || strspn(name, letters) == length))
        return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "--name '%.60s': a name has 1 to %d of the characters a-z, 0-9 and '-'", name,
                   WK_WEIGHTS_NAME_MAX - 1);
}

void wk_weights_path(const char *run, wk_weights_source source, uint64_t step,
                     char out[WK_PATH_MAX])
{
    snprintf(out, WK_PATH_MAX, "%s/%s/step-%012" PRIu64 "%s%s%s%s%s", run,
             kinds[source.kind].folder, step, source.task ? "-" : "",
             source.task ? source.task : "", source.name ? "." : "", source.name ? source.name : "",
             kinds[source.kind].file);
}

wk_status wk_weights_steps(const char *run, wk_weights_source source, wk_steps *out, wk_error *err)
{
    char folder[WK_PATH_MAX], path[WK_PATH_MAX];
    wk_names names = {0};
    WK_TRY(wk_path_join(run, kinds[source.kind].folder, folder, err));
    wk_status status = wk_path_list(folder, &names, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    for (size_t i = 0; i < names.count && status == WK_OK; i++) {
        // The name is that of the source at some step, exactly, and its file is there: a directory
        // may have been made for weights to come.
        uint64_t step;
        bool there = false;
        size_t length = strlen(names.items[i]);
        if (sscanf(names.items[i], "step-%20" SCNu64, &step) != 1) continue;
        wk_weights_path(run, source, step, path);
        const char *rest = path + strlen(folder) + 1;
        if (strncmp(rest, names.items[i], length) != 0 || (rest[length] && rest[length] != '/'))
            continue;
        status = wk_file_exists_in(NULL, path, &there, err);
        if (status == WK_OK && there && !wk_array_push(out, step))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the steps of '%s'", run);
    }
    wk_names_free(&names);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, wk_compare_u64);
    return status;
}

static int compare_folders(const void *a, const void *b)
{
    const wk_weights_folder *x = a, *y = b;
    int order = strcmp(x->task, y->task);
    return order ? order : strcmp(x->name, y->name);
}

wk_weights_source wk_weights_folder_source(wk_weights_kind kind, const wk_weights_folder *folder)
{
    return (wk_weights_source){kind, *folder->task ? folder->task : NULL,
                               *folder->name ? folder->name : NULL};
}

// Task and name in "step-000000500000-walk.NAME"; false for other names.
static bool read_folder(const char *text, wk_weights_kind kind, wk_weights_folder *out)
{
    char path[WK_PATH_MAX], *end;
    *out = (wk_weights_folder){0};
    if (strncmp(text, "step-", 5) != 0) return false;
    uint64_t step = strtoull(text + 5, &end, 10);
    if (*end == '-') sscanf(end, "-%63[a-z0-9_-]", out->task);
    const char *dot = strchr(end, '.');
    if (dot) snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, dot + 1);
    if ((kind == WK_WEIGHTS_FINETUNED) != (*out->task != 0)) return false;
    if (dot && wk_weights_check_name(out->name, NULL) != WK_OK) return false;
    wk_weights_path(".", wk_weights_folder_source(kind, out), step, path);
    *strrchr(path, '/') = 0;
    return strcmp(strrchr(path, '/') + 1, text) == 0;
}

wk_status wk_weights_list(const char *run, wk_weights_kind kind, wk_weights_folders *out,
                          wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_names names = {0};
    WK_TRY(wk_path_join(run, kinds[kind].folder, path, err));
    wk_status status = wk_path_list(path, &names, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        wk_weights_folder one;
        bool known = !read_folder(names.items[i], kind, &one);
        for (size_t k = 0; k < out->count && !known; k++) // of another step
            known = compare_folders(&out->items[k], &one) == 0;
        if (!known && !wk_array_push(out, one))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the folders in '%s'", path);
    }
    wk_names_free(&names);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, compare_folders);
    return status;
}

wk_status wk_weights_find(const char *run, wk_weights_source source, int64_t wanted, uint64_t *step,
                          wk_error *err)
{
    wk_steps steps = {0};
    bool found = false;
    wk_status status = wk_weights_steps(run, source, &steps, err);
    size_t count = steps.count;
    for (size_t i = count; i-- > 0 && !found;) {
        found = wanted == WK_STEP_LAST || steps.items[i] == (uint64_t)wanted;
        if (found) *step = steps.items[i];
    }

    // What there is instead, or how to make the first.
    enum { SHOWN = 12 };
    wk_text what = {0}, there = {0};
    size_t first = count > SHOWN ? count - SHOWN : 0;
    wk_text_puts(&what, kinds[source.kind].words);
    if (source.task) wk_text_printf(&what, " for '%s'", source.task);
    if (source.name) wk_text_printf(&what, " named '%s'", source.name);
    for (size_t i = first; i < count; i++)
        wk_text_printf(&there, "%s%" PRIu64, i > first ? ", " : "", steps.items[i]);
    if (status == WK_OK && !found && count == 0)
        status = wk_fail(err, WK_E_NOT_FOUND, "'%s' has no %s; %s", run, wk_text_get(&what),
                         kinds[source.kind].advice);
    else if (status == WK_OK && !found)
        status =
            wk_fail(err, WK_E_NOT_FOUND,
                    "'%s' has no %s at agent step %" PRId64 "; there are agent steps %s%s", run,
                    wk_text_get(&what), wanted, first ? "..., " : "", wk_text_get(&there));
    wk_text_free(&what);
    wk_text_free(&there);
    wk_array_free(&steps);
    return status;
}

wk_status wk_weights_save(const wk_learner *learner, const wk_weights_origin *origin,
                          const wk_dir *dir, const char *name, wk_error *err)
{
    char step[24], seed[24];
    snprintf(step, sizeof step, "%" PRIu64, origin->step);
    snprintf(seed, sizeof seed, "%" PRIu64, origin->config->seed);
    char tasks[WK_RUN_TEXT_MAX];
    WK_TRY(wk_run_config_task_names(origin->config, origin->domain, tasks, err));
    wk_text episodes = {0};
    wk_data_cutoff_print(origin->cutoff, &episodes);
    wk_status status = episodes.failed
                           ? wk_fail(err, WK_E_MEMORY, "no memory for the labels of '%s'", name)
                           : WK_OK;
    wk_weights_label labels[] = {{"domain", origin->domain->name},
                                 {"curriculum", origin->config->curriculum_rule},
                                 {"seed", seed},
                                 {"step", step},
                                 {"tasks", tasks},
                                 {"episodes", wk_text_get(&episodes)}};
    size_t count = sizeof labels / sizeof *labels;
    if (status == WK_OK) status = wk_learner_save_weights(learner, dir, name, labels, count, err);
    wk_text_free(&episodes);
    return status;
}

wk_status wk_weights_same(const char *a, const char *b, bool *same, wk_error *err)
{
    wk_safetensors *x = NULL, *y = NULL;
    *same = false;
    wk_status status = wk_safetensors_open(a, &x, err);
    if (status == WK_OK) status = wk_safetensors_open(b, &y, err);
    if (status == WK_OK) *same = wk_safetensors_count(x) == wk_safetensors_count(y);
    for (size_t i = 0; *same && i < wk_safetensors_count(x); i++) {
        char key[512];
        snprintf(key, sizeof key, "crc32c/%s", wk_safetensors_at(x, i)->name);
        const char *of_x = wk_safetensors_metadata(x, key), *of_y = wk_safetensors_metadata(y, key);
        *same = of_x && of_y && strcmp(of_x, of_y) == 0;
    }
    wk_safetensors_close(x);
    wk_safetensors_close(y);
    return status == WK_E_NOT_FOUND || status == WK_E_FORMAT ? WK_OK : status;
}

// Opens a file and finds one of its labels; close the file also after a failure.
static wk_status find_label(const char *path, const char *name, wk_safetensors **file,
                            const char **label, wk_error *err)
{
    WK_TRY(wk_safetensors_open(path, file, err));
    *label = wk_safetensors_metadata(*file, name);
    if (*label) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "'%s' has no label '%s': it was not written by a run", path,
                   name);
}

wk_status wk_weights_tasks(const char *path, char tasks[WK_RUN_TEXT_MAX], wk_error *err)
{
    wk_safetensors *file = NULL;
    const char *label;
    wk_status status = find_label(path, "tasks", &file, &label, err);
    if (status == WK_OK) snprintf(tasks, WK_RUN_TEXT_MAX, "%s", label);
    wk_safetensors_close(file);
    return status;
}

wk_status wk_weights_data_cutoff(const char *path, wk_data_cutoff *out, wk_error *err)
{
    wk_safetensors *file = NULL;
    const char *label;
    wk_status status = find_label(path, "episodes", &file, &label, err);
    if (status == WK_OK) status = wk_data_cutoff_parse(label, out, err);
    wk_safetensors_close(file);
    return status;
}

wk_data_cutoff wk_data_cutoff_now(const wk_replay *replay)
{
    wk_replay_stats stats = wk_replay_get_stats(replay);
    wk_data_cutoff cutoff = {.begun = stats.evicted + stats.episodes};
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        wk_replay_episode episode = wk_replay_at(replay, i);
        if (episode.slot >= 0) cutoff.running[cutoff.n_running++] = episode.id;
    }
    return cutoff;
}

void wk_data_cutoff_print(const wk_data_cutoff *cutoff, wk_text *out)
{
    wk_text_printf(out, "%" PRIu64, cutoff->begun);
    for (size_t i = 0; i < cutoff->n_running; i++)
        wk_text_printf(out, "%s%" PRIu64, i ? "," : " less ", cutoff->running[i]);
}

// The number at *text, which is moved after it.
static bool take_number(const char **text, uint64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**text)) return false;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

wk_status wk_data_cutoff_parse(const char *text, wk_data_cutoff *out, wk_error *err)
{
    const char *at = text;
    *out = (wk_data_cutoff){0};
    bool sound = take_number(&at, &out->begun);
    for (const char *gap = " less "; *at && sound; gap = ",") {
        size_t length = strlen(gap);
        sound = strncmp(at, gap, length) == 0 && out->n_running < WK_DATA_CUTOFF_RUNNING_MAX;
        if (sound) at += length;
        sound = sound && take_number(&at, &out->running[out->n_running++]);
    }
    if (sound) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "'%.40s' does not say which episodes had been collected",
                   text);
}

static bool within(const wk_data_cutoff *cutoff, uint64_t episode)
{
    for (size_t i = 0; i < cutoff->n_running; i++)
        if (cutoff->running[i] == episode) return false;
    return episode < cutoff->begun;
}

void wk_data_cutoff_apply(wk_replay *replay, const wk_data_cutoff *cutoff)
{
    for (size_t i = wk_replay_count(replay); i-- > 0;)
        if (!within(cutoff, wk_replay_at(replay, i).id)) wk_replay_remove(replay, i);
}

static bool has_any(const char *run, wk_weights_kind kind, int64_t step)
{
    uint64_t found;
    int64_t wanted = step == WK_STEP_ALL ? WK_STEP_LAST : step;
    return wk_weights_find(run, (wk_weights_source){.kind = kind}, wanted, &found, NULL) == WK_OK;
}

// Which policies a query without one means.
static wk_status choose_policy(const char *run, bool alongside, const wk_weights_query *query,
                               const char **policy, wk_error *err)
{
    // Adapted policies of other steps are better listed than passed over.
    bool adapted = query->name || has_any(run, WK_WEIGHTS_ADAPTED, query->step);
    *policy = adapted || !alongside ? WK_POLICY_ADAPTED : WK_POLICY_ALONGSIDE;
    if (adapted || alongside || has_any(run, WK_WEIGHTS_ADAPTED, WK_STEP_LAST)) return WK_OK;

    // There are none, or only adaptations with names.
    wk_weights_folders folders = {0};
    wk_text names = {0};
    wk_status status = wk_weights_list(run, WK_WEIGHTS_ADAPTED, &folders, NULL);
    for (size_t i = 0; status == WK_OK && i < folders.count; i++)
        if (*folders.items[i].name)
            wk_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", folders.items[i].name);
    wk_array_free(&folders);
    const char *list = wk_text_get(&names);
    if (*list)
        status = wk_fail(err, WK_E_NOT_FOUND,
                         "'%s' has adaptations with names only: %s; add --name %.*s", run, list,
                         (int)strcspn(list, ","), list);
    else
        status = wk_fail(err, WK_E_NOT_FOUND,
                         "'%s' has no task policies: its world model was trained without tasks; "
                         "create some with 'waker adapt %s', or evaluate --policy random",
                         run, run);
    wk_text_free(&names);
    return status;
}

wk_status wk_weights_resolve(const char *run, const wk_run_config *config,
                             const wk_weights_query *query, wk_weights_answer *out, wk_error *err)
{
    static const char *const policies[] = {WK_POLICY_ADAPTED, WK_POLICY_ALONGSIDE,
                                           WK_POLICY_FINETUNED, WK_POLICY_RANDOM};
    static const wk_weights_kind kind_of[] = {WK_WEIGHTS_ADAPTED, WK_WEIGHTS_SNAPSHOT,
                                              WK_WEIGHTS_FINETUNED, WK_WEIGHTS_SNAPSHOT};
    enum { POLICIES = sizeof kind_of / sizeof *kind_of };
    bool alongside = strcmp(config->tasks, "none") != 0;

    // Which policies.
    const char *policy = query->policy, *name = query->name;
    if (!policy) {
        WK_TRY(wk_weights_check_name(name, err));
        WK_TRY(choose_policy(run, alongside, query, &policy, err));
    }
    size_t length = strcspn(policy, ".");
    if (policy[length] && name && strcmp(name, policy + length + 1) != 0)
        return wk_fail(err, WK_E_INPUT, "--policy '%s' contradicts --name '%s': leave out one",
                       policy, name);
    if (policy[length]) name = policy + length + 1;
    WK_TRY(wk_weights_check_name(name, err));
    int kind = 0;
    while (kind < POLICIES &&
           (strlen(policies[kind]) != length || strncmp(policies[kind], policy, length) != 0))
        kind++;
    if (kind == POLICIES) return wk_fail_unknown(err, "policy", policy, policies, POLICIES);
    out->policy = policies[kind];
    if (strcmp(out->policy, WK_POLICY_ALONGSIDE) == 0 && !alongside)
        return wk_fail(err, WK_E_INPUT,
                       "--policy alongside: '%s' was trained without tasks; create policies from "
                       "its snapshots with 'waker adapt %s'",
                       run, run);
    if (name && kind_of[kind] == WK_WEIGHTS_SNAPSHOT)
        return wk_fail(err, WK_E_INPUT,
                       "--name selects adapted or fine-tuned policies; --policy %s has no names",
                       out->policy);
    out->source = (wk_weights_source){.kind = kind_of[kind], .name = name};
    snprintf(out->title, sizeof out->title, "%s%s%s", out->policy, name ? "." : "",
             name ? name : "");

    // Of which steps: rising, and each once, of all the files.
    wk_steps *steps = &out->steps;
    int files = out->source.kind == WK_WEIGHTS_FINETUNED ? query->n_tasks : 1;
    const char *task = query->n_tasks > 0 ? query->tasks[0] : NULL;
    for (int i = 0; i < files; i++)
        WK_TRY(wk_weights_steps(run, wk_weights_of(out, i ? query->tasks[i] : task), steps, err));
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (kept == 0 || steps->items[kept - 1] != steps->items[i])
            steps->items[kept++] = steps->items[i];
    steps->count = kept;
    for (size_t i = steps->count; i-- > 0;) {
        if (query->step >= 0 && steps->items[i] != (uint64_t)query->step) continue;
        if (query->step == WK_STEP_ALL) return WK_OK;
        steps->items[0] = steps->items[i];
        steps->count = 1;
        return WK_OK;
    }
    // There are none of that step: the message lists what there is.
    uint64_t late; // written by a run that trains since they were listed
    int64_t wanted = query->step == WK_STEP_ALL ? WK_STEP_LAST : query->step;
    WK_TRY(wk_weights_find(run, wk_weights_of(out, task), wanted, &late, err));
    steps->count = 0;
    if (wk_array_push(steps, late)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for a step of '%s'", run);
}

void wk_weights_answer_free(wk_weights_answer *answer)
{
    wk_array_free(&answer->steps);
}

wk_weights_source wk_weights_of(const wk_weights_answer *answer, const char *task)
{
    wk_weights_source source = answer->source;
    if (source.kind == WK_WEIGHTS_FINETUNED) source.task = task;
    return source;
}
