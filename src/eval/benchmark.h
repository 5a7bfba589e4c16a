// A policy's scores in a frozen set of environments (eval/theta_set.h), in one file that says
// everything needed to compare it with others: program, set and weights by their hashes, θ, seeds
// and scores of every episode, CVaR over the fraction α with confidence bands. docs/evaluation.md
// has the format.
//
//   RUN/benchmark/SET-POLICY-%012u-TASK.json
#ifndef WK_EVAL_BENCHMARK_H
#define WK_EVAL_BENCHMARK_H

#include "eval/result.h"
#include "eval/theta_set.h"
#include "waker/stats.h"

enum { WK_BENCHMARK_ALPHAS = 20 };

/// 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, ... 0.9, 1.
extern const double wk_benchmark_alphas[WK_BENCHMARK_ALPHAS];

/// What the scores come from. Texts are borrowed.
typedef struct wk_benchmark_origin {
    const char *program; // "waker 0.1.0"
    const wk_theta_set *set;
    const int *options;  // of the domain, [n_options]
    const char *weights; // SHA-256 of the file; NULL: random actions
} wk_benchmark_origin;

/// Writes the file of each task under `run`, atomically; the same evaluation gives the same bytes.
wk_status wk_benchmark_write(const wk_benchmark_origin *origin, const wk_eval_result *result,
                             const char *run, wk_error *err);

/// The name of a task's file under the run.
void wk_benchmark_path(const wk_benchmark_origin *origin, const wk_eval_result *result, int task,
                       char out[WK_PATH_MAX]);

#endif
