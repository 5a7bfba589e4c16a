#include "cli/run_config.h"

wk_run_settings wk_run_args_settings(const wk_run_args *args, wk_setting keys[WK_ARG_SETTINGS_MAX])
{
    for (size_t i = 0; i < args->settings.count; i++) {
        const wk_arg_setting *given = &args->settings.items[i];
        keys[i] = (wk_setting){given->key, given->key_length, given->value};
    }
    return (wk_run_settings){.blocks = args->configs.items,
                             .n_blocks = (size_t)args->configs.count,
                             .files = args->files.items,
                             .n_files = (size_t)args->files.count,
                             .from = args->from,
                             .keys = keys,
                             .n_keys = args->settings.count};
}
