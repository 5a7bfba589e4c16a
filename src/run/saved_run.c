#include "run/saved_run.h"

#include "base/file.h"
#include "config/parts.h"
#include "run/disk.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static wk_status find_checkpoint(const wk_saved_run *run, uint64_t *step, wk_checkpoint_summary *at,
                                 wk_error *err)
{
    WK_TRY(wk_checkpoint_newest(run->directory, step, err));
    return wk_checkpoint_summarise(run->directory, *step, at, err);
}

// The world: of a plug-in's domain the description that the run keeps, unless its code is wanted.
static wk_status open_world(wk_saved_run *run, const wk_saved_run_options *options, wk_error *err)
{
    if (options->plugins)
        WK_TRY(wk_run_plugins_open_saved(run->directory, &run->config, options->plugins,
                                         options->rule, options->log, &run->code, err));
    else
        WK_TRY(wk_plugin_record_read(run->directory, &run->record, err));
    WK_TRY(wk_run_world_open(&run->config, options->plugins ? &run->code : NULL,
                             options->plugins ? NULL : &run->record, &run->world, err));

    // Whatever there is of a run was made with its own config.yaml, which its newest checkpoint
    // knows. One that is missing or damaged keeps nobody from using weights.
    uint64_t step;
    wk_checkpoint_summary at;
    wk_error problem = {0};
    wk_status status = find_checkpoint(run, &step, &at, &problem);
    if (status == WK_OK && wk_run_config_hash(&run->config) != at.head.config)
        return wk_fail(err, WK_E_FORMAT,
                       "the checkpoint at agent step %" PRIu64
                       " of '%s' was written with another config.yaml than the run has now; "
                       "restore the original",
                       step, run->directory);
    if (status != WK_OK && status != WK_E_NOT_FOUND && status != WK_E_FORMAT)
        return wk_fail(err, status, "%s", problem.message);

    // Rewards that were added later are tasks after its own.
    run->replay_domain = run->world.domain;
    if (options->own_tasks) return WK_OK;
    WK_TRY(wk_run_rewards_open(run->directory, run->replay_domain, options->plugins, options->log,
                               &run->code, &run->rewards, err));
    if (run->rewards.extended) run->world.domain = wk_relabelled_domain(run->rewards.extended);
    if (wk_run_rewards_in_replay(&run->rewards)) run->replay_domain = run->world.domain;
    return WK_OK;
}

wk_status wk_saved_run_open(const char *directory, const wk_saved_run_options *options,
                            wk_saved_run *run, wk_error *err)
{
    wk_saved_depth depth = options->depth;
    char path[WK_PATH_MAX];
    bool there;
    run->directory = directory;
    WK_TRY(wk_path_print(path, err, "%s/config.yaml", directory));
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) return wk_run_missing(directory, WK_E_NOT_FOUND, err);
    WK_TRY(wk_run_config_read(path, &run->config, err));
    if (depth >= WK_SAVED_WORLD || options->weights) WK_TRY(open_world(run, options, err));
    if (depth >= WK_SAVED_CHECKPOINT) {
        WK_TRY(find_checkpoint(run, &run->step, &run->summary, err));
        WK_TRY(wk_run_space_create(&run->config, &run->world, &run->space, err));
    }
    if (depth >= WK_SAVED_CURRICULUM) {
        const wk_domain *domain = run->replay_domain;
        WK_TRY(wk_run_curriculum_create(&run->config, &run->code, &run->record, domain, run->space,
                                        &run->curriculum, err));
        WK_TRY(wk_checkpoint_curriculum(directory, run->step, domain, run->curriculum, err));
    }
    return options->weights ? wk_saved_run_load(run, options->weights, err) : WK_OK;
}

static void unload(wk_saved_weights *w)
{
    wk_learner_destroy(w->learner);
    wk_backend_destroy(w->backend);
    wk_pool_destroy(w->pool);
    *w = (wk_saved_weights){0};
}

void wk_saved_run_close(wk_saved_run *run)
{
    unload(&run->weights);
    wk_curriculum_destroy(run->curriculum);
    wk_space_destroy(run->space);
    wk_run_rewards_close(&run->rewards);
    wk_plugin_record_free(&run->record);
    wk_run_plugins_close(&run->code);
    *run = (wk_saved_run){0};
}

