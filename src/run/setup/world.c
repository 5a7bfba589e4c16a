#include "run/setup/world.h"

#include "config/parts.h"
#include <stdio.h>
#include <string.h>

static wk_status find_domain(const wk_run_config *config, const wk_run_plugins *code,
                             const wk_plugin_record *record, wk_run_world *out, wk_error *err)
{
    if (code && code->relabelled) {
        out->domain = code->relabelled;
        return WK_OK;
    }
    if (!*config->plugin) return wk_domain_find(config->domain, &out->domain, err);
    if (code && code->plugin) {
        out->domain = wk_plugin_domain(code->plugin);
        return WK_OK;
    }
    if (!record)
        return wk_fail(err, WK_E_INPUT,
                       "the domain comes from the plug-in '%s', which is not loaded",
                       config->plugin);
    if (!record->domain)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the domain comes from the plug-in '%s', and the run has no description of "
                       "it (plugin.json): resume the run once with the same options and --plugin "
                       "FILE to write it",
                       config->plugin);
    out->description = record->domain;
    out->domain = wk_description_domain(record->domain);
    return WK_OK;
}

wk_status wk_run_world_open(const wk_run_config *config, const wk_run_plugins *code,
                            const wk_plugin_record *record, wk_run_world *out, wk_error *err)
{
    *out = (wk_run_world){0};
    WK_TRY(find_domain(config, code, record, out, err));
    return wk_run_config_options(config, out->domain, out->options, err);
}

// One number at *at; afterwards *at is after it and the blanks that follow.
static bool read_number(const char **at, double *out)
{
    char number[64];
    *at += strspn(*at, " ");
    size_t length = strcspn(*at, " ,;");
    snprintf(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : 0), *at);
    if (!wk_text_to_number(number, out)) return false;
    *at += length;
    *at += strspn(*at, " ");
    return true;
}

static wk_status wrong_count(const wk_domain *domain, int number, wk_error *err)
{
    wk_text names = {0};
    for (int i = 0; i < domain->n_params; i++)
        wk_text_printf(&names, "%s%s", i ? "," : "", domain->params[i].name);
    wk_status status = wk_fail(err, WK_E_INPUT,
                               "θ number %d: domain '%s' takes %d number%s, separated by commas: "
                               "%s (a semicolon ends a θ)",
                               number, domain->name, domain->n_params,
                               wk_plural((uint64_t)domain->n_params), wk_text_get(&names));
    wk_text_free(&names);
    return status;
}

// The numbers of one θ; *at is after its semicolon afterwards.
static wk_status read_theta(const char **at, const wk_domain *domain, int number, double *theta,
                            wk_error *err)
{
    for (int i = 0; i < domain->n_params; i++) {
        if (!read_number(at, &theta[i])) return wrong_count(domain, number, err);
        bool last = i == domain->n_params - 1;
        if (last ? **at && **at != ';' : **at != ',') return wrong_count(domain, number, err);
        *at += **at != 0;
    }
    return WK_OK;
}

static wk_status read_all(const char *text, const wk_domain *domain, wk_run_thetas *out,
                          wk_error *err)
{
    for (const char *at = text; *at; out->train_case.count++) {
        int number = out->train_case.count + 1;
        if (number > WK_RUN_THETAS_MAX)
            return wk_fail(err, WK_E_INPUT, "more than %d θ", WK_RUN_THETAS_MAX);
        WK_TRY(read_theta(&at, domain, number,
                          out->params + (size_t)out->train_case.count * (size_t)domain->n_params,
                          err));
    }
    return WK_OK;
}

wk_status wk_run_config_thetas(const wk_run_config *config, const wk_domain *domain,
                               wk_run_thetas *out, wk_error *err)
{
    out->train_case = (wk_case){.name = WK_EVAL_TRAIN,
                                .help = "the environments that the run was trained in",
                                .params = out->params};
    if (!*config->curriculum_theta) return WK_OK;
    wk_status status = read_all(config->curriculum_theta, domain, out, err);
    wk_space *space = NULL; // says whether they can be made, and whether one is there twice
    if (status == WK_OK)
        status =
            wk_space_create_list(domain, out->params, (size_t)out->train_case.count, &space, err);
    wk_space_destroy(space);
    if (status == WK_OK) return WK_OK;
    return err ? wk_fail_context(err, "curriculum.theta '%s'", config->curriculum_theta) : status;
}

const wk_case *wk_run_thetas_case(const wk_run_thetas *thetas)
{
    return thetas && thetas->train_case.count > 0 ? &thetas->train_case : NULL;
}

wk_status wk_run_space_create(const wk_run_config *config, const wk_run_world *world,
                              wk_space **out, wk_error *err)
{
    wk_run_thetas thetas;
    WK_TRY(wk_run_config_thetas(config, world->domain, &thetas, err));
    if (strcmp(config->curriculum_space, "continuous") == 0) {
        wk_status status = wk_space_create(world->domain, true, out, err);
        return status == WK_OK || !err ? status : wk_fail_context(err, "curriculum.space");
    }
    if (thetas.train_case.count == 0)
        return world->description ? wk_description_space(world->description, out, err)
                                  : wk_space_create(world->domain, false, out, err);
    return wk_space_create_list(world->domain, thetas.params, (size_t)thetas.train_case.count, out,
                                err);
}

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
                       "the curriculum comes from the plug-in '%s', which is not loaded", plugin);
    if (!record->rule.name)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the curriculum comes from the plug-in '%s', and the run has no description "
                       "of it (plugin.json): resume the run once with the same options and "
                       "--curriculum.plugin FILE to write it",
                       plugin);
    *out = &record->rule;
    return WK_OK;
}

// Whether the run can deliver what the rule needs.
static wk_status check_needs(const wk_curriculum_rule *rule, const wk_domain *domain, wk_error *err)
{
    if (rule->needs & ~(unsigned)WK_NEEDS_ALL)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "curriculum '%s' needs inputs that this program does not know (needs = "
                       "%#x); build its plug-in with the headers of this waker",
                       rule->name, rule->needs);
    if ((rule->needs & WK_NEEDS_RETURNS) && domain->n_tasks == 0)
        return wk_fail(err, WK_E_INPUT,
                       "curriculum '%s' chooses by returns or completion, and domain '%s' has no "
                       "tasks; choose another rule ('waker curriculum --rules' lists them)",
                       rule->name, domain->name);
    return WK_OK;
}

wk_status wk_run_curriculum_create(const wk_run_config *config, const wk_run_plugins *code,
                                   const wk_plugin_record *record, const wk_domain *domain,
                                   const wk_space *space, wk_curriculum **out, wk_error *err)
{
    const wk_curriculum_rule *rule = NULL;
    WK_TRY(find_rule(config, code, record, &rule, err));
    WK_TRY(check_needs(rule, domain, err));
    wk_curriculum_config numbers = wk_run_config_curriculum(config);
    return wk_curriculum_create(rule, domain, space, &numbers, out, err);
}
