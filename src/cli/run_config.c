#include "cli/run_config.h"

#include <string.h>

wk_run_settings wk_run_args_settings(const wk_run_args *args, wk_setting keys[WK_RUN_SETTINGS_MAX])
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
