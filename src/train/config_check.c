#include "train/config_check.h"

#include <stdio.h>
#include <string.h>

// The next name of a list; false at its end.
static bool next_name(const char **list, char name[WK_RUN_TEXT_MAX])
{
    size_t length = strcspn(*list, ",");
    if (length == 0) return false;
    snprintf(name, WK_RUN_TEXT_MAX, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

wk_status wk_run_config_options(const wk_run_config *config, const wk_domain *domain, int *options,
                                wk_error *err)
{
    memset(options, 0, WK_OPTIONS_MAX * sizeof *options);
    char name[WK_RUN_TEXT_MAX];
    for (const char *list = config->env_options; next_name(&list, name);) {
        char *choice = strchr(name, '=');
        if (!choice)
            return wk_fail(err, WK_E_INPUT, "env.options: write '%s' as name=choice", name);
        *choice++ = 0;
        int option, value;
        if (wk_domain_option(domain, name, choice, &option, &value, err) != WK_OK)
            return err ? wk_fail_context(err, "env.options") : WK_E_INPUT;
        options[option] = value;
    }
    return WK_OK;
}

wk_status wk_run_config_tasks(const wk_run_config *config, const wk_domain *domain, int *tasks,
                              int *count, wk_error *err)
{
    *count = 0;
    if (strcmp(config->tasks, "none") == 0) return WK_OK;
    if (strcmp(config->tasks, "all") == 0) {
        for (; *count < domain->n_tasks; ++*count)
            tasks[*count] = *count;
        return WK_OK;
    }
    char name[WK_RUN_TEXT_MAX];
    bool chosen[WK_TASKS_MAX] = {0};
    for (const char *list = config->tasks; next_name(&list, name);) {
        int task;
        if (wk_domain_task(domain, name, &task, err) != WK_OK)
            return err ? wk_fail_context(err, "tasks") : WK_E_INPUT;
        if (chosen[task]) return wk_fail(err, WK_E_INPUT, "tasks: '%s' is there twice", name);
        chosen[task] = true;
        tasks[(*count)++] = task;
    }
    if (*count > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "tasks: write none, all, or names of tasks");
}

wk_curriculum_config wk_run_config_curriculum(const wk_run_config *config)
{
    return (wk_curriculum_config){
        .dr_probability = config->dr_probability,
        .temperature = config->temperature,
        .error_decay = config->error_decay,
        .reduction_decay = config->reduction_decay,
        .reduction_start = (uint64_t)config->reduction_start,
        .reduction_every = (uint64_t)config->reduction_every,
        .seed = config->seed,
    };
}

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

static wk_status check_sizes(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    if (config->prefill > config->steps)
        return wk_fail(err, WK_E_INPUT,
                       "prefill %lld is more than steps %lld: nothing would be trained",
                       (long long)config->prefill, (long long)config->steps);
    if (config->length > domain->episode_steps + 1)
        return wk_fail(err, WK_E_INPUT, "length %d is more than the %d rows of an episode of '%s'",
                       config->length, domain->episode_steps + 1, domain->name);
    int64_t least = (int64_t)config->env_count * domain->episode_steps;
    if (config->replay_capacity < least)
        return wk_fail(err, WK_E_INPUT,
                       "replay.capacity %lld is less than one episode in each of the env.count %d "
                       "environments (%lld steps)",
                       (long long)config->replay_capacity, config->env_count, (long long)least);
    if (config->replay_capacity < config->prefill)
        return wk_fail(err, WK_E_INPUT,
                       "replay.capacity %lld cannot hold the prefill of %lld steps",
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
    return WK_OK;
}

wk_status wk_run_config_check(const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    int options[WK_OPTIONS_MAX], tasks[WK_TASKS_MAX], count;
    WK_TRY(wk_run_config_options(config, domain, options, err));
    WK_TRY(wk_run_config_tasks(config, domain, tasks, &count, err));
    WK_TRY(check_curriculum(config, domain, err));
    WK_TRY(check_sizes(config, domain, err));
    return check_device(config, err);
}
