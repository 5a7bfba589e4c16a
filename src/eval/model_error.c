#include "eval/model_error.h"

#include "agent/prediction.h"
#include "waker/stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Frames predicted at once: as many as an update of the paper's size looks at. Part of the
// definition, since the order of sums may depend on it.
enum { FRAMES_TOGETHER = 800, EPISODES_TOGETHER = 8 };

typedef struct probe {
    const wk_model_error_config *config;
    wk_eval_case set;
    wk_eval_config play;
    int rows;     // of an episode: steps + 1
    int together; // episodes predicted at once
    int member;   // that is being filled
    wk_eval_episode *episodes;
    float *done; // actions of all episodes, [environments,steps,A]
    wk_prediction *prediction;
    uint8_t *images, *first; // [rows,together,...]
    float *vectors, *actions, *error, *disagreement;
} probe;

// Adds a row to the member; a simulation that broke down has no observation.
static wk_status take_row(void *context, const wk_eval_row *row, wk_error *err)
{
    (void)err;
    probe *p = context;
    if (row->flags & WK_IS_DIVERGED) return WK_OK;
    size_t at = (size_t)row->step * (size_t)p->together + (size_t)p->member;
    size_t width = (size_t)p->config->domain->action_size;
    size_t numbers = (size_t)p->config->domain->observation.vector;
    if (row->image) memcpy(p->images + at * WK_IMAGE_BYTES, row->image, WK_IMAGE_BYTES);
    memcpy(p->vectors + at * numbers, row->vector, numbers * sizeof *row->vector);
    memcpy(p->actions + at * width, row->action, width * sizeof *row->action);
    p->first[at] = row->step == 0;
    return WK_OK;
}

static wk_status count_row(void *context, const wk_eval_row *row, wk_error *err)
{
    const wk_model_error_config *config = context;
    (void)err;
    if (row->flags & WK_IS_LAST) config->progress(config->context);
    return WK_OK;
}

// Shows episodes first ... first + together - 1, as far as there are so many, to the model.
static wk_status predict(probe *p, int first, wk_model_error *out, wk_error *err)
{
    int count = p->config->environments - first;
    if (count > p->together) count = p->together;
    size_t numbers = (size_t)(p->rows - 1) * (size_t)p->config->domain->action_size;
    for (p->member = 0; p->member < count; p->member++) {
        int i = first + p->member;
        WK_TRY(wk_eval_replay(&p->play, 0, i, &p->episodes[i], p->done + (size_t)i * numbers, err));
    }
    wk_learner_batch batch = {
        .images = p->images, .vectors = p->vectors, .actions = p->actions, .first = p->first};
    wk_predicted predicted = {.error = p->error, .disagreement = p->disagreement};
    WK_TRY(wk_prediction_run(p->prediction, &batch, &predicted, err));
    for (int member = 0; member < count; member++) {
        const wk_eval_episode *played = &p->episodes[first + member];
        wk_model_error *one = &out[first + member];
        *one = (wk_model_error){.steps = played->steps - played->diverged};
        memcpy(one->theta, played->theta, sizeof one->theta);
        double error = 0, estimate = 0;
        for (int t = 0; t < one->steps; t++) {
            error += (double)p->error[t * p->together + member];
            estimate += (double)p->disagreement[t * p->together + member];
        }
        one->error = one->steps > 0 ? error / one->steps : NAN;
        one->estimate = one->steps > 0 ? estimate / one->steps : NAN;
        if (p->config->progress) p->config->progress(p->config->context);
    }
    return WK_OK;
}

static wk_status play_and_predict(probe *p, wk_model_error *out, wk_error *err)
{
    size_t count = (size_t)p->config->environments, rows = (size_t)p->rows;
    size_t frames = rows * (size_t)p->together, width = (size_t)p->config->domain->action_size;
    size_t numbers = (size_t)p->config->domain->observation.vector;
    p->episodes = calloc(count, sizeof *p->episodes);
    p->done = calloc(count * (rows - 1) * width, sizeof *p->done);
    p->images = calloc(frames, WK_IMAGE_BYTES);
    p->vectors = calloc(frames * numbers + 1, sizeof *p->vectors);
    p->first = calloc(frames, 1);
    p->actions = calloc(frames * width, sizeof *p->actions);
    p->error = calloc(frames, sizeof *p->error);
    p->disagreement = calloc(frames, sizeof *p->disagreement);
    if (!p->episodes || !p->done || !p->images || !p->vectors || !p->first || !p->actions ||
        !p->error || !p->disagreement)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu frames", frames);
    // Episodes are played first, in parallel, and then repeated one by one for the model, so that
    // only a batch of images is kept at any time.
    p->play.actions = p->done;
    if (p->config->progress) {
        p->play.on_row = count_row;
        p->play.context = (void *)p->config;
    }
    WK_TRY(wk_evaluate(&p->play, p->episodes, err));
    p->play.actions = NULL;
    p->play.on_row = take_row;
    p->play.context = p;
    WK_TRY(wk_prediction_create(p->config->learner, p->together, p->rows, 0, &p->prediction, err));
    for (int first = 0; first < p->config->environments; first += p->together)
        WK_TRY(predict(p, first, out, err));
    return WK_OK;
}

