#include "run/setup/config_check.h"

#include "run/setup/world.h"
#include <stdio.h>
#include <string.h>

// Whether the θ that an oracle draws are on the domain's grid. A description has no functions, and
// its run was checked when it began.
static wk_status check_oracle(const char *rule, const wk_domain *domain, wk_error *err)
{
    bool he = strcmp(rule, "he-oracle") == 0;
    if (!he && strcmp(rule, "rw-oracle") != 0) return WK_OK;
    if (!domain->create) return WK_OK;
    wk_space *space;
    WK_TRY(wk_space_create(domain, false, &space, err));
    const double *thetas = he ? domain->hardest : domain->most_complex;
    int rows = he ? 1 : domain->n_complex, missing = -1;
    for (int i = 0; i < rows && missing < 0; i++)
        if (wk_space_find(space, thetas + (size_t)i * (size_t)domain->n_params) == SIZE_MAX)
            missing = i;
    wk_space_destroy(space);
    if (missing < 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "curriculum.rule %s: θ number %d of '%s' in domain '%s' is not on its grid of "
                   "training environments; put it there, or choose another rule",
                   rule, missing, he ? "hardest" : "most_complex", domain->name);
}

static wk_status check_curriculum(const wk_run_config *config, const wk_domain *domain,
                                  wk_error *err)
{
    if (*config->curriculum_plugin) return WK_OK;
    const wk_curriculum_rule *rule;
    const char *name = config->curriculum_rule;
    if (wk_curriculum_rule_find(name, &rule, err) != WK_OK)
        return err ? wk_fail_context(err, "curriculum.rule") : WK_E_INPUT;
    return check_oracle(name, domain, err);
}

enum { THETA_CHARS = WK_PARAMS_MAX * 16 };

// The hardest θ as it is written.
static const char *theta_example(const wk_domain *domain, char out[THETA_CHARS])
{
    int length = 0;
    for (int i = 0; i < domain->n_params; i++)
        length += snprintf(out + length, (size_t)(THETA_CHARS - length), "%s%g", i ? "," : "",
                           domain->hardest[i]);
    return out;
}

// The oracles name environments of the grid, which a list replaces.
static wk_status check_theta(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    const char *rule = config->curriculum_rule;
    char example[THETA_CHARS];
    bool listed = *config->curriculum_theta, own = !*config->curriculum_plugin;
    if (own && !listed && strcmp(rule, "fixed") == 0)
        return wk_fail(err, WK_E_INPUT,
                       "curriculum.rule fixed needs the environments in curriculum.theta, for "
                       "example --curriculum.theta '%s' ('waker envs %s' explains the numbers)",
                       theta_example(domain, example), domain->name);
    if (own && listed && (strcmp(rule, "he-oracle") == 0 || strcmp(rule, "rw-oracle") == 0))
        return wk_fail(
            err, WK_E_INPUT,
            "curriculum.rule %s chooses the environments itself: leave curriculum.theta empty",
            rule);
    bool continuous = strcmp(config->curriculum_space, "continuous") == 0;
    if (continuous && listed)
        return wk_fail(
            err, WK_E_INPUT,
            "curriculum.space continuous: leave curriculum.theta, a list of environments, empty");
    if (continuous && own && (strcmp(rule, "he-oracle") == 0 || strcmp(rule, "rw-oracle") == 0))
        return wk_fail(
            err, WK_E_INPUT,
            "curriculum.rule %s chooses environments of the grid: use curriculum.space grid", rule);
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
        return wk_fail(
            err, WK_E_INPUT,
            "length %d is more than the %d rows of an episode of '%s'; set length to %d or less",
            config->length, domain->episode_steps + 1, domain->name, domain->episode_steps + 1);
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
