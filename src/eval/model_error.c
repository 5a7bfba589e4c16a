#include "eval/model_error.h"

#include "agent/prediction.h"
#include "base/memory.h"
#include "waker/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Frames predicted at once: as many as an update of the paper's size looks at. Part of the
// definition, since the order of sums may depend on it.
enum { FRAMES_TOGETHER = 800, EPISODES_TOGETHER = 8 };

typedef struct probe {
    const wk_model_error_config *config;
    wk_eval_config play;
    int together; // episodes predicted at once
    int member;   // that is being filled
    wk_sequences shown;
} probe;

// Adds a row to the member; a simulation that broke down has no observation.
static wk_status take_row(void *context, const wk_eval_row *row, wk_error *err)
{
    (void)err;
    probe *p = context;
    if (!(row->flags & WK_IS_DIVERGED))
        wk_sequences_set(&p->shown, row->step, p->member, row, row->step == 0);
    return WK_OK;
}

static wk_status count_row(void *context, const wk_eval_row *row, wk_error *err)
{
    const wk_model_error_config *config = context;
    (void)err;
    if (row->flags & WK_IS_LAST) config->progress(config->context);
    return WK_OK;
}

// Plays one episode in every environment, in parallel. Then repeats them one by one for the model,
// so that only a batch of images is kept at any time.
static wk_status measure_trajectory(probe *p, wk_arena *memory, wk_prediction **prediction,
                                    wk_model_error *out, wk_error *err)
{
    const wk_model_error_config *c = p->config;
    int environments = c->plan.environments, steps = wk_eval_steps(&p->play);
    size_t count = (size_t)environments, frames = (size_t)(steps + 1) * (size_t)p->together;
    size_t numbers = (size_t)steps * (size_t)c->domain->action_size;
    wk_eval_episode *episodes = wk_arena_alloc(memory, count * sizeof *episodes);
    float *done = wk_arena_alloc(memory, count * numbers * sizeof *done);
    float *errors = wk_arena_alloc(memory, frames * sizeof *errors);
    float *estimates = wk_arena_alloc(memory, frames * sizeof *estimates);
    if (!episodes || !done || !errors || !estimates)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu episodes", count);
    WK_TRY(wk_sequences_create(c->domain->observation, c->domain->action_size, p->together,
                               steps + 1, &p->shown, err));
    p->play.actions = done;
    p->play.on_row = c->progress ? count_row : NULL;
    p->play.context = (void *)c;
    WK_TRY(wk_evaluate(&p->play, episodes, err));
    p->play.on_row = take_row;
    p->play.context = p;
    WK_TRY(wk_prediction_create(c->learner, p->together, steps + 1, 0, prediction, err));
    for (int first = 0; first < environments; first += p->together) {
        int members = environments - first;
        if (members > p->together) members = p->together;
        for (p->member = 0; p->member < members; p->member++) {
            int i = first + p->member;
            WK_TRY(wk_eval_replay(&p->play, 0, i, &episodes[i], done + (size_t)i * numbers, err));
        }
        const wk_learner_batch batch = wk_sequences_batch(&p->shown);
        const wk_predicted predicted = {.error = errors, .disagreement = estimates};
        WK_TRY(wk_prediction_run(*prediction, &batch, &predicted, err));
        for (int member = 0; member < members; member++) {
            const wk_eval_episode *played = &episodes[first + member];
            wk_model_error *one = &out[first + member];
            *one = (wk_model_error){.steps = played->steps - played->diverged};
            memcpy(one->theta, played->theta, sizeof one->theta);
            double error = 0, estimate = 0;
            for (int t = 0; t < one->steps; t++) {
                error += (double)errors[t * p->together + member];
                estimate += (double)estimates[t * p->together + member];
            }
            one->error = one->steps > 0 ? error / one->steps : NAN;
            one->estimate = one->steps > 0 ? estimate / one->steps : NAN;
            if (c->progress) c->progress(c->context);
        }
    }
    return WK_OK;
}

