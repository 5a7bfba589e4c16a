// The arithmetic behind the public statistics, on plain arrays that were checked before: nothing
// here can fail. The bootstrap calls it for every resample, tests with draws of their own.
#ifndef WK_STATS_SAMPLE_H
#define WK_STATS_SAMPLE_H

#include "waker/stats.h"
#include <stdbool.h>

/// Sorts the values, rising.
void wk_sample_sort(double *values, size_t count);

/// Number of runs of a task.
size_t wk_scores_runs(const wk_scores *scores, size_t task);

/// Number of cells, all tasks together.
size_t wk_scores_cells(const wk_scores *scores);

/// The cells task by task, each task's runs in a row; with `index` (in the same order, numbers of
/// runs) the resample that it stands for. out: [cells]
void wk_scores_columns(const wk_scores *scores, const size_t *index, double *out);

/// The aggregate of cells in that order; `scratch` has room for as many numbers.
double wk_aggregate_columns(wk_aggregate aggregate, const wk_scores *shape, const double *columns,
                            double *scratch);

/// Probability of improvement of two sets of cells; x and y give the shapes.
double wk_improvement_columns(const wk_scores *x, const double *x_columns, const wk_scores *y,
                              const double *y_columns);

/// Whether a bootstrap can be made with these settings.
wk_status wk_bootstrap_check(const wk_bootstrap_config *config, wk_error *err);

/// Sets the interval that holds the middle `size` of the resampled values, which get sorted.
void wk_sample_interval(double *resampled, size_t count, double size, wk_estimate *out);

#endif
