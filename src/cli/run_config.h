// The options that say the configuration of a run: --configs, --config-file, --from, --key value.
#ifndef WK_CLI_RUN_CONFIG_H
#define WK_CLI_RUN_CONFIG_H

#include "cli/cli.h"
#include "run/settings.h"
#include <string.h>

/// The options that say it; part of the values of a command.
typedef struct wk_run_args {
    wk_arg_texts configs, files;
    const char *from;   // directory of a run whose settings to begin with, or NULL
    const char *python; // another word for the key plugin, or NULL
    wk_arg_settings settings;
} wk_run_args;

/// What `settings` must begin with, so that keys are known.
#define WK_RUN_ARGS_INIT                                                                           \
    {                                                                                              \
        .settings = {.keys = wk_run_keys, .n_keys = WK_RUN_FIELD_COUNT }                           \
    }

/// Rows for the option table of a command whose values have a wk_run_args called `member`.
#define WK_RUN_ARG_ROWS(member)                                                                    \
    WK_ARG_ROW(WK_ARG_NAMES, "configs", member.configs, "BLOCK...",                                \
               "blocks of settings, applied from left to right over the defaults", 0, 0),          \
        WK_OPT_PATHS("config-file", member.files, "FILE",                                          \
                     "YAML file with more blocks, or a run's config.yaml; may be repeated"),       \
        WK_OPT_PATH("from", member.from, "RUN",                                                    \
                    "start from the settings of this run instead of the defaults"),                \
        WK_PYTHON_ARG_ROW(member.python, "train in the environments of this Python function"),     \
        WK_ARG_ROW(WK_ARG_KEYS, "KEY", member.settings, "VALUE",                                   \
                   "set one key, for example --rssm.deter 512 or --seed=3", 0, 0)

enum { WK_RUN_SETTINGS_MAX = WK_ARG_SETTINGS_MAX + 1 };

/// What the options say, borrowed; `keys` gets the single ones.
static inline wk_run_settings wk_run_args_settings(const wk_run_args *args,
                                                   wk_setting keys[WK_RUN_SETTINGS_MAX])
{
    for (size_t i = 0; i < args->settings.count; i++) {
        const wk_arg_setting *given = &args->settings.items[i];
        keys[i] = (wk_setting){given->key, given->key_length, given->value};
    }
    size_t count = args->settings.count;
    if (args->python) keys[count++] = (wk_setting){"plugin", strlen("plugin"), args->python};
    return (wk_run_settings){.blocks = args->configs.items,
                             .n_blocks = (size_t)args->configs.count,
                             .files = args->files.items,
                             .n_files = (size_t)args->files.count,
                             .from = args->from,
                             .keys = keys,
                             .n_keys = count};
}

#endif