wk_status wk_saved_run_load(wk_saved_run *run, const wk_weights_choice *choice, wk_error *err)
{
    wk_saved_weights *w = &run->weights;
    wk_run_config *config = &w->config;
    wk_learner_config learner;
    unload(w);
    *config = run->config;
    if (choice->seed) config->seed = *choice->seed;

    // The file; only fine-tuned weights are of one task.
    w->kind = choice->kind;
    const char *task = choice->kind == WK_WEIGHTS_FINETUNED ? choice->task : NULL;
    const wk_weights_source source = {choice->kind, task, choice->name};
    WK_TRY(wk_weights_find(run->directory, source, choice->step, &w->step, err));
    wk_weights_path(run->directory, source, w->step, w->path);

    // The tasks: those asked for, those that the file names, or the run's, of which "all" were
    // those of before the rewards came.
    if (choice->tasks && strlen(choice->tasks) >= sizeof config->tasks)
        return wk_fail(err, WK_E_INPUT, "tasks: '%.60s...' is too long", choice->tasks);
    if (choice->tasks)
        snprintf(config->tasks, sizeof config->tasks, "%s", choice->tasks);
    else if (w->kind == WK_WEIGHTS_ADAPTED || w->kind == WK_WEIGHTS_FINETUNED ||
             run->rewards.count > 0)
        WK_TRY(wk_weights_tasks(w->path, config->tasks, err));
    WK_TRY(wk_run_config_tasks(config, run->world.domain, w->tasks, &w->n_tasks, err));

    // The device.
    if (choice->device) snprintf(config->device, sizeof config->device, "%s", choice->device);
    if (choice->threads > 0) config->env_threads = choice->threads;
    WK_TRY(wk_pool_create(config->env_threads, &w->pool, err));
    WK_TRY(
        wk_device_open(config->device, config->precision, w->pool, &w->backend, &w->device, err));

    // The learner.
    WK_TRY(wk_run_config_learner(config, run->world.domain, &learner, err));
    unsigned uses = choice->adapt ? WK_LEARNER_OBSERVES : 0;
    WK_TRY(wk_learner_create(uses, &learner, w->backend, &w->learner, err));
    bool policies = !choice->tasks && w->n_tasks > 0;
    unsigned parts = WK_WEIGHTS_WORLD | (policies ? WK_WEIGHTS_TASKS : 0u) |
                     (choice->compact ? WK_WEIGHTS_COMPACT : 0u);
    return wk_learner_restore_weights(w->learner, w->path, parts, err);
}

wk_status wk_saved_run_playable(const wk_saved_run *run, int task, wk_error *err)
{
    int added = task - (run->world.domain->n_tasks - run->rewards.count);
    if (added < 0) return WK_OK;
    const wk_run_reward *reward = &run->rewards.items[added];
    return reward->code ? WK_OK
                        : wk_fail(err, WK_E_INPUT, "task '%s': %s", reward->label.name,
                                  reward->missing.message);
}

wk_status wk_saved_run_policy(const wk_saved_run *run, int task, int *policy, wk_error *err)
{
    const wk_saved_weights *w = &run->weights;
    for (int k = 0; k < w->n_tasks; k++) {
        if (w->tasks[k] != task) continue;
        *policy = k;
        return WK_OK;
    }
    return wk_fail(err, WK_E_NOT_FOUND, "'%s' has no policy for task '%s'; it has: %s", w->path,
                   run->world.domain->tasks[task].name, w->config.tasks);
}

wk_status wk_saved_run_open_replay(const wk_saved_run *run, wk_pool *pool, wk_replay **out,
                                   wk_error *err)
{
    uint64_t step;
    wk_checkpoint_summary newest;
    WK_TRY(find_checkpoint(run, &step, &newest, err));
    wk_replay_config sizes = wk_run_config_replay(&run->config, run->replay_domain);
    sizes.pool = pool;
    WK_TRY(wk_replay_create(&sizes, out, err));
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, "%s/replay", run->directory));
    wk_status status = wk_replay_log_read(path, &newest.head.replay, *out, err);
    if (status == WK_OK) return WK_OK;
    wk_replay_destroy(*out);
    *out = NULL;
    wk_fail_context(err, "the data of the run in '%s'", run->directory);
    return status;
}
