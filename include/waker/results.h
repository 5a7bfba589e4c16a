// Results: what runs have measured, as plain numbers.
//
// wk_results_read gathers the scores of every evaluation below a directory, one row for each run,
// policy, step, task and case: filter them and give the numbers to waker/stats.h. wk_curve_read
// gives one metric of one run over its steps. Nothing is written and no code is loaded.
#ifndef WAKER_RESULTS_H
#define WAKER_RESULTS_H

#include "waker/error.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What one policy scored on one task in one case.
typedef struct wk_result {
    const char *run;                 // its directory
    const char *domain, *curriculum; // a part of a combined domain is "combined/clean-up"
    const char *exploration;         // as the paper writes it: "p2e", "random"
    uint64_t seed;                   // of the run
    const char *policy;              // "adapted", "alongside", "finetuned", "random"
    uint64_t step;                   // of its weights
    const char *task, *set;          // `set` is the case: "dr", "train", "steep", ...
    uint64_t episodes, eval_seed;    // of the evaluation: results of another sample have another
    double mean, worst_tenth; // of their completion, where the task has one, else their return
} wk_result;

/// All that was found, sorted by domain, exploration, curriculum, seed.
typedef struct wk_results {
    const wk_result *items;
    size_t count;
    const char *const *problems; // files and runs that were left out, and why
    size_t n_problems;
} wk_results;

/// Reads the run that `path` is, or the runs below it. None at all is an error.
wk_status wk_results_read(const char *path, wk_results **out, wk_error *err);
/// NULL is allowed.
void wk_results_free(wk_results *results);

/// One metric over the steps of a run.
typedef struct wk_curve {
    uint64_t *steps; // agent steps
    double *values;  // NaN where the number was not finite
    size_t count;
} wk_curve;

/// Reads a metric ("train/model_loss"; docs/logs.md lists them) of a run's metrics.jsonl, also
/// while the run continues. A name that no line has is WK_E_NOT_FOUND.
wk_status wk_curve_read(const char *run, const char *name, wk_curve *out, wk_error *err);
/// A zeroed one is fine.
void wk_curve_free(wk_curve *curve);

#ifdef __cplusplus
}
#endif
#endif
