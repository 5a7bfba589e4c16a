#include "run/world.h"

#include "config/parts.h"
#include "tensor/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_status wk_run_world_open(const wk_run_config *config, const wk_run_plugins *code,
                            const wk_plugin_record *record, wk_run_world *out, wk_error *err)
{
    *out = (wk_run_world){0};
    if (code && code->relabelled) {
        out->domain = code->relabelled;
    } else if (!*config->plugin) {
        WK_TRY(wk_domain_find(config->domain, &out->domain, err));
    } else if (code && code->plugin) {
        out->domain = wk_plugin_domain(code->plugin);
    } else if (!record) {
        return wk_fail(err, WK_E_INPUT,
                       "the domain comes from the plug-in '%s', which is not loaded",
                       config->plugin);
    } else if (!record->domain) {
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the domain comes from the plug-in '%s', and the run has no description of "
                       "it (plugin.json): resume the run once with the same options and --plugin "
                       "FILE to write it",
                       config->plugin);
    } else {
        out->description = record->domain;
        out->domain = wk_description_domain(record->domain);
    }
    return wk_run_config_options(config, out->domain, out->options, err);
}

// The numbers of one θ; *at is after its semicolon afterwards.
static wk_status read_theta(const char **at, const wk_domain *domain, int number, double *theta,
                            wk_error *err)
{
    bool sound = true;
    for (int i = 0; i < domain->n_params && sound; i++) {
        char text[64];
        *at += strspn(*at, " ");
        size_t length = strcspn(*at, " ,;");
        snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : 0), *at);
        *at += length;
        *at += strspn(*at, " ");
        bool last = i == domain->n_params - 1;
        sound = wk_text_to_number(text, &theta[i]) && (last ? !**at || **at == ';' : **at == ',');
        *at += **at != 0;
    }
    if (sound) return WK_OK;
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

wk_status wk_run_config_thetas(const wk_run_config *config, const wk_domain *domain,
                               wk_run_thetas *out, wk_error *err)
{
    size_t P = (size_t)domain->n_params;
    int count = 0;
    wk_status status = WK_OK;
    out->train_case = (wk_case){.name = WK_EVAL_TRAIN,
                                .help = "the environments that the run was trained in",
                                .params = out->params};
    if (!*config->curriculum_theta) return WK_OK;
    for (const char *at = config->curriculum_theta; *at && status == WK_OK; count++)
        status = count < WK_RUN_THETAS_MAX
                     ? read_theta(&at, domain, count + 1, out->params + (size_t)count * P, err)
                     : wk_fail(err, WK_E_INPUT, "more than %d θ", WK_RUN_THETAS_MAX);
    out->train_case.count = count;
    wk_space *space = NULL; // says whether they can be made, and whether one is there twice
    if (status == WK_OK)
        status = wk_space_create_list(domain, out->params, (size_t)count, &space, err);
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

wk_status wk_run_curriculum_create(const wk_run_config *config, const wk_run_plugins *code,
                                   const wk_plugin_record *record, const wk_domain *domain,
                                   const wk_space *space, wk_curriculum **out, wk_error *err)
{
    // The rule: built in, that of the plug-in, or what the run records of it.
    const char *plugin = config->curriculum_plugin;
    const wk_curriculum_rule *rule = NULL;
    if (!*plugin)
        WK_TRY(wk_curriculum_rule_find(config->curriculum_rule, &rule, err));
    else if (code && code->rule.rule)
        rule = code->rule.rule;
    else if (!record)
        return wk_fail(err, WK_E_INPUT,
                       "the curriculum comes from the plug-in '%s', which is not loaded", plugin);
    else if (!record->rule.name)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the curriculum comes from the plug-in '%s', and the run has no description "
                       "of it (plugin.json): resume the run once with the same options and "
                       "--curriculum.plugin FILE to write it",
                       plugin);
    else
        rule = &record->rule;

    // Whether the run can deliver what it needs.
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
    wk_curriculum_config numbers = wk_run_config_curriculum(config);
    return wk_curriculum_create(rule, domain, space, &numbers, out, err);
}

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

