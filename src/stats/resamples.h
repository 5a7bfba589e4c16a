// A cache of a bootstrap's draws for comparisons that follow each other. Which runs resample number
// r takes depends on the seed and on how many runs each task has, not on the scores: matrices of
// one shape share their draws, so comparing k methods in pairs needs two sets of draws, not k² - k.
#ifndef WK_STATS_RESAMPLES_H
#define WK_STATS_RESAMPLES_H

#include "waker/stats.h"
#include <stdint.h>

/// The draws for the last shape. Zero-initialise.
typedef struct wk_draws {
    uint64_t seed;
    int reps;
    size_t tasks, *runs; // the shape: [tasks]
    uint16_t *index;     // [reps,cells]; NULL: none are cached
} wk_draws;

/// Those of the two sides of comparisons. Zero-initialise; free it after the last.
typedef struct wk_resamples {
    wk_draws x, y;
} wk_resamples;

void wk_resamples_free(wk_resamples *resamples);

/// wk_stats_improvement_bootstrap, to the same bits, with draws that are cached in `resamples`.
/// Draws that take too much memory are made anew each time.
wk_status wk_improvement_bootstrap_cached(const wk_scores *x, const wk_scores *y,
                                          const wk_bootstrap_config *config,
                                          wk_resamples *resamples, wk_estimate *out, wk_error *err);

#endif
