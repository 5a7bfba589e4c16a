// Results: what runs have measured, as plain numbers.
//
// wk_results_read gathers the scores of every evaluation below a directory, one row for each run,
// policy, step, task and case, and what else was measured: filter the rows and give the numbers to
// waker/stats.h. wk_curve_read gives one metric of one run over its steps. Nothing is written and
// no code is loaded.
#ifndef WAKER_RESULTS_H
#define WAKER_RESULTS_H

#include "waker/error.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a row is about.
typedef enum wk_result_kind {
    WK_RESULT_SCORE,       // a policy on a task in a case ('waker eval')
    WK_RESULT_MODEL_ERROR, // the world model under a policy ('waker model-error')
    WK_RESULT_BENCHMARK,   // a policy in one part of a frozen set ('waker eval --set')
} wk_result_kind;

/// The curves of a row, by its kind.
enum {
    WK_CURVE_IMAGE_ERRORS = 0,  // of scores: errors of the imagined images and rewards, a point
    WK_CURVE_REWARD_ERRORS = 1, // for each agent step that the world model is ahead
    WK_CURVE_ENV_ESTIMATES = 0, // of model errors: the ensemble's estimate and the error of each
    WK_CURVE_ENV_ERRORS = 1,    // environment
    WK_CURVE_FRACTION = 0,      // of benchmarks: CVaR over the worst fraction of the environments,
    WK_CURVE_CVAR = 1,          // with the ends of its confidence band
    WK_CURVE_CVAR_LOW = 2,
    WK_CURVE_CVAR_HIGH = 3,
    WK_RESULT_CURVES = 4
};

/// What was measured of one run. Numbers that are not known are NaN.
typedef struct wk_result {
    const char *run;                 // its directory
    const char *domain, *curriculum; // a part of a combined domain is "combined/clean-up"
    const char *exploration;         // as the paper writes it: "p2e", "random"
    uint64_t seed;                   // of the run
    const char *policy;              // "adapted", "alongside", "finetuned", "random"
    uint64_t step;                   // of its weights
    const char *task, *set;          // `set` is the case: "dr", "train", "steep", ...
    uint64_t episodes, eval_seed;    // of the evaluation: results of another sample have another
    double mean, worst_tenth; // of their completion, where the task has one, else their return; or
                              // of the model's errors
    wk_result_kind kind;
    const char *score; // what `mean` is of: "completion", "return", "error"
    const char *part;  // of a benchmark: "in" or "out" of the training distribution, else NULL
    double promised_value, discounted_return; // at the start of the episodes, and what followed
    double estimate, correlation;             // of model errors: mean estimate, and by rank
    uint64_t environments, trajectories;      // that model errors were measured in, and in each
    uint64_t steps_max;                       // of such a trajectory; 0: whole episodes
    size_t points;
    const double *curves[WK_RESULT_CURVES]; // [points]; NULL: the row has none
} wk_result;

/// All that was found, sorted by domain, exploration, curriculum, seed.
typedef struct wk_results {
    const wk_result *items; // scores
    size_t count;
    const char *const *problems; // files and runs that were left out, and why
    size_t n_problems;
    const wk_result *others; // model errors and benchmarks
    size_t n_others;
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

/// Reads a metric ("train/model_loss"; docs/training.md lists them) of a run's metrics.jsonl, also
/// while the run continues. A name that no line has is WK_E_NOT_FOUND.
wk_status wk_curve_read(const char *run, const char *name, wk_curve *out, wk_error *err);
/// A zeroed one is fine.
void wk_curve_free(wk_curve *curve);

#ifdef __cplusplus
}
#endif
#endif