// One episode in every environment.
static wk_status measure_trajectory(const wk_model_error_config *config, int trajectory,
                                    wk_model_error *out, wk_error *err)
{
    probe p = {.config = config, .set = {.name = WK_EVAL_DR, .episodes = config->environments}};
    p.play = (wk_eval_config){.domain = config->domain,
                              .options = config->options,
                              .task = config->random ? WK_EVAL_ANY_TASK : config->task,
                              .learner = config->random ? NULL : config->learner,
                              .policy = config->policy,
                              .mode = WK_ACT_MODE,
                              .cases = &p.set,
                              .n_cases = 1,
                              .steps = config->steps,
                              .seed = config->seed,
                              .trajectory = trajectory,
                              .threads = config->threads};
    p.rows = wk_eval_steps(&p.play) + 1;
    p.together = FRAMES_TOGETHER / p.rows;
    if (p.together < 1) p.together = 1;
    if (p.together > EPISODES_TOGETHER) p.together = EPISODES_TOGETHER;
    wk_status status = play_and_predict(&p, out, err);
    wk_prediction_destroy(p.prediction);
    void *const owned[] = {p.episodes, p.done,    p.images, p.vectors,
                           p.first,    p.actions, p.error,  p.disagreement};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    return status;
}

// Means over the trajectories of every environment that have values.
static wk_status measure(const wk_model_error_config *config, wk_model_error *episodes, int *counts,
                         wk_model_error *out, wk_error *err)
{
    for (int t = 0; t == 0 || t < config->trajectories; t++) {
        WK_TRY(measure_trajectory(config, t, episodes, err));
        for (int i = 0; i < config->environments; i++) {
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
    for (int i = 0; i < config->environments; i++)
        if (counts[i] > 1) {
            out[i].error /= counts[i];
            out[i].estimate /= counts[i];
        }
    return WK_OK;
}

wk_status wk_model_error_measure(const wk_model_error_config *config, wk_model_error *out,
                                 wk_error *err)
{
    size_t count = (size_t)config->environments;
    wk_model_error *episodes = calloc(count, sizeof *episodes);
    int *counts = calloc(count, sizeof *counts);
    wk_status status = episodes && counts
                           ? measure(config, episodes, counts, out, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory for %zu environments", count);
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

static wk_status summarise(wk_model_error *all, double *columns, wk_model_error_summary *out,
                           wk_error *err)
{
    int count = out->environments;
    WK_TRY(correlate(all, count, columns, &out->correlation, err));
    out->mean = wk_stats_mean(columns, (size_t)count);
    out->estimate_mean = wk_stats_mean(columns + count, (size_t)count);
    WK_TRY(wk_stats_cvar(columns, (size_t)count, 0.1, WK_WORST_HIGH, &out->cvar, err));
    out->thetas = merge_thetas(all, count);
    return correlate(all, out->thetas, columns, &out->theta_correlation, err);
}

wk_status wk_model_error_summarise(const wk_model_error *environments, int count,
                                   wk_model_error_summary *out, wk_error *err)
{
    wk_model_error *all = malloc((size_t)count * sizeof *all);
    double *columns = malloc((size_t)count * 2 * sizeof *columns);
    *out = (wk_model_error_summary){0};
    wk_status status = WK_OK;
    if (!all || !columns) status = wk_fail(err, WK_E_MEMORY, "no memory for %d numbers", count);
    for (int i = 0; i < count && status == WK_OK; i++)
        if (environments[i].steps > 0) all[out->environments++] = environments[i];
    if (status == WK_OK && out->environments == 0)
        status = wk_fail(err, WK_E_DIVERGED,
                         "all %d environments diverged before their first image; check the domain "
                         "with 'waker envs check'",
                         count);
    if (status == WK_OK) status = summarise(all, columns, out, err);
    free(all);
    free(columns);
    return status;
}
