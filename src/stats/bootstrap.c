// The stratified percentile bootstrap. Resample number r is a pure function of (seed, side, r):
// its draws come from substream r of a stream of its own, so that intervals are the same on every
// machine and more resamples only add to the ones there were.
#include "base/random.h"
#include "stats/resamples.h"
#include "stats/sample.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES_MAX = 64 << 20 }; // of the draws of one side

wk_bootstrap_config wk_bootstrap_config_default(void)
{
    return (wk_bootstrap_config){.reps = 50000, .size = 0.95, .seed = 0};
}

wk_status wk_bootstrap_check(const wk_bootstrap_config *config, wk_error *err)
{
    if (config->reps < 2)
        return wk_fail(err, WK_E_INPUT, "a bootstrap needs at least 2 resamples, not %d",
                       config->reps);
    if (!(config->size > 0 && config->size < 1))
        return wk_fail(err, WK_E_INPUT, "an interval holds a share between 0 and 1; %g is not one",
                       config->size);
    return WK_OK;
}

static wk_status no_memory(int reps, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory for %d resamples", reps);
}

// One matrix with the memory for its resamples.
typedef struct side {
    const wk_scores *scores;
    uint64_t seed;
    const char *stream;
    size_t count;          // of cells
    size_t *index;         // [count]
    double *cells;         // [count], task by task
    const uint16_t *drawn; // [reps,count], draws that were made before, or NULL
} side;

static wk_status open_side(side *s, const wk_scores *scores, uint64_t seed, const char *stream,
                           wk_error *err)
{
    *s = (side){.scores = scores, .seed = seed, .stream = stream};
    WK_TRY(wk_scores_check(scores, err));
    s->count = wk_scores_cells(scores);
    s->index = malloc(s->count * sizeof *s->index);
    s->cells = malloc(s->count * sizeof *s->cells);
    if (!s->index || !s->cells)
        return wk_fail(err, WK_E_MEMORY, "no memory for resamples of %zu scores", s->count);
    return WK_OK;
}

static void close_side(side *s)
{
    free(s->index);
    free(s->cells);
}

static void draw(side *s, int rep)
{
    wk_rng rng = wk_rng_stream(s->seed, s->stream, (uint64_t)rep);
    for (size_t m = 0, at = 0; m < s->scores->tasks; m++) {
        size_t runs = wk_scores_runs(s->scores, m);
        for (size_t n = 0; n < runs; n++)
            s->index[at++] = (size_t)wk_rng_below(&rng, runs);
    }
}

static void resample(side *s, int rep)
{
    if (s->drawn)
        for (size_t i = 0; i < s->count; i++)
            s->index[i] = s->drawn[(size_t)rep * s->count + i];
    else
        draw(s, rep);
    wk_scores_columns(s->scores, s->index, s->cells);
}

static void free_draws(wk_draws *draws)
{
    free(draws->runs);
    free(draws->index);
    *draws = (wk_draws){0};
}

void wk_resamples_free(wk_resamples *resamples)
{
    free_draws(&resamples->x);
    free_draws(&resamples->y);
}

static bool has_shape(const wk_draws *draws, const side *s, const wk_bootstrap_config *config)
{
    if (!draws->index || draws->seed != config->seed || draws->reps != config->reps ||
        draws->tasks != s->scores->tasks)
        return false;
    for (size_t m = 0; m < draws->tasks; m++)
        if (draws->runs[m] != wk_scores_runs(s->scores, m)) return false;
    return true;
}

