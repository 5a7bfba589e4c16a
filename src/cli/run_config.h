// The options that say the configuration of a run: --configs, --config-file, --from, --key value.
#ifndef WK_CLI_RUN_CONFIG_H
#define WK_CLI_RUN_CONFIG_H

#include "cli/cli.h"
#include "run/settings.h"

/// The options that say it; part of the values of a command.
typedef struct wk_run_args {
    wk_arg_texts configs, files;
    const char *from; // directory of a run whose settings to begin with, or NULL
    wk_arg_settings settings;
} wk_run_args;

/// Rows for the option table of a command whose values have a wk_run_args called `member`.
#define WK_RUN_ARG_ROWS(member)                                                                    \
    WK_ARG_ROW(WK_ARG_NAMES, "configs", member.configs, "BLOCK...",                                \
               "blocks of settings, applied from left to right over the defaults", 0, 0),          \
        WK_OPT_PATHS("config-file", member.files, "FILE",                                          \
                     "YAML file with more blocks, or a run's config.yaml; may be repeated"),       \
        WK_OPT_PATH("from", member.from, "RUN",                                                    \
                    "start from the settings of this run instead of the defaults"),                \
        WK_ARG_ROW(WK_ARG_PLUGIN, "python", member.settings, "MODULE:FUNCTION",                    \
                   "train in the environments of this Python function (or FILE.py:FUNCTION)", 0,   \
                   0),                                                                             \
        WK_ARG_ROW(WK_ARG_KEYS, "KEY", member.settings, "VALUE",                                   \
                   "set one key, for example --rssm.deter 512 or --seed=3", 0, 0)

/// What the options say, borrowed.
static inline wk_run_settings wk_run_args_settings(const wk_run_args *args)
{
    return (wk_run_settings){.blocks = args->configs.items,
                             .n_blocks = (size_t)args->configs.count,
                             .files = args->files.items,
                             .n_files = (size_t)args->files.count,
                             .from = args->from,
                             .keys = args->settings.items,
                             .n_keys = args->settings.count};
}

#endif
