#include "run/saved_learner.h"

#include "base/file.h"
#include "config/parts.h"
#include <stdio.h>
#include <string.h>

wk_status wk_saved_run_read_config(const char *directory, wk_run_config *out, wk_error *err)
{
    char path[WK_WEIGHTS_PATH_MAX];
    snprintf(path, sizeof path, "%s/config.yaml", directory);
    if (!wk_path_exists(path))
        return wk_fail(err, WK_E_NOT_FOUND,
                       "'%s' holds no run (no config.yaml); give the directory that 'waker train "
                       "--logdir' was given",
                       directory);
    return wk_run_config_read(path, out, err);
}

// Which tasks the learner gets: those requested, those the file names, or the run's.
static wk_status choose_tasks(const wk_saved_learner_config *config, wk_saved_learner *s,
                              wk_error *err)
{
    if (config->tasks) {
        if (strlen(config->tasks) >= sizeof s->config.tasks)
            return wk_fail(err, WK_E_INPUT, "tasks: '%.60s...' is too long", config->tasks);
        snprintf(s->config.tasks, sizeof s->config.tasks, "%s", config->tasks);
    } else if (s->kind == WK_WEIGHTS_ADAPTED || s->kind == WK_WEIGHTS_FINETUNED) {
        WK_TRY(wk_weights_tasks(s->path, s->config.tasks, err));
    }
    return wk_run_config_tasks(&s->config, s->world.domain, s->tasks, &s->n_tasks, err);
}

static wk_status choose_device(const wk_saved_learner_config *config, wk_saved_learner *s,
                               wk_error *err)
{
    if (config->device) snprintf(s->config.device, sizeof s->config.device, "%s", config->device);
    if (config->threads > 0) s->config.env_threads = config->threads;
    WK_TRY(wk_pool_create(s->config.env_threads, &s->pool, err));
    return wk_device_open(s->config.device, s->config.precision, s->pool, &s->backend, &s->device,
                          err);
}

wk_status wk_saved_learner_open(const wk_saved_learner_config *config, wk_saved_learner *s,
                                wk_error *err)
{
    wk_learner_config learner;
    s->kind = config->kind;
    WK_TRY(wk_saved_run_read_config(config->directory, &s->config, err));
    if (config->seed) s->config.seed = *config->seed;
    WK_TRY(wk_weights_find(config->directory, config->kind, config->step, config->task, &s->step,
                           err));
    wk_weights_path(config->directory, config->kind, s->step, config->task, s->path);
    if (!config->code) WK_TRY(wk_plugin_record_read(config->directory, &s->record, err));
    WK_TRY(wk_run_world_open(&s->config, config->code, &s->record, &s->world, err));
    WK_TRY(choose_tasks(config, s, err));
    WK_TRY(choose_device(config, s, err));
    WK_TRY(wk_run_config_learner(&s->config, s->world.domain, &learner, err));
    unsigned uses = config->adapt ? WK_LEARNER_OBSERVES : 0;
    WK_TRY(wk_learner_create_for(uses, &learner, s->backend, &s->learner, err));
    bool policies = !config->tasks && s->n_tasks > 0;
    unsigned parts = WK_WEIGHTS_WORLD | (policies ? WK_WEIGHTS_TASKS : 0u);
    return wk_learner_restore_weights(s->learner, s->path, parts, err);
}

void wk_saved_learner_close(wk_saved_learner *s)
{
    wk_learner_destroy(s->learner);
    wk_backend_destroy(s->backend);
    wk_pool_destroy(s->pool);
    wk_plugin_record_free(&s->record);
    *s = (wk_saved_learner){0};
}

wk_status wk_saved_learner_policy(const wk_saved_learner *s, int task, int *policy, wk_error *err)
{
    for (int k = 0; k < s->n_tasks; k++) {
        if (s->tasks[k] != task) continue;
        *policy = k;
        return WK_OK;
    }
    return wk_fail(err, WK_E_NOT_FOUND, "'%s' has no policy for task '%s'; it has: %s", s->path,
                   s->world.domain->tasks[task].name, s->config.tasks);
}
