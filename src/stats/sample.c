#include "stats/sample.h"

#include "base/array.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double wk_sample_sum(const double *values, size_t count)
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

static void sort(double *values, size_t count)
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

wk_status wk_sample_check(const char *what, const double *values, size_t count, wk_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return wk_fail(err, WK_E_INPUT, "%s: value %zu of %zu is not a finite number", what,
                           i + 1, count);
    return WK_OK;
}

double *wk_sample_sorted(const double *values, size_t count)
{
    double *copy = malloc(count * sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, values, count * sizeof *copy);
    sort(copy, count);
    return copy;
}

double wk_sample_percentile(const double *sorted, size_t count, double share)
{
    assert(count > 0 && share >= 0 && share <= 1);
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count) return sorted[count - 1];
    // From the nearer neighbour, as NumPy does it, so that both ends are met exactly.
    double part = place - (double)below, step = sorted[below + 1] - sorted[below];
    return part < 0.5 ? sorted[below] + step * part : sorted[below + 1] - step * (1 - part);
}

size_t wk_scores_runs(const wk_scores *scores, size_t task)
{
    return scores->runs_of ? scores->runs_of[task] : scores->runs;
}

size_t wk_scores_cells(const wk_scores *scores)
{
    size_t cells = 0;
    for (size_t m = 0; m < scores->tasks; m++)
        cells += wk_scores_runs(scores, m);
    return cells;
}

void wk_scores_columns(const wk_scores *scores, const size_t *index, double *out)
{
    for (size_t m = 0, at = 0; m < scores->tasks; m++)
        for (size_t n = 0; n < wk_scores_runs(scores, m); n++, at++)
            out[at] = scores->values[(index ? index[at] : n) * scores->tasks + m];
}

// Means over the runs of each task: [tasks].
static void task_means(const wk_scores *shape, const double *columns, double *out)
{
    for (size_t m = 0; m < shape->tasks; m++) {
        size_t runs = wk_scores_runs(shape, m);
        out[m] = wk_stats_mean(columns, runs);
        columns += runs;
    }
}

static double interquartile_mean(const double *columns, size_t cells, double *scratch)
{
    size_t cut = cells / 4;
    memcpy(scratch, columns, cells * sizeof *scratch);
    sort(scratch, cells);
    return wk_stats_mean(scratch + cut, cells - 2 * cut);
}

static double median(double *values, size_t count)
{
    sort(values, count);
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

double wk_gap_columns(const double *columns, size_t cells, double gamma)
{
    double sum = 0;
    for (size_t i = 0; i < cells; i++)
        sum += columns[i] < gamma ? columns[i] : gamma;
    return gamma - sum / (double)cells;
}

double wk_aggregate_columns(wk_aggregate aggregate, const wk_scores *shape, const double *columns,
                            double *scratch)
{
    size_t cells = wk_scores_cells(shape);
    switch (aggregate) {
    case WK_AGGREGATE_IQM:
        return interquartile_mean(columns, cells, scratch);
    case WK_AGGREGATE_GAP:
        return wk_gap_columns(columns, cells, 1);
    case WK_AGGREGATE_MEAN:
        task_means(shape, columns, scratch);
        return wk_stats_mean(scratch, shape->tasks);
    case WK_AGGREGATE_MEDIAN:
        task_means(shape, columns, scratch);
        break;
    case WK_AGGREGATES:
        assert(!"an aggregate");
    }
    return median(scratch, shape->tasks);
}

// The Mann-Whitney statistic of x, doubled: twice the pairs where x is higher, once those where it
// is the same. Columns that are equal as a whole come out at exactly one half of all pairs, which
// rliable has as a case of its own.
static size_t doubled_wins(const double *x, size_t n_x, const double *y, size_t n_y)
{
    size_t wins = 0;
    for (size_t i = 0; i < n_x; i++)
        for (size_t j = 0; j < n_y; j++)
            wins += (size_t)(x[i] > y[j]) + (size_t)(x[i] >= y[j]);
    return wins;
}

double wk_improvement_columns(const wk_scores *x, const double *x_columns, const wk_scores *y,
                              const double *y_columns)
{
    double sum = 0;
    for (size_t m = 0; m < x->tasks; m++) {
        size_t n_x = wk_scores_runs(x, m), n_y = wk_scores_runs(y, m);
        size_t wins = doubled_wins(x_columns, n_x, y_columns, n_y);
        sum += (double)wins / (2.0 * (double)n_x * (double)n_y);
        x_columns += n_x;
        y_columns += n_y;
    }
    return sum / (double)x->tasks;
}

void wk_sample_interval(double *resampled, size_t count, double size, wk_estimate *out)
{
    sort(resampled, count);
    out->low = wk_sample_percentile(resampled, count, (1 - size) / 2);
    out->high = wk_sample_percentile(resampled, count, 1 - (1 - size) / 2);
}
