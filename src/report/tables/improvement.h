// Which curriculum is better, over all tasks together: probabilities of improvement and aggregate
// scores with bootstrap intervals.
#ifndef WK_REPORT_TABLES_IMPROVEMENT_H
#define WK_REPORT_TABLES_IMPROVEMENT_H

#include "report/data/seed_scores.h"
#include "report/tables/text_table.h"
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
    const char *x, *y; // curricula
    wk_estimate estimate;
    size_t tasks;    // those that both have results of
    size_t min_runs; // of a task, on either side
} wk_improvement;

/// One curriculum's scores as a whole, each task's divided by the highest score any run has on it.
typedef struct wk_curriculum_score {
    wk_comparison_group group;
    const char *curriculum;
    wk_estimate iqm;
    size_t tasks, runs; // runs: the most of a task
} wk_curriculum_score;

typedef struct wk_comparison {
    WK_ARRAY(wk_improvement) improvements;
    WK_ARRAY(wk_curriculum_score) ranking;
} wk_comparison;

/// Compares every pair of curricula, the paper's order first. Tasks where the highest score is not
/// positive are not scaled. Zero-initialise and free it also on failure.
wk_status wk_comparison_make(const wk_seed_scores *scores, const wk_bootstrap_config *config,
                             wk_comparison *out, wk_error *err);
void wk_comparison_free(wk_comparison *comparison);

/// "CVaR 0.1, p2e", for headings.
void wk_comparison_group_title(const wk_comparison_group *group, wk_text *out);
bool wk_comparison_group_same(const wk_comparison_group *a, const wk_comparison_group *b);

void wk_improvement_table(const wk_comparison *comparison, wk_text_table *out);
void wk_ranking_table(const wk_comparison *comparison, wk_text_table *out);
void wk_improvement_csv(const wk_comparison *comparison, wk_text *out);
void wk_ranking_csv(const wk_comparison *comparison, wk_text *out);

#endif
