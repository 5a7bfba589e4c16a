#include "train/run_world.h"

#include "train/config_parts.h"

static wk_status find_domain(const wk_run_config *config, wk_run_world *out, wk_error *err)
{
    if (!*config->plugin) return wk_domain_find(config->domain, &out->domain, err);
    WK_TRY(wk_plugin_load(config->plugin, &out->plugin, err));
    out->domain = wk_plugin_domain(out->plugin);
    return WK_OK;
}

wk_status wk_run_world_open(const wk_run_config *config, wk_run_world *out, wk_error *err)
{
    *out = (wk_run_world){0};
    wk_status status = find_domain(config, out, err);
    if (status == WK_OK) status = wk_run_config_options(config, out->domain, out->options, err);
    if (status != WK_OK) wk_run_world_close(out);
    return status;
}

void wk_run_world_close(wk_run_world *world)
{
    wk_plugin_unload(world->plugin);
    *world = (wk_run_world){0};
}