// Makes the draws of the side's shape; none where they would not fit.
static wk_status keep_draws(side *s, const wk_bootstrap_config *config, wk_draws *draws,
                            wk_error *err)
{
    size_t reps = (size_t)config->reps;
    free_draws(draws);
    if (s->count > KEPT_BYTES_MAX / sizeof *draws->index / reps || s->scores->runs > UINT16_MAX)
        return WK_OK;
    *draws = (wk_draws){.seed = config->seed, .reps = config->reps, .tasks = s->scores->tasks};
    draws->runs = malloc(draws->tasks * sizeof *draws->runs);
    draws->index = malloc(reps * s->count * sizeof *draws->index);
    if (!draws->runs || !draws->index) {
        free_draws(draws);
        return no_memory(config->reps, err);
    }
    for (size_t m = 0; m < draws->tasks; m++)
        draws->runs[m] = wk_scores_runs(s->scores, m);
    for (size_t r = 0; r < reps; r++) {
        draw(s, (int)r);
        for (size_t i = 0; i < s->count; i++)
            draws->index[r * s->count + i] = (uint16_t)s->index[i];
    }
    return WK_OK;
}

static wk_status use_draws(side *s, const wk_bootstrap_config *config, wk_draws *draws,
                           wk_error *err)
{
    if (!has_shape(draws, s, config)) WK_TRY(keep_draws(s, config, draws, err));
    s->drawn = draws->index;
    return WK_OK;
}

wk_status wk_stats_bootstrap(const wk_scores *scores, wk_aggregate aggregate,
                             const wk_bootstrap_config *config, wk_estimate *out, wk_error *err)
{
    WK_TRY(wk_bootstrap_check(config, err));
    WK_TRY(wk_stats_aggregate(scores, aggregate, &out->value, err));
    side s;
    size_t reps = (size_t)config->reps;
    wk_status status = open_side(&s, scores, config->seed, "bootstrap", err);
    double *found = status == WK_OK ? malloc((reps + wk_scores_cells(scores)) * sizeof *found) : 0;
    if (status == WK_OK && !found) status = no_memory(config->reps, err);
    for (int r = 0; r < config->reps && status == WK_OK; r++) {
        resample(&s, r);
        found[r] = wk_aggregate_columns(aggregate, scores, s.cells, found + reps);
    }
    if (status == WK_OK) wk_sample_interval(found, reps, config->size, out);
    free(found);
    close_side(&s);
    return status;
}

// Without `resamples` every resample is drawn as it is needed.
static wk_status compare(const wk_scores *x, const wk_scores *y, const wk_bootstrap_config *config,
                         wk_resamples *resamples, wk_estimate *out, wk_error *err)
{
    WK_TRY(wk_bootstrap_check(config, err));
    WK_TRY(wk_stats_improvement(x, y, &out->value, err));
    side a = {0}, b = {0};
    double *found = malloc((size_t)config->reps * sizeof *found);
    wk_status status = found ? WK_OK : no_memory(config->reps, err);
    if (status == WK_OK) status = open_side(&a, x, config->seed, "bootstrap/x", err);
    if (status == WK_OK) status = open_side(&b, y, config->seed, "bootstrap/y", err);
    if (status == WK_OK && resamples) status = use_draws(&a, config, &resamples->x, err);
    if (status == WK_OK && resamples) status = use_draws(&b, config, &resamples->y, err);
    for (int r = 0; r < config->reps && status == WK_OK; r++) {
        resample(&a, r);
        resample(&b, r);
        found[r] = wk_improvement_columns(x, a.cells, y, b.cells);
    }
    if (status == WK_OK) wk_sample_interval(found, (size_t)config->reps, config->size, out);
    close_side(&a);
    close_side(&b);
    free(found);
    return status;
}

wk_status wk_stats_improvement_bootstrap(const wk_scores *x, const wk_scores *y,
                                         const wk_bootstrap_config *config, wk_estimate *out,
                                         wk_error *err)
{
    return compare(x, y, config, NULL, out, err);
}

wk_status wk_improvement_bootstrap_cached(const wk_scores *x, const wk_scores *y,
                                          const wk_bootstrap_config *config,
                                          wk_resamples *resamples, wk_estimate *out, wk_error *err)
{
    return compare(x, y, config, resamples, out, err);
}
