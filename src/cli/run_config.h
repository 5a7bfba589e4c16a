// The configuration a command is given: --configs, --config-file and --key value, merged.
#ifndef WK_CLI_RUN_CONFIG_H
#define WK_CLI_RUN_CONFIG_H

#include "cli/args.h"
#include "config/blocks.h"
#include "run/world.h"

/// The options that say it; part of the values of a command.
typedef struct wk_run_args {
    wk_arg_texts configs, files;
    const char *from; // directory of a run whose settings to begin with, or NULL
    wk_arg_settings settings;
} wk_run_args;

/// What `settings` must begin with, so that keys are known.
#define WK_RUN_ARGS_INIT                                                                           \
    {                                                                                              \
        .settings = {.keys = wk_run_keys, .n_keys = WK_RUN_FIELD_COUNT }                           \
    }

/// Rows for the option table of a command whose values have a wk_run_args called `member`.
#define WK_RUN_ARG_ROWS(values, member)                                                            \
    {"configs",                                                                                    \
     "BLOCK...",                                                                                   \
     "blocks of settings, applied from left to right over the defaults",                           \
     WK_ARG_NAMES,                                                                                 \
     offsetof(values, member.configs),                                                             \
     0,                                                                                            \
     0},                                                                                           \
        {"config-file",                                                                            \
         "FILE",                                                                                   \
         "YAML file with more blocks, or a run's config.yaml (may be repeated)",                   \
         WK_ARG_PATHS,                                                                             \
         offsetof(values, member.files),                                                           \
         0,                                                                                        \
         0},                                                                                       \
        {"from",                                                                                   \
         "RUN",                                                                                    \
         "begin with the settings of this run instead of the defaults",                            \
         WK_ARG_PATH,                                                                              \
         offsetof(values, member.from),                                                            \
         0,                                                                                        \
         0},                                                                                       \
    {                                                                                              \
        "KEY", "VALUE", "sets one key, for example --rssm.deter 512 or --seed=3", WK_ARG_KEYS,     \
            offsetof(values, member.settings), 0, 0                                                \
    }

/// Whether they say where settings come from: --configs, --config-file or --from.
bool wk_run_args_named(const wk_run_args *args);

/// Reads the files and merges; `log` gets a warning for blocks that undo each other. `blocks` must
/// outlive `out`'s origins. Destroy it also on failure.
wk_status wk_run_args_merge(const wk_run_args *args, const wk_log *log, wk_config_blocks **blocks,
                            wk_merged_config *out, wk_error *err);

/// Loads the plug-ins that the configuration names, puts what the run is known by into it
/// (wk_run_plugins_resolve), and checks it against its domain. A run in `directory` (NULL: none)
/// goes on with its own plug-ins where the command says neither domain nor plug-in. Close `code`
/// also after a failure.
wk_status wk_run_args_open(wk_merged_config *merged, const char *directory, const wk_log *log,
                           wk_run_plugins *code, wk_error *err);

#endif
