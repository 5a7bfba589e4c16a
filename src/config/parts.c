#include "config/parts.h"

#include "agent/acting.h"
#include "config/blocks.h"
#include <stdio.h>
#include <string.h>

// The next name of a list; false at its end.
static bool next_name(const char **list, char name[WK_RUN_TEXT_MAX])
{
    size_t length = strcspn(*list, ",");
    if (!**list) return false;
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
        if (chosen[task]) return wk_fail(err, WK_E_INPUT, "tasks: '%s' occurs twice", name);
        chosen[task] = true;
        tasks[(*count)++] = task;
    }
    if (*count > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "tasks: write none, all, or names of tasks");
}

wk_status wk_run_config_acting(const wk_run_config *config, const wk_domain *domain, int *policy,
                               wk_error *err)
{
    int tasks[WK_TASKS_MAX], count;
    *policy = WK_POLICY_EXPLORE;
    if (strcmp(config->acting, "exploration") == 0) return WK_OK;
    WK_TRY(wk_run_config_tasks(config, domain, tasks, &count, err));
    for (int k = 0; k < count; k++) {
        if (strcmp(domain->tasks[tasks[k]].name, config->acting) != 0) continue;
        *policy = k;
        return WK_OK;
    }
    return wk_fail(err, WK_E_INPUT,
                   "acting '%s' is neither exploration nor one of the tasks trained alongside (%s)",
                   config->acting, config->tasks);
}

wk_status wk_run_config_task_names(const wk_run_config *config, const wk_domain *domain,
                                   char names[WK_RUN_TEXT_MAX], wk_error *err)
{
    int tasks[WK_TASKS_MAX], count;
    size_t used = 0;
    WK_TRY(wk_run_config_tasks(config, domain, tasks, &count, err));
    snprintf(names, WK_RUN_TEXT_MAX, "none");
    for (int k = 0; k < count && used < WK_RUN_TEXT_MAX; k++)
        used += (size_t)snprintf(names + used, WK_RUN_TEXT_MAX - used, "%s%s", k ? "," : "",
                                 domain->tasks[tasks[k]].name);
    return used < WK_RUN_TEXT_MAX
               ? WK_OK
               : wk_fail(err, WK_E_INPUT, "tasks: the names of %d tasks are too long", count);
}

#define PART_INT(field, choices) config->field
#define PART_COUNT(field, choices) (uint64_t) config->field
#define PART_NUMBER(field, choices) config->field
#define PART_TEXT(field, choices) wk_text_choice(choices, config->field)
#define FIELD(kind, field, key, value, min, max, ...) .field = PART_##kind(field, max),

wk_curriculum_config wk_run_config_curriculum(const wk_run_config *config)
{
    return (wk_curriculum_config){.seed = config->seed, WK_CURRICULUM_FIELDS(FIELD)};
}

static wk_learner_config learner_part(const wk_run_config *config)
{
    const bool random = strcmp(config->exploration, "random") == 0;
    return (wk_learner_config){.exploration = random ? WK_EXPLORE_RANDOM : WK_EXPLORE_PLAN2EXPLORE,
                               .seed = config->seed,
                               WK_LEARNER_FIELDS(FIELD)};
}

wk_status wk_run_config_learner(const wk_run_config *config, const wk_domain *domain,
                                wk_learner_config *out, wk_error *err)
{
    int tasks[WK_TASKS_MAX];
    *out = learner_part(config);
    out->action_size = domain->action_size;
    out->discrete = domain->discrete;
    out->observation = domain->observation;
    out->discount_head = domain->ends_early;
    WK_TRY(wk_run_config_tasks(config, domain, tasks, &out->tasks, err));
    return wk_learner_config_check(out, err);
}

wk_status wk_learner_config_of_blocks(const char *const *names, size_t count,
                                      wk_learner_config *out, wk_error *err)
{
    wk_config_blocks *blocks = NULL;
    wk_merged_config merged;
    WK_TRY(wk_config_blocks_create(&blocks, err));
    wk_status status = wk_config_blocks_add_embedded(blocks, err);
    if (status == WK_OK) status = wk_config_merge_defaults(blocks, &merged, err);
    for (size_t i = 0; i < count && status == WK_OK; i++)
        status = wk_config_merge_block(blocks, names[i], &merged, err);
    if (status == WK_OK) *out = learner_part(&merged.config);
    wk_config_blocks_destroy(blocks);
    return status;
}

wk_replay_config wk_run_config_replay(const wk_run_config *run, const wk_domain *domain)
{
    return (wk_replay_config){
        .capacity = (uint64_t)run->replay_capacity,
        .memory = (uint64_t)(run->replay_memory_limit * 1024 * 1024 * 1024),
        .frame_bytes = WK_RUN_FRAME_BYTES,
        .slots = run->env_count,
        .complete = strcmp(run->replay_episodes, "complete") == 0,
        .action_size = domain->action_size,
        .n_tasks = domain->n_tasks,
        .n_params = domain->n_params,
        .observation = domain->observation,
    };
}
