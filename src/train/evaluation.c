#include "train/evaluation.h"

#include "base/random.h"
#include "config/parts.h"
#include "eval/open_loop.h"
#include "train/trainer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

// One running evaluation. Its clips are recorded while the episodes are played: the first episode
// of each policy, and what the world model imagines about the first episodes.
enum { SEQUENCES = 6, CONTEXT = 5, FRAMES = 128 };
typedef struct evaluation {
    wk_trainer *trainer;
    const volatile sig_atomic_t *stop; // NULL: never
    wk_open_loop *loop;                // NULL: no clips are wanted
    int steps;                         // of a prediction
    bool imagined;
    int every, count;        // frames between those kept, and how many those are
    wk_image frames[FRAMES]; // of the first episode
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
    bool broken = (row->flags & WK_IS_DIVERGED) && row->step > 0; // has no image
    if (!e->loop || row->case_index > 0 || broken) return WK_OK;
    if (row->episode == 0 && row->step % e->every == 0 && e->count < FRAMES)
        memcpy(e->frames[e->count++].rgb, row->image, WK_IMAGE_BYTES);
    if (!e->imagined && row->episode < SEQUENCES && row->step < e->steps)
        wk_sequences_set(wk_open_loop_input(e->loop), row->step, row->episode, row, row->step == 0);
    return WK_OK;
}

// eval_TASK_uniform_policy_image, the first episode of the first case, and after the first task
// eval_openl_image.
static wk_status log_clips(evaluation *e, const char *task, wk_metrics *metrics, wk_error *err)
{
    char name[160];
    const wk_image *frames;
    size_t count = (size_t)e->count;
    snprintf(name, sizeof name, "eval_%.100s_uniform_policy_image", task);
    e->count = 0;
    WK_TRY(wk_metrics_clip(metrics, name, e->frames, count, err));
    if (e->imagined) return WK_OK;
    e->imagined = true;
    WK_TRY(wk_open_loop_run(e->loop, err));
    WK_TRY(wk_open_loop_clip(e->loop, &frames, err));
    return wk_metrics_clip(metrics, "eval_openl_image", frames, (size_t)e->steps, err);
}

static wk_status evaluate(evaluation *e, const wk_log *log, const wk_dir *directory,
                          wk_metrics *metrics, wk_error *err)
{
    const wk_run_config *config = &e->trainer->config;
    const wk_domain *domain = e->result.origin.domain;
    wk_learner *learner = e->trainer->learner;
    int options[WK_OPTIONS_MAX];
    WK_TRY(wk_run_config_options(config, domain, options, err));

    // Clips have no other place than TensorBoard files.
    bool has_images = !domain->observation.no_image;
    if (config->log_tensorboard && config->log_images_every > 0 && has_images) {
        e->steps = config->length;
        e->every = domain->episode_steps / FRAMES + 1;
        for (int i = 0; i < FRAMES; i++)
            WK_TRY(wk_image_create(WK_IMAGE_SIDE, WK_IMAGE_SIDE, 0, &e->frames[i], err));
        WK_TRY(wk_open_loop_create(learner, SEQUENCES, e->steps,
                                   CONTEXT < e->steps ? CONTEXT : e->steps - 1, &e->loop, err));
    }

    wk_eval_setup setup = {.options = options,
                           .learner = learner,
                           .case_names = "",
                           .threads = config->env_threads,
                           .log = log,
                           .on_row = add_row,
                           .context = e};
    for (int k = 0; k < wk_learner_get_config(learner)->tasks; k++) {
        int task;
        const char *name = domain->tasks[e->trainer->tasks[k]].name;
        WK_TRY(wk_domain_task(domain, name, &task, err));
        WK_TRY(wk_eval_result_add(&e->result, &setup, task, err));
        WK_TRY(wk_eval_result_play(&e->result, &setup, k, k, err));
        if (e->loop) WK_TRY(log_clips(e, name, metrics, err));
    }
    return wk_eval_result_write_in(&e->result, directory, err);
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
    const wk_run_config *config = &trainer->config;
    const wk_domain *domain = trainer->domain;
    uint64_t step = wk_trainer_progress(trainer).steps;
    wk_run_thetas thetas;
    WK_TRY(wk_run_config_thetas(config, domain, &thetas, err));
    evaluation e = {.trainer = trainer,
                    .stop = stop,
                    .result = {.origin = wk_evaluation_origin(config, domain, &thetas, step,
                                                              WK_POLICY_ALONGSIDE),
                               .envs = config->eval_envs,
                               .seed = wk_evaluation_seed(config, step)}};
    wk_status status = evaluate(&e, log, directory, metrics, err);
    *end = (wk_evaluation_end){.done = status == WK_OK, .mean = mean_score(&e.result)};
    for (int i = 0; end->done && i < e.result.n_tasks; i++)
        for (int k = 0; k < e.result.tasks[i].n_cases; k++)
            log_case(metrics, domain, e.result.tasks[i].task, &e.result.tasks[i].cases[k]);
    if (!end->done && stopped(&e)) status = WK_OK;
    wk_eval_result_free(&e.result);
    wk_open_loop_destroy(e.loop);
    for (int i = 0; i < FRAMES; i++)
        wk_image_free(&e.frames[i]);
    return status;
}

