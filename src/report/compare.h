// Which method is better, over all tasks together: probabilities of improvement and aggregate
// scores with bootstrap intervals, and the findings in words.
#ifndef WK_REPORT_COMPARE_H
#define WK_REPORT_COMPARE_H

#include "report/results.h"
#include "waker/stats.h"

/// Runs that are compared with each other: one metric, one exploration, plain or combined domains.
typedef struct wk_comparison_group {
    const char *metric, *exploration;
    bool combined;
} wk_comparison_group;

/// Runs of each side that a claim needs: of fewer, all of one side can lie above all of the other
/// by chance in more than 5 % of cases (2 of 20 orders of 3 and 3, 2 of 70 of 4 and 4).
enum { WK_CLAIM_RUNS_MIN = 4 };

/// Whether X may be said to score higher: there are enough runs, and the interval lies above 0.5.
bool wk_improvement_is_claimed(const wk_estimate *estimate, size_t min_runs);

/// How likely X scores higher than Y.
typedef struct wk_improvement {
    wk_comparison_group group;
    const char *x, *y; // methods
    wk_estimate estimate;
    size_t tasks;    // those that both have results of
    size_t min_runs; // of a task, on either side
} wk_improvement;

/// One method's scores as a whole, each task's divided by the highest score any run has on it.
typedef struct wk_method_score {
    wk_comparison_group group;
    const char *method;
    wk_estimate iqm;
    size_t tasks, runs; // runs: the most of a task
} wk_method_score;

/// Group after group; in each the methods in the paper's order.
typedef struct wk_comparison {
    WK_ARRAY(wk_improvement) improvements;
    WK_ARRAY(wk_method_score) ranking;
} wk_comparison;

/// Compares every pair of methods. Tasks where the highest score is not positive are not scaled.
wk_status wk_comparison_make(wk_report_memory *memory, const wk_report_rows *scores,
                             const wk_bootstrap_config *config, wk_comparison *out, wk_error *err);

bool wk_comparison_group_same(const wk_comparison_group *a, const wk_comparison_group *b);
/// "CVaR 0.1, p2e", for headings.
const char *wk_comparison_group_title(wk_report_memory *memory, const wk_comparison_group *group);

/// The findings in words, from the comparisons alone: which method scores higher than which, and
/// where nothing can be claimed. A sentence or two for each group; none without scores.
void wk_comparison_findings(wk_report_memory *memory, const wk_comparison *comparison,
                            wk_sentences *out);

#endif
