// Statistics of scores: how good an algorithm is in the worst cases, on the whole, and compared
// with another one. Definitions are those of the paper (CVaR), of NumPy (percentile, standard
// deviation), SciPy (trimmed mean, rank correlation) and rliable (aggregates, probability of
// improvement, stratified bootstrap). docs/evaluation.md has the formulas.
//
// Every function is pure: the same numbers give the same result, and the bootstrap's draws depend
// on its seed alone. Numbers that are not finite are refused, never skipped.
#ifndef WAKER_STATS_H
#define WAKER_STATS_H

#include "waker/error.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Arithmetic mean; NaN of nothing.
double wk_stats_mean(const double *values, size_t count);

/// Population standard deviation (divides by `count`, as numpy.std does); NaN of nothing.
double wk_stats_sd(const double *values, size_t count);

/// The value below which `percent` (0 to 100) of the sorted values lie, interpolated linearly
/// between neighbours (numpy.percentile's default).
wk_status wk_stats_percentile(const double *values, size_t count, double percent, double *out,
                              wk_error *err);

/// Which end of the values is the bad one: low scores, or high errors.
typedef enum wk_worst { WK_WORST_LOW, WK_WORST_HIGH } wk_worst;

/// How many of `count` values the worst `fraction` (0 < fraction <= 1) is: fraction * count rounded
/// up, so at least one; 10 of 100 for 0.1, 3 of 24 for 0.1. 0 if `count` is 0 or the fraction is
/// none.
size_t wk_stats_tail(size_t count, double fraction);

/// Conditional value at risk: the mean of the worst `fraction` of the values (wk_stats_tail).
wk_status wk_stats_cvar(const double *values, size_t count, double fraction, wk_worst worst,
                        double *out, wk_error *err);

/// Spearman's rank correlation; equal values share their mean rank. NaN when one of the two is
/// constant, as there is no order to compare then. Needs two pairs or more.
wk_status wk_stats_rank_correlation(const double *x, const double *y, size_t count, double *out,
                                    wk_error *err);

/// Scores of one algorithm: a matrix of runs (seeds) by tasks. Plain data, all borrowed.
typedef struct wk_scores {
    const double *values; // [runs,tasks]: the score of run n on task m is values[n * tasks + m]
    size_t runs, tasks;
    const size_t *runs_of; // [tasks]: task m has runs 0 ... runs_of[m]-1 only, later rows are not
                           // read; NULL: every task has all runs
    const char *name;      // of the algorithm, for messages; NULL allowed
    const char *const *task_names; // [tasks], for messages and for the check that two matrices
                                   // have the same columns; NULL allowed
} wk_scores;

/// Refuses a matrix without runs or tasks, a task without runs, and cells that are missing (NaN) or
/// infinite, naming run and task. All functions below check this themselves.
wk_status wk_scores_check(const wk_scores *scores, wk_error *err);

/// One number for a whole matrix.
typedef enum wk_aggregate {
    WK_AGGREGATE_MEAN,   // mean over tasks of the mean over runs
    WK_AGGREGATE_MEDIAN, // median over tasks of the mean over runs
    WK_AGGREGATE_IQM,    // interquartile mean: all runs and tasks together, sorted, without the
                         // lowest and the highest quarter (each int(n / 4) values)
    WK_AGGREGATE_GAP,    // optimality gap: 1 - mean(min(score, 1)), of all runs and tasks
    WK_AGGREGATES
} wk_aggregate;

/// "mean", "median", "iqm", "optimality gap".
const char *wk_aggregate_name(wk_aggregate aggregate);

wk_status wk_stats_aggregate(const wk_scores *scores, wk_aggregate aggregate, double *out,
                             wk_error *err);

/// The optimality gap below any wanted score: gamma - mean(min(score, gamma)).
wk_status wk_stats_optimality_gap(const wk_scores *scores, double gamma, double *out,
                                  wk_error *err);

/// How intervals are found.
typedef struct wk_bootstrap_config {
    int reps;    // resamples, at least 2
    double size; // share of them inside the interval, 0 < size < 1
    uint64_t seed;
} wk_bootstrap_config;

/// 50000 resamples (rliable's number), 0.95, seed 0.
wk_bootstrap_config wk_bootstrap_config_default(void);

/// A number with the interval that resampled runs put it in.
typedef struct wk_estimate {
    double value, low, high;
} wk_estimate;

/// An aggregate with its stratified percentile bootstrap interval: every resample draws, for each
/// task on its own, as many of its runs as it has, with replacement.
wk_status wk_stats_bootstrap(const wk_scores *scores, wk_aggregate aggregate,
                             const wk_bootstrap_config *config, wk_estimate *out, wk_error *err);

/// CVaR (wk_stats_cvar) at each of `n` fractions with its percentile bootstrap interval: every
/// resample draws as many of the values as there are, with replacement, and serves all fractions.
/// out: [n]
wk_status wk_stats_cvar_curve(const double *values, size_t count, const double *fractions, size_t n,
                              wk_worst worst, const wk_bootstrap_config *config, wk_estimate *out,
                              wk_error *err);

/// Probability that a run of X scores higher than a run of Y, averaged over tasks; ties count half.
/// The numbers of runs may differ, the tasks must be the same.
wk_status wk_stats_improvement(const wk_scores *x, const wk_scores *y, double *out, wk_error *err);

/// As wk_stats_improvement, with its interval; X and Y are resampled independently of each other.
wk_status wk_stats_improvement_bootstrap(const wk_scores *x, const wk_scores *y,
                                         const wk_bootstrap_config *config, wk_estimate *out,
                                         wk_error *err);

#ifdef __cplusplus
}
#endif
#endif
