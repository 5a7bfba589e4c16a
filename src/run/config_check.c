#include "run/config_check.h"

#include "run/world.h"
#include <string.h>

static wk_status check_curriculum(const wk_run_config *config, const wk_domain *domain,
                                  wk_error *err)
{
    if (*config->curriculum_plugin) return WK_OK;
    const wk_curriculum_rule *rule;
    const char *name = config->curriculum_rule;
    if (wk_curriculum_rule_find(name, &rule, err) != WK_OK)
        return err ? wk_fail_context(err, "curriculum.rule") : WK_E_INPUT;
    bool lacks = strcmp(name, "he-oracle") == 0   ? !domain->hardest
                 : strcmp(name, "rw-oracle") == 0 ? domain->n_complex == 0
                                                  : false;
    if (lacks)
        return wk_fail(err, WK_E_INPUT,
                       "curriculum.rule %s: domain '%s' does not say which of its environments are "
                       "the most complex",
                       name, domain->name);
    return WK_OK;
}

// The oracles name environments of the grid, which a list replaces.
static wk_status check_theta(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    const char *rule = config->curriculum_rule;
    bool listed = *config->curriculum_theta, own = !*config->curriculum_plugin;
    if (own && !listed && strcmp(rule, "fixed") == 0)
        return wk_fail(err, WK_E_INPUT,
                       "curriculum.rule fixed: which environments? Give curriculum.theta, for "
                       "example --curriculum.theta '0,0' ('waker envs %s' explains the numbers)",
                       domain->name);
    if (own && listed && (strcmp(rule, "he-oracle") == 0 || strcmp(rule, "rw-oracle") == 0))
        return wk_fail(err, WK_E_INPUT,
                       "curriculum.rule %s chooses by itself: leave curriculum.theta empty", rule);
    bool continuous = strcmp(config->curriculum_space, "continuous") == 0;
    if (continuous && listed)
        return wk_fail(
            err, WK_E_INPUT,
            "curriculum.space continuous: leave curriculum.theta empty, which is a list");
    if (continuous && own && (strcmp(rule, "he-oracle") == 0 || strcmp(rule, "rw-oracle") == 0))
        return wk_fail(
            err, WK_E_INPUT,
            "curriculum.rule %s names environments of the grid: use curriculum.space grid", rule);
    if (continuous) {
        wk_space *space = NULL;
        wk_status status = wk_space_create(domain, true, &space, err);
        wk_space_destroy(space);
        if (status != WK_OK) return err ? wk_fail_context(err, "curriculum.space") : status;
    }
    wk_run_thetas thetas;
    return wk_run_config_thetas(config, domain, &thetas, err);
}

static wk_status check_sizes(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    if (config->prefill > config->steps)
        return wk_fail(
            err, WK_E_INPUT,
            "a prefill of %lld agent steps is more than steps %lld: nothing would be trained",
            (long long)config->prefill, (long long)config->steps);
    if (config->length > domain->episode_steps + 1)
        return wk_fail(err, WK_E_INPUT, "length %d is more than the %d rows of an episode of '%s'",
                       config->length, domain->episode_steps + 1, domain->name);
    int64_t min = (int64_t)config->env_count * domain->episode_steps;
    if (config->replay_capacity < min)
        return wk_fail(err, WK_E_INPUT,
                       "replay.capacity %lld is less than one episode in each of the env.count %d "
                       "environments (%lld agent steps)",
                       (long long)config->replay_capacity, config->env_count, (long long)min);
    if (config->replay_capacity < config->prefill)
        return wk_fail(err, WK_E_INPUT,
                       "replay.capacity %lld cannot hold the prefill of %lld agent steps",
                       (long long)config->replay_capacity, (long long)config->prefill);
    return WK_OK;
}

static wk_status check_device(const wk_run_config *config, wk_error *err)
{
    const char *device = config->device;
    const char *number = strncmp(device, "cuda:", 5) == 0 ? device + 5 : NULL;
    size_t digits = number ? strspn(number, "0123456789") : 0;
    bool numbered = digits >= 1 && digits <= 3 && !number[digits];
    if (!numbered && strcmp(device, "auto") != 0 && strcmp(device, "cpu") != 0 &&
        strcmp(device, "cuda") != 0)
        return wk_fail(err, WK_E_INPUT, "device '%.80s' is not auto, cpu, cuda or cuda:N", device);
    if (strcmp(device, "cpu") == 0 && strcmp(config->precision, "bf16") == 0)
        return wk_fail(err, WK_E_INPUT,
                       "precision bf16 needs a GPU; with device cpu use f32 (or auto)");
    if (strcmp(device, "cpu") == 0 && strcmp(config->replay_resident, "on") == 0)
        return wk_fail(err, WK_E_INPUT,
                       "replay.resident on needs a GPU; with device cpu use off (or auto)");
    return WK_OK;
}

static wk_status check_evaluation(const wk_run_config *config, wk_error *err)
{
    if (config->eval_every == 0 || strcmp(config->tasks, "none") != 0) return WK_OK;
    return wk_fail(
        err, WK_E_INPUT,
        "eval.every %lld: there are no task policies to evaluate; train some alongside "
        "(tasks: all, or names), or leave it at 0 and use 'waker adapt' and 'waker eval' "
        "on the snapshots",
        (long long)config->eval_every);
}

wk_status wk_run_config_check(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    int options[WK_OPTIONS_MAX];
    wk_learner_config learner;
    WK_TRY(wk_run_config_options(config, domain, options, err));
    WK_TRY(wk_run_config_learner(config, domain, &learner, err));
    int policy;
    WK_TRY(wk_run_config_acting(config, domain, &policy, err));
    WK_TRY(check_curriculum(config, domain, err));
    WK_TRY(check_theta(config, domain, err));
    WK_TRY(check_sizes(config, domain, err));
    WK_TRY(check_evaluation(config, err));
    return check_device(config, err);
}
