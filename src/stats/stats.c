// Statistics of one list of numbers, or of two of the same length.
#include "stats/sample.h"

#include <math.h>
#include <stdlib.h>

double wk_stats_mean(const double *values, size_t count)
{
    return count ? wk_sample_sum(values, count) / (double)count : NAN;
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
    return wk_sample_check(what, values, count, err);
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
    double *sorted = wk_sample_sorted(values, count);
    if (!sorted) return no_memory(count, err);
    *out = wk_sample_percentile(sorted, count, percent / 100);
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
    double *sorted = wk_sample_sorted(values, count);
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
