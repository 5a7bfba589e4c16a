// What a grid asks of the commands that follow a run, checked against the domains of its runs: a
// wrong name must not be found only after all of them were trained.
#include "cli/sweep.h"
#include "config/parts.h"
#include "eval/cases.h"
#include "run/saved_run.h"
#include <stdlib.h>
#include <string.h>

// The value of an option, written --NAME VALUE or --NAME=VALUE, the last one; NULL: not given.
static const char *value_of(const wk_sweep_command *given, const char *option)
{
    const char *value = NULL;
    size_t length = strlen(option);
    for (int i = 0; i < given->count; i++) {
        const char *word = given->options[i];
        if (strncmp(word, option, length) != 0) continue;
        if (word[length] == '=')
            value = word + length + 1;
        else if (!word[length] && i + 1 < given->count)
            value = given->options[++i];
    }
    return value;
}

static wk_status check_tasks(const wk_run_config *config, const wk_domain *domain,
                             const char *names, wk_error *err)
{
    int tasks[WK_TASKS_MAX], count;
    wk_run_config asked = *config;
    WK_TRY(wk_run_config_set(&asked, WK_RUN_tasks_INDEX, names, err));
    WK_TRY(wk_run_config_tasks(&asked, domain, tasks, &count, err));
    return count > 0 ? WK_OK : wk_fail(err, WK_E_INPUT, "--task none: nothing is asked for");
}

static wk_status check_cases(const wk_run_config *config, const wk_domain *domain,
                             const char *names, wk_error *err)
{
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    int count;
    wk_run_thetas *thetas = calloc(1, sizeof *thetas);
    if (!thetas) return wk_fail(err, WK_E_MEMORY, "no memory for the cases");
    wk_status status = wk_run_config_thetas(config, domain, thetas, err);
    if (status == WK_OK)
        status = wk_eval_cases(domain, wk_run_thetas_case(thetas), names, 1, cases, &count, err);
    free(thetas);
    return status;
}

static wk_status check_set(const wk_domain *domain, const char *name, wk_error *err)
{
    wk_theta_set set = {0};
    wk_status status = wk_theta_set_open(name, domain, &set, err);
    wk_theta_set_free(&set);
    return status;
}

// --policy of model-error: random, all, or tasks.
static wk_status check_policies(const wk_domain *domain, const char *list, wk_error *err)
{
    wk_status status = WK_OK;
    char *copy = strdup(list), *rest = copy;
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for the policies");
    for (char *name; status == WK_OK && (name = strsep(&rest, ","));) {
        int task;
        if (strcmp(name, "all") != 0 && strcmp(name, WK_POLICY_RANDOM) != 0)
            status = wk_domain_task(domain, name, &task, err);
    }
    free(copy);
    return status;
}

static wk_status check_command(wk_sweep_follow_kind kind, const wk_sweep_command *given,
                               const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    const char *task = value_of(given, "--task"), *cases = value_of(given, "--cases"),
               *set = value_of(given, "--set"), *policy = value_of(given, "--policy");
    if (kind == WK_SWEEP_ADAPT && !task)
        return wk_fail(err, WK_E_INPUT, "which task? add --task NAME or --task all");
    if (kind == WK_SWEEP_MODEL_ERROR) return policy ? check_policies(domain, policy, err) : WK_OK;
    if (task) WK_TRY(check_tasks(config, domain, task, err));
    if (cases) WK_TRY(check_cases(config, domain, cases, err));
    return set ? check_set(domain, set, err) : WK_OK;
}

// Runs of one shape have one domain. That of a plug-in is not known: planning loads no code.
static wk_status check_shape(const wk_sweep_plan *plan, const wk_sweep_shape *shape, wk_error *err)
{
    const wk_sweep_grid *grid = plan->grid;
    wk_run_world world;
    if (*shape->config.plugin) return WK_OK;
    WK_TRY(wk_run_world_open(&shape->config, NULL, NULL, &world, err));
    for (int k = 0; k < WK_SWEEP_FOLLOWS; k++) {
        const wk_sweep_command *given = &grid->follow[k];
        if (!given->present) continue;
        wk_status status =
            check_command((wk_sweep_follow_kind)k, given, &shape->config, world.domain, err);
        if (status != WK_OK)
            return err ? wk_fail_context(err, "%s:%d: %s of run %s", grid->name, given->line,
                                         wk_sweep_follow_names[k],
                                         plan->tasks.items[shape->first].name)
                       : status;
    }
    return WK_OK;
}

wk_status wk_cli_sweep_check_follow(const wk_sweep_plan *plan, wk_error *err)
{
    for (size_t i = 0; i < plan->shapes.count; i++)
        WK_TRY(check_shape(plan, &plan->shapes.items[i], err));
    return WK_OK;
}