// Whether rule, list and space agree on where the environments come from.
static wk_status check_theta(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    const char *rule = config->curriculum_rule;
    bool listed = *config->curriculum_theta, own = !*config->curriculum_plugin;
    bool continuous = strcmp(config->curriculum_space, "continuous") == 0;
    bool oracle = own && (strcmp(rule, "he-oracle") == 0 || strcmp(rule, "rw-oracle") == 0);
    if (own && !listed && strcmp(rule, "fixed") == 0) {
        char example[WK_PARAMS_MAX * 16];
        for (int i = 0, used = 0; i < domain->n_params; i++)
            used += snprintf(example + used, sizeof example - (size_t)used, "%s%g", i ? "," : "",
                             domain->hardest[i]);
        return wk_fail(err, WK_E_INPUT,
                       "curriculum.rule fixed needs the environments in curriculum.theta, for "
                       "example --curriculum.theta '%s' ('waker envs %s' explains the numbers)",
                       example, domain->name);
    }
    if (oracle && listed) // it names environments of the grid, which a list replaces
        return wk_fail(
            err, WK_E_INPUT,
            "curriculum.rule %s chooses the environments itself: leave curriculum.theta empty",
            rule);
    if (continuous && listed)
        return wk_fail(
            err, WK_E_INPUT,
            "curriculum.space continuous: leave curriculum.theta, a list of environments, empty");
    if (continuous && oracle)
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

enum { CPU = -1, AUTO = -2, UNKNOWN = -3 };

// The N of "cuda:N", 0 for "cuda", or one of these.
static int device_number(const char *device)
{
    if (strcmp(device, "auto") == 0) return AUTO;
    if (strcmp(device, "cpu") == 0) return CPU;
    if (strcmp(device, "cuda") == 0) return 0;
    const char *digits = strncmp(device, "cuda:", 5) == 0 ? device + 5 : "";
    size_t count = strspn(digits, "0123456789");
    return count >= 1 && count <= 3 && !digits[count] ? atoi(digits) : UNKNOWN;
}

wk_status wk_run_config_check(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    int options[WK_OPTIONS_MAX], policy;
    wk_learner_config learner;
    const wk_curriculum_rule *rule;
    WK_TRY(wk_run_config_options(config, domain, options, err));
    WK_TRY(wk_run_config_learner(config, domain, &learner, err));
    WK_TRY(wk_run_config_acting(config, domain, &policy, err));
    if (!*config->curriculum_plugin) {
        if (wk_curriculum_rule_find(config->curriculum_rule, &rule, err) != WK_OK)
            return err ? wk_fail_context(err, "curriculum.rule") : WK_E_INPUT;
        WK_TRY(check_oracle(config->curriculum_rule, domain, err));
    }
    WK_TRY(check_theta(config, domain, err));
    WK_TRY(check_sizes(config, domain, err));
    if (config->eval_every > 0 && strcmp(config->tasks, "none") == 0)
        return wk_fail(
            err, WK_E_INPUT,
            "eval.every %lld: there are no task policies to evaluate; train some alongside "
            "(tasks: all, or names), or leave it at 0 and use 'waker adapt' and 'waker eval' "
            "on the snapshots",
            (long long)config->eval_every);

    int number = device_number(config->device);
    if (number == UNKNOWN)
        return wk_fail(err, WK_E_INPUT, "device '%.80s' is not auto, cpu, cuda or cuda:N",
                       config->device);
    if (number == CPU && strcmp(config->precision, "bf16") == 0)
        return wk_fail(err, WK_E_INPUT,
                       "precision bf16 needs a GPU; with device cpu use f32 (or auto)");
    if (number == CPU && strcmp(config->replay_resident, "on") == 0)
        return wk_fail(err, WK_E_INPUT,
                       "replay.resident on needs a GPU; with device cpu use off (or auto)");
    return WK_OK;
}

wk_status wk_device_choose(const char *device, const char *precision, wk_device *out, wk_error *err)
{
    // Which device, and why.
    out->number = device_number(device);
    snprintf(out->why, sizeof out->why, "device %.100s was asked for", device);
    if (out->number == AUTO) {
        int count = wk_cuda_device_count();
        out->number = count > 0 ? 0 : CPU;
        if (count > 0)
            snprintf(out->why, sizeof out->why, "device auto, first of %d GPU%s", count,
                     wk_plural((uint64_t)count));
        else
            snprintf(out->why, sizeof out->why, "device auto, %s", wk_cuda_why_unavailable());
    } else if (out->number == UNKNOWN) {
        return wk_fail(err, WK_E_INPUT, "device '%s': use auto, cpu, cuda or cuda:N", device);
    }

    // Its precision and name.
    out->bf16 = out->number >= 0 && strcmp(precision, "f32") != 0;
    if (out->number < 0) {
        if (strcmp(precision, "bf16") == 0)
            return wk_fail(
                err, WK_E_UNSUPPORTED,
                "precision bf16 needs a GPU and this run is on the CPU (%s); use precision f32",
                out->why);
        snprintf(out->name, sizeof out->name, "cpu");
        return WK_OK;
    }
    wk_cuda_device found;
    WK_TRY(wk_cuda_device_describe(out->number, &found, err));
    snprintf(out->name, sizeof out->name, "cuda:%d (%s, %s)", out->number, found.name,
             out->bf16 ? "bf16" : "f32");
    return WK_OK;
}

wk_status wk_device_open(const char *device, const char *precision, wk_pool *pool, wk_backend **out,
                         wk_device *chosen, wk_error *err)
{
    return wk_device_open_population(device, precision, 1, pool, out, chosen, err);
}

wk_status wk_device_open_population(const char *device, const char *precision, int count,
                                    wk_pool *pool, wk_backend **out, wk_device *chosen,
                                    wk_error *err)
{
    WK_TRY(wk_device_choose(device, precision, chosen, err));
    wk_cuda_precision products = chosen->bf16 ? WK_CUDA_BF16 : WK_CUDA_F32;
    if (chosen->number >= 0 && count > 1)
        return wk_backend_cuda_create_population(chosen->number, products, count, out, err);
    if (chosen->number >= 0) return wk_backend_cuda_create(chosen->number, products, out, err);
    WK_TRY(wk_backend_cpu_create(pool, &out[0], err));
    for (int r = 1; r < count; r++)
        out[r] = out[0];
    return WK_OK;
}

void wk_device_close_population(wk_backend *const *backends, int count)
{
    for (int r = count - 1; r >= 0; r--)
        if (r == 0 || backends[r] != backends[0]) wk_backend_destroy(backends[r]);
}
