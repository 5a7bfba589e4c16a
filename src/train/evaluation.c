#include "train/evaluation.h"

#include "train/config_parts.h"
#include <stdio.h>
#include <string.h>

wk_eval_origin wk_evaluation_origin(const wk_run_config *config, const wk_domain *domain,
                                    uint64_t step, const char *policy)
{
    return (wk_eval_origin){.domain = domain,
                            .curriculum = config->curriculum_rule,
                            .exploration = config->exploration,
                            .run_seed = config->seed,
                            .step = step,
                            .policy = policy};
}

// Notes eval_TASK_CASE/eval_TASK_CASE_STATISTIC_WHAT.
static void note(wk_metrics *metrics, const char *group, const char *statistic, const char *what,
                 double value)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s_%s_%s", group, group, statistic, what);
    wk_metrics_scalar(metrics, name, value);
}

static void note_score(wk_metrics *metrics, const char *group, const char *what, const wk_score *s)
{
    note(metrics, group, "mean", what, s->mean);
    note(metrics, group, "max", what, s->max);
    note(metrics, group, "min", what, s->min);
    note(metrics, group, "std", what, s->sd);
}

static void note_case(wk_metrics *metrics, const wk_task *task, const wk_case_result *c)
{
    char group[128];
    snprintf(group, sizeof group, "eval_%.50s_%s%.50s", task->name, c->set.set ? "OOD_" : "uniform",
             c->set.set ? c->set.name : "");
    note_score(metrics, group, "return", &c->returned);
    note(metrics, group, "cvar_0.1", "return", c->returned.cvar[WK_SCORE_TENTH]);
    note_score(metrics, group, "length", &c->length);
    note(metrics, group, "diverged", "episodes", c->diverged);
    if (!task->has_completion) return;
    note_score(metrics, group, "completion", &c->completed);
    note(metrics, group, "cvar_0.1", "completion", c->completed.cvar[WK_SCORE_TENTH]);
}

static wk_status give_up_when_asked(void *context, const wk_eval_row *row, wk_error *err)
{
    const volatile sig_atomic_t *const *stop = context;
    (void)row;
    return *stop && **stop ? wk_fail(err, WK_E_INPUT, "stopped") : WK_OK;
}

static wk_status evaluate(wk_trainer *trainer, const wk_eval_player *player, wk_eval_result *result,
                          wk_error *err)
{
    int count = wk_learner_get_config(player->learner)->tasks;
    for (int k = 0; k < count; k++) {
        int task;
        WK_TRY(wk_domain_task(result->origin.domain, wk_trainer_task_name(trainer, k), &task, err));
        WK_TRY(wk_eval_result_add(result, player, task, k, err));
    }
    return WK_OK;
}

static void note_all(wk_metrics *metrics, const wk_eval_result *result)
{
    for (int i = 0; i < result->n_tasks; i++)
        for (int k = 0; k < result->tasks[i].n_cases; k++)
            note_case(metrics, &result->origin.domain->tasks[result->tasks[i].task],
                      &result->tasks[i].cases[k]);
}

wk_status wk_evaluation_run(wk_trainer *trainer, const char *directory,
                            const volatile sig_atomic_t *stop, const wk_log *log,
                            wk_metrics *metrics, bool *done, wk_error *err)
{
    const wk_run_config *config = wk_trainer_config(trainer);
    const wk_domain *domain = wk_trainer_domain(trainer);
    uint64_t step = wk_trainer_standing(trainer).steps;
    int options[WK_OPTIONS_MAX];
    WK_TRY(wk_run_config_options(config, domain, options, err));
    wk_eval_player player = {.options = options,
                             .learner = wk_trainer_learner(trainer),
                             .cases = "",
                             .threads = config->env_threads,
                             .log = log,
                             .watch = give_up_when_asked,
                             .context = &stop};
    wk_eval_result result = {.origin =
                                 wk_evaluation_origin(config, domain, step, WK_POLICY_ALONGSIDE),
                             .envs = config->eval_envs};
    *done = false;
    wk_status status = evaluate(trainer, &player, &result, err);
    if (status == WK_OK) status = wk_eval_result_write(&result, directory, err);
    if (status == WK_OK) {
        note_all(metrics, &result);
        *done = true;
    } else if (stop && *stop) {
        status = WK_OK;
    }
    wk_eval_result_free(&result);
    return status;
}
