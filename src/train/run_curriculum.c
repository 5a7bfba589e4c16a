#include "train/run_curriculum.h"

#include "train/config_parts.h"

wk_status wk_run_curriculum_open(const wk_run_config *config, const wk_domain *domain,
                                 const wk_space *space, wk_run_curriculum *out, wk_error *err)
{
    const wk_curriculum_rule *rule = NULL;
    if (*config->curriculum_plugin) {
        WK_TRY(wk_rule_plugin_open(config->curriculum_plugin, &out->plugin, err));
        rule = out->plugin.rule;
    } else {
        WK_TRY(wk_curriculum_rule_find(config->curriculum_rule, &rule, err));
    }
    wk_curriculum_config numbers = wk_run_config_curriculum(config);
    wk_status status = wk_curriculum_create(rule, domain, space, &numbers, &out->curriculum, err);
    if (status != WK_OK) wk_run_curriculum_close(out);
    return status;
}

void wk_run_curriculum_close(wk_run_curriculum *c)
{
    wk_curriculum_destroy(c->curriculum);
    wk_rule_plugin_close(&c->plugin);
    c->curriculum = NULL;
}