wk_status wk_model_error_measure(const wk_model_error_config *c, wk_model_error *out, wk_error *err)
{
    int environments = c->plan.environments;
    wk_eval_case set = {.name = WK_EVAL_DR, .episodes = environments};
    probe p = {.config = c,
               .play = {.domain = c->domain,
                        .options = c->options,
                        .task = c->random ? WK_EVAL_ANY_TASK : c->task,
                        .learner = c->random ? NULL : c->learner,
                        .policy = c->policy,
                        .mode = WK_ACT_MODE,
                        .cases = &set,
                        .n_cases = 1,
                        .steps = c->plan.steps,
                        .seed = c->plan.seed,
                        .threads = c->threads}};
    p.together = FRAMES_TOGETHER / (wk_eval_steps(&p.play) + 1);
    if (p.together < 1) p.together = 1;
    if (p.together > EPISODES_TOGETHER) p.together = EPISODES_TOGETHER;
    size_t count = (size_t)environments;
    wk_model_error *episodes = calloc(count, sizeof *episodes);
    int *counts = calloc(count, sizeof *counts);
    wk_status status = WK_OK;
    if (!episodes || !counts)
        status = wk_fail(err, WK_E_MEMORY, "no memory for %zu environments", count);

    // Sums over the trajectories of every environment that have values, then means.
    for (int t = 0; status == WK_OK && (t == 0 || t < c->plan.trajectories); t++) {
        wk_arena memory = {0};
        wk_prediction *prediction = NULL;
        p.play.trajectory = t;
        status = measure_trajectory(&p, &memory, &prediction, episodes, err);
        wk_prediction_destroy(prediction);
        wk_sequences_free(&p.shown);
        wk_arena_reset(&memory);
        for (int i = 0; i < environments && status == WK_OK; i++) {
            const wk_model_error *one = &episodes[i];
            if (t == 0) out[i] = *one;
            if (one->steps == 0) continue;
            if (t > 0) {
                out[i].error = counts[i] ? out[i].error + one->error : one->error;
                out[i].estimate = counts[i] ? out[i].estimate + one->estimate : one->estimate;
                out[i].steps += one->steps;
            }
            counts[i]++;
        }
    }
    for (int i = 0; i < environments && status == WK_OK; i++)
        if (counts[i] > 1) {
            out[i].error /= counts[i];
            out[i].estimate /= counts[i];
        }
    free(episodes);
    free(counts);
    return status;
}

/* ---- In a few numbers ------------------------------------------------------------------------ */

static int by_theta(const void *a, const void *b)
{
    const wk_model_error *x = a, *y = b;
    for (int i = 0; i < WK_PARAMS_MAX; i++)
        if (x->theta[i] != y->theta[i]) return x->theta[i] < y->theta[i] ? -1 : 1;
    return 0;
}

// Replaces the environments of each θ by one with their means; returns how many θ there are.
static int merge_thetas(wk_model_error *all, int count)
{
    int kept = 0;
    qsort(all, (size_t)count, sizeof *all, by_theta);
    for (int i = 0, next; i < count; i = next) {
        wk_model_error merged = all[i];
        for (next = i + 1; next < count && by_theta(&all[i], &all[next]) == 0; next++) {
            merged.error += all[next].error;
            merged.estimate += all[next].estimate;
        }
        merged.error /= next - i;
        merged.estimate /= next - i;
        all[kept++] = merged;
    }
    return kept;
}

// Splits environments into `columns`, errors and then estimates, and correlates these; fewer than
// two have no order.
static wk_status correlate(const wk_model_error *all, int count, double *columns, double *out,
                           wk_error *err)
{
    *out = NAN;
    for (int i = 0; i < count; i++) {
        columns[i] = all[i].error;
        columns[count + i] = all[i].estimate;
    }
    if (count < 2) return WK_OK;
    return wk_stats_rank_correlation(columns, columns + count, (size_t)count, out, err);
}

static wk_status summarise(const wk_model_error *environments, int count, wk_model_error *all,
                           double *columns, wk_model_error_summary *out, wk_error *err)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (environments[i].steps > 0) all[n++] = environments[i];
    out->environments = n;
    if (n == 0)
        return wk_fail(err, WK_E_DIVERGED,
                       "all %d environments diverged before their first image; check the domain "
                       "with 'waker envs check'",
                       count);
    WK_TRY(correlate(all, n, columns, &out->correlation, err));
    out->mean = wk_stats_mean(columns, (size_t)n);
    out->estimate_mean = wk_stats_mean(columns + n, (size_t)n);
    WK_TRY(wk_stats_cvar(columns, (size_t)n, 0.1, WK_WORST_HIGH, &out->cvar, err));
    out->thetas = merge_thetas(all, n);
    return correlate(all, out->thetas, columns, &out->theta_correlation, err);
}

wk_status wk_model_error_summarise(const wk_model_error *environments, int count,
                                   wk_model_error_summary *out, wk_error *err)
{
    wk_model_error *all = malloc((size_t)count * sizeof *all);
    double *columns = malloc((size_t)count * 2 * sizeof *columns);
    *out = (wk_model_error_summary){0};
    wk_status status = all && columns
                           ? summarise(environments, count, all, columns, out, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory for %d numbers", count);
    free(all);
    free(columns);
    return status;
}
