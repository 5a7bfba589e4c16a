// The settings of a run as its caller gives them, and what becomes of them: blocks, files, another
// run's settings and single keys are merged to a configuration, its plug-ins are loaded as far as
// the caller names them, and it is checked against its domain.
#ifndef WK_RUN_SETTINGS_H
#define WK_RUN_SETTINGS_H

#include "config/blocks.h"
#include "run/world.h"

/// What a caller sets; all zero: nothing. Borrowed.
typedef struct wk_run_settings {
    const char *const *blocks; // names, applied from left to right
    size_t n_blocks;
    const char *const *files; // with more blocks, or config.yaml of runs
    size_t n_files;
    const char *from;       // directory of a run whose settings to begin with, or NULL
    const wk_setting *keys; // applied last
    size_t n_keys;
} wk_run_settings;

/// Whether they say where settings come from: blocks, files or another run.
bool wk_run_settings_named(const wk_run_settings *settings);

/// Reads the files and merges; `log` gets a warning for blocks that undo each other. `blocks` must
/// outlive `out`'s origins. Destroy it also on failure.
wk_status wk_run_settings_merge(const wk_run_settings *settings, const wk_log *log,
                                wk_config_blocks **blocks, wk_merged_config *out, wk_error *err);

/// Loads the plug-ins that the configuration names, puts what the run is known by into it
/// (wk_run_plugins_resolve), and checks it against its domain. A run in `directory` (NULL: none)
/// goes on with its own plug-ins where the caller says neither domain nor plug-in. Close `code`
/// also after a failure.
wk_status wk_run_settings_open(wk_merged_config *merged, const char *directory, const wk_log *log,
                               wk_run_plugins *code, wk_error *err);

/// Both for training in `directory`: a run that is there already goes on with its own settings
/// where none are named.
wk_status wk_run_settings_resolve(const wk_run_settings *settings, const char *directory,
                                  const wk_log *log, wk_run_config *out, wk_run_plugins *code,
                                  wk_error *err);

#endif
