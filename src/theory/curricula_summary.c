// What a comparison says: curves over seeds, and how much of the oracle's gain each curriculum has.
#include "base/rng.h"
#include "theory/curricula.h"
#include "waker/stats.h"

#include <math.h>
#include <stdlib.h>

enum { RESAMPLES = 2000 };

const char *wk_curricula_measure_name(wk_curricula_measure measure)
{
    static const char *const names[WK_MEASURES] = {"max_regret", "mean_regret", "max_bound"};
    return names[measure];
}

const wk_curricula_point *wk_curricula_at(const wk_curricula *c, int curriculum, int seed,
                                          int point)
{
    return c->points + (curriculum * c->config.seeds + seed) * WK_CURRICULA_POINTS + point;
}

static double value_at(const wk_curricula *c, int curriculum, wk_curricula_measure measure,
                       int seed, int point)
{
    const wk_curricula_point *p = wk_curricula_at(c, curriculum, seed, point);
    const double values[WK_MEASURES] = {p->max_regret, p->mean_regret, p->max_bound};
    return values[measure];
}

void wk_curricula_curve(const wk_curricula *c, int curriculum, wk_curricula_measure measure,
                        int point, double *mean, double *sd)
{
    double sum = 0, squares = 0, seeds = c->config.seeds;
    for (int s = 0; s < c->config.seeds; s++)
        sum += value_at(c, curriculum, measure, s, point);
    *mean = sum / seeds;
    for (int s = 0; s < c->config.seeds; s++)
        squares += pow(value_at(c, curriculum, measure, s, point) - *mean, 2);
    *sd = sqrt(squares / seeds);
}

// Mean over the points of a seed's run: since they lie evenly on a logarithmic axis, every doubling
// of the data counts the same.
static double mean_of_run(const wk_curricula *c, int curriculum, wk_curricula_measure measure,
                          int seed)
{
    double sum = 0;
    for (int i = 0; i < WK_CURRICULA_POINTS; i++)
        sum += value_at(c, curriculum, measure, seed, i);
    return sum / WK_CURRICULA_POINTS;
}

// (DR - this) / (DR - oracle) over the chosen seeds; the same ones for all three. NaN where the
// oracle is not better.
static double share_of_gain(const double *runs, const int *chosen, int seeds, int curriculum)
{
    double own = 0, oracle = 0;
    for (int i = 0; i < seeds; i++) {
        double dr = runs[WK_COMPARE_DR * seeds + chosen[i]];
        own += dr - runs[curriculum * seeds + chosen[i]];
        oracle += dr - runs[WK_COMPARE_ORACLE * seeds + chosen[i]];
    }
    return oracle > 0 ? own / oracle : NAN;
}

static wk_status bootstrap(const wk_curricula *c, const double *runs, int *chosen, double *shares,
                           int curriculum, wk_curricula_summary *out, wk_error *err)
{
    int seeds = c->config.seeds;
    size_t gains = 0;
    for (uint64_t r = 0; r < RESAMPLES; r++) {
        wk_rng rng = wk_rng_stream(c->config.seed, "theory-bootstrap", r);
        for (int i = 0; i < seeds; i++)
            chosen[i] = (int)wk_rng_below(&rng, (uint64_t)seeds);
        double share = share_of_gain(runs, chosen, seeds, curriculum);
        if (!isnan(share)) shares[gains++] = share;
    }
    out->share = out->share_low = out->share_high = NAN;
    if ((double)gains < 0.975 * RESAMPLES) return WK_OK;
    for (int i = 0; i < seeds; i++)
        chosen[i] = i;
    out->share = share_of_gain(runs, chosen, seeds, curriculum);
    WK_TRY(wk_stats_percentile(shares, gains, 2.5, &out->share_low, err));
    return wk_stats_percentile(shares, gains, 97.5, &out->share_high, err);
}

wk_status wk_curricula_summarise(const wk_curricula *c, wk_curricula_measure measure,
                                 wk_curricula_summary out[WK_COMPARED], wk_error *err)
{
    int seeds = c->config.seeds;
    double *runs = malloc((size_t)(WK_COMPARED * seeds) * sizeof *runs);
    double *shares = malloc(RESAMPLES * sizeof *shares);
    int *chosen = malloc((size_t)seeds * sizeof *chosen);
    wk_status status = runs && shares && chosen
                           ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory to compare curricula");
    for (int k = 0; k < WK_COMPARED && status == WK_OK; k++)
        for (int s = 0; s < seeds; s++)
            runs[k * seeds + s] = mean_of_run(c, k, measure, s);
    for (int k = 0; k < WK_COMPARED && status == WK_OK; k++) {
        double sd;
        wk_curricula_curve(c, k, measure, WK_CURRICULA_POINTS - 1, &out[k].end, &sd);
        out[k].run = wk_stats_mean(runs + k * seeds, (size_t)seeds);
        status = bootstrap(c, runs, chosen, shares, k, &out[k], err);
    }
    free(runs);
    free(shares);
    free(chosen);
    return status;
}
