// CVaR over fractions, with the interval that resampled values put each of them in.
#include "base/rng.h"
#include "stats/sample.h"

#include <stdlib.h>
#include <string.h>

// The values with the worst first, how often each was drawn, and what was found: [n, reps].
typedef struct curve {
    const double *worst_first;
    size_t count;
    uint32_t *drawn; // [count]
    double *found;
} curve;

// Mean of the `tail` worst of a resample, which has each value as often as it was drawn.
static double tail_mean(const curve *c, size_t tail)
{
    double sum = 0;
    size_t left = tail;
    for (size_t i = 0; left > 0; i++) {
        size_t taken = c->drawn[i] < left ? c->drawn[i] : left;
        sum += c->worst_first[i] * (double)taken;
        left -= taken;
    }
    return sum / (double)tail;
}

static void resample(curve *c, const wk_bootstrap_config *config, int rep)
{
    wk_rng rng = wk_rng_stream(config->seed, "cvar bootstrap", (uint64_t)rep);
    memset(c->drawn, 0, c->count * sizeof *c->drawn);
    for (size_t i = 0; i < c->count; i++)
        c->drawn[wk_rng_below(&rng, (uint32_t)c->count)]++;
}

static void estimate(curve *c, const double *fractions, size_t n, const wk_bootstrap_config *config,
                     wk_estimate *out)
{
    size_t reps = (size_t)config->reps;
    for (int r = 0; r < config->reps; r++) {
        resample(c, config, r);
        for (size_t k = 0; k < n; k++)
            c->found[k * reps + (size_t)r] = tail_mean(c, wk_stats_tail(c->count, fractions[k]));
    }
    for (size_t k = 0; k < n; k++)
        wk_sample_interval(c->found + k * reps, reps, config->size, &out[k]);
}

static void reverse(double *values, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        double kept = values[i];
        values[i] = values[count - 1 - i];
        values[count - 1 - i] = kept;
    }
}

wk_status wk_stats_cvar_curve(const double *values, size_t count, const double *fractions, size_t n,
                              wk_worst worst, const wk_bootstrap_config *config, wk_estimate *out,
                              wk_error *err)
{
    WK_TRY(wk_bootstrap_check(config, err));
    for (size_t k = 0; k < n; k++)
        WK_TRY(wk_stats_cvar(values, count, fractions[k], worst, &out[k].value, err));
    double *sorted = wk_sample_sorted(values, count);
    curve c = {.worst_first = sorted,
               .count = count,
               .drawn = malloc(count * sizeof *c.drawn),
               .found = malloc((n + 1) * (size_t)config->reps * sizeof *c.found)};
    wk_status status = WK_OK;
    if (sorted && c.drawn && c.found) {
        if (worst == WK_WORST_HIGH) reverse(sorted, count);
        estimate(&c, fractions, n, config, out);
    } else {
        status = wk_fail(err, WK_E_MEMORY, "no memory for %d resamples", config->reps);
    }
    free(sorted);
    free(c.drawn);
    free(c.found);
    return status;
}
