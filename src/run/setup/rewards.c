#include "run/setup/rewards.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static wk_status read_labels(const char *directory, const wk_domain *domain, wk_run_rewards *out,
                             wk_error *err)
{
    wk_reward_labels labels = {0};
    wk_status status = wk_reward_labels_read(directory, &labels, err);
    if (status == WK_OK && labels.count > 0) {
        out->items = calloc(labels.count, sizeof *out->items);
        if (!out->items) status = wk_fail(err, WK_E_MEMORY, "no memory for rewards");
    }
    for (size_t i = 0; i < labels.count && status == WK_OK; i++) {
        out->items[out->count++].label = labels.items[i];
        if (strcmp(labels.items[i].domain, domain->name) != 0)
            status = wk_fail(err, WK_E_FORMAT,
                             "the reward '%s' of '%s' is for the domain '%s', not '%s'",
                             labels.items[i].name, directory, labels.items[i].domain, domain->name);
    }
    wk_array_free(&labels);
    return status;
}

static wk_run_reward *find(wk_run_rewards *rewards, const char *name)
{
    for (int i = 0; i < rewards->count; i++)
        if (strcmp(rewards->items[i].label.name, name) == 0) return &rewards->items[i];
    return NULL;
}

static wk_status open_named(const char *directory, const char *path, const wk_log *log,
                            wk_run_plugins *code, wk_run_rewards *rewards, wk_error *err)
{
    wk_code_file file;
    WK_TRY(wk_run_plugins_open_reward(path, code, &file, err));
    const wk_reward *loaded = code->rewards[code->n_rewards - 1].reward;
    wk_run_reward *reward = find(rewards, loaded->name);
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

// Code that was not named is no failure until its task is played.
static void note_missing(wk_run_reward *reward)
{
    if (reward->label.recorded)
        wk_fail(&reward->missing, WK_E_UNSUPPORTED,
                "its reward was computed by %s, which is not a plug-in: to use it in an "
                "environment, write a plug-in (waker/reward.h) with the same name and give it with "
                "--reward FILE",
                reward->label.file.path);
    else
        wk_run_plugins_refuse_reward(reward->label.file.path, &reward->missing);
}

static wk_status open_code(const char *directory, const wk_named_plugins *named, const wk_log *log,
                           wk_run_plugins *code, wk_run_rewards *rewards, wk_error *err)
{
    for (int i = 0; i < named->n_rewards; i++)
        WK_TRY(open_named(directory, named->rewards[i], log, code, rewards, err));
    for (int i = 0; i < rewards->count; i++)
        if (!rewards->items[i].code) note_missing(&rewards->items[i]);
    return WK_OK;
}

static wk_status extend(const wk_domain *domain, wk_run_rewards *rewards, wk_error *err)
{
    wk_added_task tasks[WK_TASKS_MAX];
    if (rewards->count == 0) return WK_OK;
    if (domain->n_tasks + rewards->count > WK_TASKS_MAX)
        return wk_fail(err, WK_E_INPUT, "'%s' with its rewards has more than %d tasks",
                       domain->name, WK_TASKS_MAX);
    for (int i = 0; i < rewards->count; i++)
        tasks[i] = (wk_added_task){rewards->items[i].label.name, rewards->items[i].code};
    return wk_relabelled_create(domain, tasks, rewards->count, &rewards->extended, err);
}

wk_status wk_run_rewards_open(const char *directory, const wk_domain *domain,
                              const wk_named_plugins *named, const wk_log *log,
                              wk_run_plugins *code, wk_run_rewards *out, wk_error *err)
{
    WK_TRY(read_labels(directory, domain, out, err));
    if (named) WK_TRY(open_code(directory, named, log, code, out, err));
    return extend(domain, out, err);
}

void wk_run_rewards_close(wk_run_rewards *rewards)
{
    wk_relabelled_destroy(rewards->extended);
    free(rewards->items);
    *rewards = (wk_run_rewards){0};
}

const wk_domain *wk_run_rewards_domain(const wk_run_rewards *rewards, const wk_domain *domain)
{
    return rewards->extended ? wk_relabelled_domain(rewards->extended) : domain;
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
