// Training: a run in a directory, as `waker train` makes it.
//
// A run is described as on the command line: named blocks of settings (`waker config --list`), then
// single keys (docs/configuration.md). wk_train_run trains until all steps are done or it is asked
// to stop; called again on the same directory it resumes, to the same bytes as if it had never
// stopped, and as `waker train` with the same settings would have left them.
#ifndef WAKER_TRAIN_H
#define WAKER_TRAIN_H

#include "waker/error.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One key with its value as text: {"steps", "20000"}.
typedef struct wk_train_setting {
    const char *key, *value;
} wk_train_setting;

/// How far a run is. Numbers that are not known yet are NaN.
typedef struct wk_train_progress {
    int64_t steps, total; // agent steps, and how many there will be
    int64_t updates;
    double updates_per_second, seconds_left;
    double model_loss, mean_error; // of the last update; the error is the curriculum's estimate
} wk_train_progress;

/// A run and how to watch it. Lists end with NULL (settings with {NULL, NULL}) and may be NULL.
/// With neither blocks, files nor `from`, the run in `directory` resumes with its own settings.
typedef struct wk_train_config {
    const char *directory;            // of the run; made where there is none
    const char *const *blocks;        // --configs: applied from left to right over the defaults
    const char *const *files;         // --config-file: with more blocks, or config.yaml of runs
    const char *from;                 // --from: directory of a run whose settings to begin with
    const wk_train_setting *settings; // --key value: applied last; patterns are allowed

    // Nonzero: the iteration is finished, the run saved, and the call returns. May be set by a
    // signal handler, another thread or `progress`.
    const volatile sig_atomic_t *stop;
    void (*progress)(void *context, const wk_train_progress *now); // after every iteration
    void (*message)(void *context, bool is_warning, const char *line);
    void *context; // of both
} wk_train_config;

/// All zero: no settings, no callbacks.
wk_train_config wk_train_config_default(void);

/// Why a run ended.
typedef enum wk_run_end {
    WK_RUN_FINISHED,    // all steps are done
    WK_RUN_INTERRUPTED, // *stop was set; saved, if it had begun; can go on
    WK_RUN_OUT_OF_TIME, // its minutes are over; saved, can go on
} wk_run_end;

/// Trains in config->directory, from the beginning or from its newest checkpoint; a run that is
/// done is left as it is. Code of plug-ins is loaded only where `settings` name the file ("plugin",
/// "curriculum.plugin"). `end` is set on success.
wk_status wk_train_run(const wk_train_config *config, wk_run_end *end, wk_error *err);

#ifdef __cplusplus
}
#endif
#endif
