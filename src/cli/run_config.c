#include "cli/run_config.h"

#include "train/config_check.h"

wk_status wk_run_args_merge(const wk_run_args *args, wk_config_blocks **blocks,
                            wk_merged_config *out, wk_error *err)
{
    wk_setting settings[WK_ARG_SETTINGS_MAX];
    for (size_t i = 0; i < args->settings.count; i++) {
        const wk_arg_setting *given = &args->settings.items[i];
        settings[i] = (wk_setting){given->key, given->key_length, given->value};
    }
    *blocks = NULL;
    WK_TRY(wk_config_blocks_create(blocks, err));
    WK_TRY(wk_config_blocks_add_embedded(*blocks, err));
    for (int i = 0; i < args->files.count; i++)
        WK_TRY(wk_config_blocks_add_file(*blocks, args->files.items[i], err));
    return wk_config_merge(*blocks, args->configs.items, (size_t)args->configs.count, settings,
                           args->settings.count, out, err);
}

wk_status wk_run_config_open_world(const wk_run_config *config, wk_run_world *out, wk_error *err)
{
    WK_TRY(wk_run_world_open(config, out, err));
    wk_status status = wk_run_config_check(config, out->domain, err);
    if (status != WK_OK) wk_run_world_close(out);
    return status;
}
