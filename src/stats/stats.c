// Statistics of one list of numbers, or of two of the same length.
#include "base/memory.h"
#include "base/random.h"
#include "stats/sample.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Sum with the rounding errors of the additions carried along (Neumaier).
static double sum_of(const double *values, size_t count)
{
    double sum = 0, lost = 0;
    for (size_t i = 0; i < count; i++) {
        double next = sum + values[i];
        lost += fabs(sum) >= fabs(values[i]) ? (sum - next) + values[i] : (values[i] - next) + sum;
        sum = next;
    }
    return sum + lost;
}

// A resample has few values; below this many, insertion beats a call per comparison.
enum { FEW = 64 };

void wk_sample_sort(double *values, size_t count)
{
    if (count > FEW) {
        qsort(values, count, sizeof *values, wk_compare_doubles);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

static double *sorted_copy(const double *values, size_t count)
{
    double *copy = malloc(count * sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, values, count * sizeof *copy);
    wk_sample_sort(copy, count);
    return copy;
}

// numpy.percentile (linear) of sorted values; `share` is 0 to 1.
static double percentile_of(const double *sorted, size_t count, double share)
{
    assert(count > 0 && share >= 0 && share <= 1);
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count) return sorted[count - 1];
    // From the nearer neighbour, as NumPy does it, so that both ends are met exactly.
    double part = place - (double)below, step = sorted[below + 1] - sorted[below];
    return part < 0.5 ? sorted[below] + step * part : sorted[below + 1] - step * (1 - part);
}

void wk_sample_interval(double *resampled, size_t count, double size, wk_estimate *out)
{
    wk_sample_sort(resampled, count);
    out->low = percentile_of(resampled, count, (1 - size) / 2);
    out->high = percentile_of(resampled, count, 1 - (1 - size) / 2);
}
double wk_stats_mean(const double *values, size_t count)
{
    return count ? sum_of(values, count) / (double)count : NAN;
}

double wk_stats_sd(const double *values, size_t count)
{
    double mean = wk_stats_mean(values, count), sum = 0, rest = 0;
    for (size_t i = 0; i < count; i++) {
        double off = values[i] - mean;
        sum += off * off;
        rest += off;
    }
    // `rest` would be zero but for the rounding of the mean.
    double variance = (sum - rest * rest / (double)count) / (double)count;
    return sqrt(variance > 0 || isnan(variance) ? variance : 0);
}

static wk_status check_list(const char *what, const double *values, size_t count, size_t min,
                            wk_error *err)
{
    if (count < min)
        return wk_fail(err, WK_E_INPUT, "%s needs at least %zu value%s, not %zu", what, min,
                       min == 1 ? "" : "s", count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return wk_fail(err, WK_E_INPUT, "%s: value %zu of %zu is not a finite number", what,
                           i + 1, count);
    return WK_OK;
}

static wk_status no_memory(size_t count, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory to sort %zu values", count);
}

wk_status wk_stats_percentile(const double *values, size_t count, double percent, double *out,
                              wk_error *err)
{
    WK_TRY(check_list("a percentile", values, count, 1, err));
    if (!(percent >= 0 && percent <= 100))
        return wk_fail(err, WK_E_INPUT, "a percentile lies in 0 to 100; %g does not", percent);
    double *sorted = sorted_copy(values, count);
    if (!sorted) return no_memory(count, err);
    *out = percentile_of(sorted, count, percent / 100);
    free(sorted);
    return WK_OK;
}

size_t wk_stats_tail(size_t count, double fraction)
{
    if (count == 0 || !(fraction > 0 && fraction <= 1)) return 0;
    // A product that is whole on paper may come out a little larger: 100 * 0.07 is 7 values.
    double exact = fraction * (double)count, whole = nearbyint(exact);
    double tail = fabs(exact - whole) <= 1e-9 * exact ? whole : ceil(exact);
    return tail < 1 ? 1 : (size_t)tail;
}

wk_status wk_stats_cvar(const double *values, size_t count, double fraction, wk_worst worst,
                        double *out, wk_error *err)
{
    WK_TRY(check_list("CVaR", values, count, 1, err));
    if (!(fraction > 0 && fraction <= 1))
        return wk_fail(err, WK_E_INPUT, "CVaR's fraction is above 0 and at most 1; %g is not",
                       fraction);
    double *sorted = sorted_copy(values, count);
    if (!sorted) return no_memory(count, err);
    size_t tail = wk_stats_tail(count, fraction);
    *out = wk_stats_mean(worst == WK_WORST_LOW ? sorted : sorted + count - tail, tail);
    free(sorted);
    return WK_OK;
}

typedef struct place {
    double value;
    size_t index;
} place;

static int by_value(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

// Ranks from 1, equal values sharing their mean rank.
static void rank_values(const double *values, size_t count, place *places, double *ranks)
{
    for (size_t i = 0; i < count; i++)
        places[i] = (place){values[i], i};
    qsort(places, count, sizeof *places, by_value);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && places[end].value == places[first].value;)
            end++;
        for (size_t i = first; i < end; i++)
            ranks[places[i].index] = 0.5 * (double)(first + 1 + end);
    }
}

// Pearson's correlation of two lists of ranks, whose means are both (count + 1) / 2.
static double correlate_ranks(const double *x, const double *y, size_t count)
{
    double mean = 0.5 * (double)(count + 1), xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
        xy += (x[i] - mean) * (y[i] - mean);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx) / sqrt(yy) : NAN;
}

wk_status wk_stats_rank_correlation(const double *x, const double *y, size_t count, double *out,
                                    wk_error *err)
{
    WK_TRY(check_list("a rank correlation", x, count, 2, err));
    WK_TRY(check_list("a rank correlation", y, count, 2, err));
    place *places = malloc(count * sizeof *places);
    double *ranks = malloc(2 * count * sizeof *ranks);
    bool all = places && ranks;
    if (all) {
        rank_values(x, count, places, ranks);
        rank_values(y, count, places, ranks + count);
        *out = correlate_ranks(ranks, ranks + count, count);
    }
    free(places);
    free(ranks);
    return all ? WK_OK : no_memory(count, err);
}

/* ---- CVaR over fractions, with the interval of resampled values ------------------------------ */

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

static void estimate_curve(curve *c, const double *fractions, size_t n,
                           const wk_bootstrap_config *config, wk_estimate *out)
{
    size_t reps = (size_t)config->reps;
    for (int r = 0; r < config->reps; r++) {
        wk_rng rng = wk_rng_stream(config->seed, "cvar bootstrap", (uint64_t)r);
        memset(c->drawn, 0, c->count * sizeof *c->drawn);
        for (size_t i = 0; i < c->count; i++)
            c->drawn[wk_rng_below(&rng, (uint32_t)c->count)]++;
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
    double *sorted = sorted_copy(values, count);
    curve c = {.worst_first = sorted,
               .count = count,
               .drawn = malloc(count * sizeof *c.drawn),
               .found = malloc((n + 1) * (size_t)config->reps * sizeof *c.found)};
    wk_status status = WK_OK;
    if (sorted && c.drawn && c.found) {
        if (worst == WK_WORST_HIGH) reverse(sorted, count);
        estimate_curve(&c, fractions, n, config, out);
    } else {
        status = wk_fail(err, WK_E_MEMORY, "no memory for %d resamples", config->reps);
    }
    free(sorted);
    free(c.drawn);
    free(c.found);
    return status;
}
