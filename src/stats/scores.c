// Matrices of scores: their checks, aggregates, and the comparison of two.
#include "stats/sample.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    wk_sample_sort(scratch, cells);
    return wk_stats_mean(scratch + cut, cells - 2 * cut);
}

static double median(double *values, size_t count)
{
    wk_sample_sort(values, count);
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

// gamma - mean(min(cell, gamma)).
static double gap_of(const double *columns, size_t cells, double gamma)
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
        return gap_of(columns, cells, 1);
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

// "task 'walk'", or "task number 3" while it has no name.
typedef struct label {
    char text[96];
} label;

static label task_label(const wk_scores *scores, size_t task)
{
    label out;
    if (scores->task_names && scores->task_names[task])
        snprintf(out.text, sizeof out.text, "task '%.80s'", scores->task_names[task]);
    else
        snprintf(out.text, sizeof out.text, "task number %zu", task + 1);
    return out;
}

static const char *name_of(const wk_scores *scores)
{
    return scores->name ? scores->name : "scores";
}

static wk_status check_task(const wk_scores *scores, size_t task, wk_error *err)
{
    size_t runs = wk_scores_runs(scores, task);
    if (runs == 0 || runs > scores->runs)
        return wk_fail(err, WK_E_INPUT, "%s: %s has %zu runs; a task needs 1 to %zu",
                       name_of(scores), task_label(scores, task).text, runs, scores->runs);
    for (size_t n = 0; n < runs; n++) {
        double value = scores->values[n * scores->tasks + task];
        if (isnan(value))
            return wk_fail(err, WK_E_INPUT,
                           "%s: the score of run %zu on %s is missing; leave the task or the run "
                           "out, or give the number of runs of each task",
                           name_of(scores), n + 1, task_label(scores, task).text);
        if (isinf(value))
            return wk_fail(err, WK_E_INPUT, "%s: the score of run %zu on %s is infinite",
                           name_of(scores), n + 1, task_label(scores, task).text);
    }
    return WK_OK;
}

wk_status wk_scores_check(const wk_scores *scores, wk_error *err)
{
    if (scores->runs == 0 || scores->tasks == 0)
        return wk_fail(err, WK_E_INPUT,
                       "%s: a matrix of %zu runs by %zu tasks is empty; rows are runs, columns are "
                       "tasks",
                       name_of(scores), scores->runs, scores->tasks);
    for (size_t m = 0; m < scores->tasks; m++)
        WK_TRY(check_task(scores, m, err));
    return WK_OK;
}

// Whether both have the same tasks; the error names the first that differs.
static wk_status match(const wk_scores *x, const wk_scores *y, wk_error *err)
{
    if (x->tasks != y->tasks)
        return wk_fail(err, WK_E_INPUT,
                       "%s has %zu runs by %zu tasks and %s has %zu by %zu: the tasks must be the "
                       "same%s",
                       name_of(x), x->runs, x->tasks, name_of(y), y->runs, y->tasks,
                       x->runs == y->runs ? "; are the axes swapped? Rows are runs" : "");
    if (!x->task_names || !y->task_names) return WK_OK;
    for (size_t m = 0; m < x->tasks; m++)
        if (strcmp(x->task_names[m], y->task_names[m]) != 0)
            return wk_fail(err, WK_E_INPUT, "column %zu is %s for %s and %s for %s", m + 1,
                           task_label(x, m).text, name_of(x), task_label(y, m).text, name_of(y));
    return WK_OK;
}

const char *wk_aggregate_name(wk_aggregate aggregate)
{
    static const char *const names[WK_AGGREGATES] = {"mean", "median", "iqm", "optimality gap"};
    return names[aggregate];
}

// The cells in columns and as much scratch after them.
static wk_status take_columns(const wk_scores *scores, double **out, wk_error *err)
{
    WK_TRY(wk_scores_check(scores, err));
    size_t cells = wk_scores_cells(scores);
    *out = malloc(2 * cells * sizeof **out);
    if (!*out) return wk_fail(err, WK_E_MEMORY, "no memory for %zu scores", cells);
    wk_scores_columns(scores, NULL, *out);
    return WK_OK;
}

wk_status wk_stats_aggregate(const wk_scores *scores, wk_aggregate aggregate, double *out,
                             wk_error *err)
{
    double *columns;
    if ((unsigned)aggregate >= WK_AGGREGATES)
        return wk_fail(err, WK_E_INPUT, "there is no aggregate %d; give one of wk_aggregate",
                       (int)aggregate);
    WK_TRY(take_columns(scores, &columns, err));
    *out = wk_aggregate_columns(aggregate, scores, columns, columns + wk_scores_cells(scores));
    free(columns);
    return WK_OK;
}

wk_status wk_stats_optimality_gap(const wk_scores *scores, double gamma, double *out, wk_error *err)
{
    if (!isfinite(gamma)) return wk_fail(err, WK_E_INPUT, "the wanted score is not finite");
    double *columns;
    WK_TRY(take_columns(scores, &columns, err));
    *out = gap_of(columns, wk_scores_cells(scores), gamma);
    free(columns);
    return WK_OK;
}

wk_status wk_stats_improvement(const wk_scores *x, const wk_scores *y, double *out, wk_error *err)
{
    double *x_columns, *y_columns;
    WK_TRY(match(x, y, err));
    WK_TRY(take_columns(x, &x_columns, err));
    wk_status status = take_columns(y, &y_columns, err);
    if (status == WK_OK) {
        *out = wk_improvement_columns(x, x_columns, y, y_columns);
        free(y_columns);
    }
    free(x_columns);
    return status;
}
