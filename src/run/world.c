#include "run/world.h"

#include "config/parts.h"

static wk_status find_domain(const wk_run_config *config, const wk_run_plugins *code,
                             const wk_plugin_record *record, wk_run_world *out, wk_error *err)
{
    if (!*config->plugin) return wk_domain_find(config->domain, &out->domain, err);
    if (code && code->plugin) {
        out->domain = wk_plugin_domain(code->plugin);
        return WK_OK;
    }
    if (!record)
        return wk_fail(err, WK_E_INPUT, "the domain comes from the plug-in '%s', which is not open",
                       config->plugin);
    if (!record->domain)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the domain comes from the plug-in '%s', and the run has no description of "
                       "it (plugin.json): train there once more, with the same options and "
                       "--plugin FILE, to have it written",
                       config->plugin);
    out->described = record->domain;
    out->domain = wk_described_domain(record->domain);
    return WK_OK;
}

wk_status wk_run_world_open(const wk_run_config *config, const wk_run_plugins *code,
                            const wk_plugin_record *record, wk_run_world *out, wk_error *err)
{
    *out = (wk_run_world){0};
    WK_TRY(find_domain(config, code, record, out, err));
    return wk_run_config_options(config, out->domain, out->options, err);
}

wk_status wk_run_world_space(const wk_run_world *world, wk_space **out, wk_error *err)
{
    return world->described ? wk_described_space(world->described, out, err)
                            : wk_space_create(world->domain, false, out, err);
}
