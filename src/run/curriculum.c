#include "run/curriculum.h"

#include "config/parts.h"

static wk_status find_rule(const wk_run_config *config, const wk_run_plugins *code,
                           const wk_plugin_record *record, const wk_curriculum_rule **out,
                           wk_error *err)
{
    const char *plugin = config->curriculum_plugin;
    if (!*plugin) return wk_curriculum_rule_find(config->curriculum_rule, out, err);
    *out = code && code->rule.rule ? code->rule.rule : NULL;
    if (*out) return WK_OK;
    if (!record)
        return wk_fail(err, WK_E_INPUT,
                       "the curriculum comes from the plug-in '%s', which is not open", plugin);
    if (!record->rule.name)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the curriculum comes from the plug-in '%s', and the run has no description "
                       "of it (plugin.json): train there once more, with the same options and "
                       "--curriculum.plugin FILE, to have it written",
                       plugin);
    *out = &record->rule;
    return WK_OK;
}

wk_status wk_run_curriculum_create(const wk_run_config *config, const wk_run_plugins *code,
                                   const wk_plugin_record *record, const wk_domain *domain,
                                   const wk_space *space, wk_curriculum **out, wk_error *err)
{
    const wk_curriculum_rule *rule = NULL;
    WK_TRY(find_rule(config, code, record, &rule, err));
    wk_curriculum_config numbers = wk_run_config_curriculum(config);
    return wk_curriculum_create(rule, domain, space, &numbers, out, err);
}