wk_status wk_episode_error_create(wk_learner *learner, wk_episode_error *e, wk_error *err)
{
    const wk_learner_config *config = wk_learner_get_config(learner);
    size_t rows = (size_t)config->length;
    e->length = config->length;
    e->images = wk_arena_alloc(&e->arena, rows * WK_IMAGE_BYTES);
    e->vectors =
        wk_arena_alloc(&e->arena, rows * (size_t)config->observation.vector * sizeof *e->vectors);
    e->first = wk_arena_alloc(&e->arena, rows);
    e->actions = wk_arena_alloc(&e->arena, rows * (size_t)config->action_size * sizeof *e->actions);
    e->error = wk_arena_alloc(&e->arena, rows * sizeof *e->error);
    if (e->arena.failed)
        return wk_fail(err, WK_E_MEMORY, "no memory to predict %zu observations", rows);
    return wk_prediction_create(learner, 1, e->length, 0, &e->prediction, err);
}

void wk_episode_error_free(wk_episode_error *e)
{
    wk_prediction_destroy(e->prediction);
    wk_arena_reset(&e->arena);
    *e = (wk_episode_error){0};
}

wk_status wk_episode_error_measure(wk_episode_error *e, wk_replay *replay, uint64_t seed,
                                   uint64_t id, double *out, wk_error *err)
{
    uint32_t window = (uint32_t)e->length;
    size_t at = wk_replay_count(replay); // the store has it among its newest, if at all
    while (at > 0 && wk_replay_at(replay, at - 1).id != id)
        at--;
    uint32_t rows = at == 0 ? 0 : wk_replay_at(replay, --at).rows;
    *out = NAN;
    if (rows < window) return WK_OK;
    wk_rng rng = wk_rng_stream(seed, "episode error", id);
    uint32_t start = (uint32_t)wk_rng_below(&rng, rows - window + 1);
    wk_replay_batch read = {
        .images = e->images, .vectors = e->vectors, .actions = e->actions, .first = e->first};
    wk_replay_read(replay, at, start, window, &read);
    wk_learner_batch batch = {
        .images = e->images, .vectors = e->vectors, .actions = e->actions, .first = e->first};
    wk_predicted predicted = {.error = e->error};
    WK_TRY(wk_prediction_run(e->prediction, &batch, &predicted, err));
    double sum = 0;
    for (uint32_t t = 0; t + 1 < window; t++)
        sum += (double)e->error[t];
    *out = sum / (double)(window - 1);
    return WK_OK;
}
