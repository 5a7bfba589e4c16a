// Runs: training, and rewards added later.
#include "waker/train.h"

#include "api/entry.h"
#include "run/rewards.h"
#include "run/settings.h"
#include "train/train.h"
#include "waker/relabel.h"
#include <stdlib.h>
#include <string.h>

wk_train_config wk_train_config_default(void)
{
    return (wk_train_config){0};
}

static size_t count_texts(const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

static size_t count_settings(const wk_train_setting *list)
{
    size_t count = 0;
    while (list && list[count].key)
        count++;
    return count;
}

static wk_status copy_settings(const wk_train_setting *list, size_t count, wk_setting *out,
                               wk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!list[i].value)
            return wk_fail(err, WK_E_INPUT, "%s: the value is missing", list[i].key);
        out[i] = (wk_setting){list[i].key, strlen(list[i].key), list[i].value};
    }
    return WK_OK;
}

static void pass_message(void *context, wk_log_level level, const char *line)
{
    const wk_train_config *config = context;
    config->message(config->context, level >= WK_LOG_WARN, line);
}

static void pass_progress(void *context, const wk_status_values *now)
{
    const wk_train_config *config = context;
    const wk_train_progress progress = {.steps = now->steps,
                                        .total = now->total,
                                        .updates = now->updates,
                                        .updates_per_second = now->updates_per_second,
                                        .seconds_left = now->seconds_left,
                                        .model_loss = now->model_loss,
                                        .mean_error = now->mean_error};
    config->progress(config->context, &progress);
}

// The callbacks get the config as context; they do not change it.
static wk_run_control control_of(const wk_train_config *config)
{
    void *context = (void *)config;
    wk_run_control control = {.stop = config->stop, .lock_wait = WK_LOCK_WAIT_SECONDS};
    if (config->message) control.log = (wk_log){pass_message, context, WK_LOG_INFO};
    if (config->progress) control.progress = (wk_progress_sink){pass_progress, context};
    return control;
}

static wk_status train(const wk_train_config *config, wk_setting *keys, wk_run_plugins *code,
                       wk_run_end *end, wk_error *err)
{
    wk_run_settings settings = {.blocks = config->blocks,
                                .n_blocks = count_texts(config->blocks),
                                .files = config->files,
                                .n_files = count_texts(config->files),
                                .from = config->from,
                                .keys = keys,
                                .n_keys = count_settings(config->settings)};
    const wk_run_control control = control_of(config);
    const wk_train_extras extras = {.code = code};
    wk_run_config run;
    WK_TRY(copy_settings(config->settings, settings.n_keys, keys, err));
    WK_TRY(wk_run_settings_resolve(&settings, config->directory, &control.log, &run, code, err));
    wk_status status = wk_train(&run, config->directory, &extras, &control, end, err);
    if (status != WK_E_STOPPED) return status;
    *end = WK_RUN_INTERRUPTED; // nothing has changed, so what was saved is as it was
    if (err) *err = (wk_error){0};
    return WK_OK;
}

wk_status wk_train_run(const wk_train_config *config, wk_run_end *end, wk_error *err)
{
    if (!config->directory || !*config->directory)
        return wk_fail(err, WK_E_INPUT, "directory: say where the run goes");
    wk_run_plugins code = {0};
    wk_setting *keys = calloc(count_settings(config->settings) + 1, sizeof *keys);
    if (!keys) return wk_fail(err, WK_E_MEMORY, "no memory for the settings of a run");
    locale_t callers = wk_c_locale_enter();
    wk_status status = train(config, keys, &code, end, err);
    wk_run_plugins_close(&code);
    wk_c_locale_leave(callers);
    free(keys);
    return status;
}

wk_status wk_relabel_run(const wk_relabel_config *config, wk_relabel_result *out, wk_error *err)
{
    if (!config->directory || !*config->directory)
        return wk_fail(err, WK_E_INPUT, "directory: say which run");
    if (!config->reward == !config->recorded)
        return wk_fail(err, WK_E_INPUT, "give the file of a reward or a function, one of them");
    locale_t callers = wk_c_locale_enter();
    wk_status status = wk_relabel(config, NULL, NULL, out, err);
    wk_c_locale_leave(callers);
    return status;
}
