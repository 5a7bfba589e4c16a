#include "train/evaluation.h"

#include "config/parts.h"
#include "train/eval_clips.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// Logs eval_TASK_CASE/eval_TASK_CASE_NAME; the name may be a statistic of something.
static void log_scalar(wk_metrics *metrics, const char *prefix, const char *name, const char *of,
                       double value)
{
    char key[512];
    snprintf(key, sizeof key, "%s/%s_%s%s%s", prefix, prefix, name, *of ? "_" : "", of);
    wk_metrics_scalar(metrics, key, value);
}

static void log_score(wk_metrics *metrics, const char *prefix, const char *what, const wk_score *s)
{
    log_scalar(metrics, prefix, "mean", what, s->mean);
    log_scalar(metrics, prefix, "max", what, s->max);
    log_scalar(metrics, prefix, "min", what, s->min);
    log_scalar(metrics, prefix, "std", what, s->sd);
}

static void log_case(wk_metrics *metrics, const wk_domain *domain, int number,
                     const wk_case_result *c)
{
    const wk_task *task = &domain->tasks[number];
    char prefix[128];
    bool trained_in = strcmp(c->eval_case.name, WK_EVAL_TRAIN) == 0;
    snprintf(prefix, sizeof prefix, "eval_%.50s_%s%.50s", task->name,
             !c->eval_case.thetas ? "uniform"
             : trained_in         ? ""
                                  : "OOD_",
             c->eval_case.thetas ? c->eval_case.name : "");
    log_score(metrics, prefix, "return", &c->return_score);
    log_scalar(metrics, prefix, "cvar_0.1", "return", c->return_score.cvar[WK_SCORE_TENTH]);
    log_score(metrics, prefix, "length", &c->length_score);
    log_scalar(metrics, prefix, "diverged", "episodes", c->diverged);
    for (int m = 0; m < WK_CASE_METRICS; m++)
        log_scalar(metrics, prefix, wk_case_metrics[m].name, "",
                   wk_case_metric_mean(c, &wk_case_metrics[m]));
    for (int k = 0; k < domain->n_indicators; k++)
        if (!isnan(c->indicators[k]))
            log_scalar(metrics, prefix, "mean", domain->indicators[k].name, c->indicators[k]);
    if (!task->has_completion) return;
    log_score(metrics, prefix, "completion", &c->completion_score);
    log_scalar(metrics, prefix, "cvar_0.1", "completion", c->completion_score.cvar[WK_SCORE_TENTH]);
}

// One running evaluation.
typedef struct evaluation {
    wk_trainer *trainer;
    const volatile sig_atomic_t *stop; // NULL: never
    wk_metrics *metrics;
    wk_eval_clips *clips; // NULL: none wanted
    wk_eval_result result;
} evaluation;

static bool stopped(const evaluation *e)
{
    return e->stop && *e->stop;
}

static wk_status add_row(void *context, const wk_eval_row *row, wk_error *err)
{
    evaluation *e = context;
    if (stopped(e)) return wk_fail(err, WK_E_INPUT, "stopped");
    return e->clips ? wk_eval_clips_add_row(e->clips, row, err) : WK_OK;
}

static wk_status evaluate_task(evaluation *e, const wk_eval_setup *setup, int policy, wk_error *err)
{
    int task;
    const char *name = wk_trainer_task_name(e->trainer, policy);
    WK_TRY(wk_domain_task(e->result.origin.domain, name, &task, err));
    WK_TRY(wk_eval_result_add(&e->result, setup, task, err));
    WK_TRY(wk_eval_result_play(&e->result, setup, policy, policy, err));
    return e->clips ? wk_eval_clips_log(e->clips, name, e->metrics, err) : WK_OK;
}

static wk_status evaluate(evaluation *e, const wk_log *log, const wk_dir *directory, wk_error *err)
{
    const wk_run_config *config = wk_trainer_config(e->trainer);
    const wk_domain *domain = e->result.origin.domain;
    wk_learner *learner = wk_trainer_learner(e->trainer);
    int options[WK_OPTIONS_MAX];
    WK_TRY(wk_run_config_options(config, domain, options, err));
    // Clips have no other place than TensorBoard files.
    bool has_images = !domain->observation.no_image;
    if (config->log_tensorboard && config->log_images_every > 0 && has_images)
        WK_TRY(wk_eval_clips_create(learner, domain, config->length, &e->clips, err));
    wk_eval_setup setup = {.options = options,
                           .learner = learner,
                           .case_names = "",
                           .threads = config->env_threads,
                           .log = log,
                           .on_row = add_row,
                           .context = e};
    for (int k = 0; k < wk_learner_get_config(learner)->tasks; k++)
        WK_TRY(evaluate_task(e, &setup, k, err));
    return wk_eval_result_write_in(&e->result, directory, err);
}

static void log_all(wk_metrics *metrics, const wk_eval_result *result)
{
    for (int i = 0; i < result->n_tasks; i++)
        for (int k = 0; k < result->tasks[i].n_cases; k++)
            log_case(metrics, result->origin.domain, result->tasks[i].task,
                     &result->tasks[i].cases[k]);
}

// Over the tasks, of their first case: the default distribution.
static double mean_score(const wk_eval_result *result)
{
    double sum = 0;
    for (int i = 0; i < result->n_tasks; i++) {
        const wk_case_result *first = &result->tasks[i].cases[0];
        bool completes = result->origin.domain->tasks[result->tasks[i].task].has_completion;
        sum += completes ? first->completion_score.mean : first->return_score.mean;
    }
    return result->n_tasks ? sum / result->n_tasks : NAN;
}

wk_status wk_evaluation_run(wk_trainer *trainer, const wk_dir *directory,
                            const volatile sig_atomic_t *stop, const wk_log *log,
                            wk_metrics *metrics, wk_evaluation_end *end, wk_error *err)
{
    const wk_run_config *config = wk_trainer_config(trainer);
    const wk_domain *domain = wk_trainer_domain(trainer);
    uint64_t step = wk_trainer_progress(trainer).steps;
    wk_run_thetas thetas;
    WK_TRY(wk_run_config_thetas(config, domain, &thetas, err));
    evaluation e = {.trainer = trainer,
                    .stop = stop,
                    .metrics = metrics,
                    .result = {.origin = wk_evaluation_origin(config, domain, &thetas, step,
                                                              WK_POLICY_ALONGSIDE),
                               .envs = config->eval_envs,
                               .seed = wk_evaluation_seed(config, step)}};
    wk_status status = evaluate(&e, log, directory, err);
    *end = (wk_evaluation_end){.done = status == WK_OK, .mean = mean_score(&e.result)};
    if (end->done)
        log_all(metrics, &e.result);
    else if (stopped(&e))
        status = WK_OK;
    wk_eval_result_free(&e.result);
    wk_eval_clips_destroy(e.clips);
    return status;
}
