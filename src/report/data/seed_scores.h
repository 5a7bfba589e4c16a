// Every score of every run as one flat, sorted list, each with its key. Tables, comparisons and
// curves are made by iterating over it.
#ifndef WK_REPORT_DATA_SEED_SCORES_H
#define WK_REPORT_DATA_SEED_SCORES_H

#include "report/data/paper.h"
#include "report/data/runs.h"

/// Metric of the mean over all tasks in an out-of-distribution case; its task is "all". It stands
/// in its table only: comparisons and curves have the tasks themselves.
#define WK_METRIC_OOD_TASKS "ood-tasks"

/// One number of one run.
typedef struct wk_seed_score {
    wk_result_key key;
    uint64_t seed, step;
    const wk_report_run *run;
    const char *policy;
    uint64_t episodes, eval_seed; // the sample that it is of
    double promised, discounted;  // as in wk_run_score
    double value;
    bool final; // used in tables: the run's last step
    bool curve; // used in learning curves
} wk_seed_score;

/// Which results count.
typedef struct wk_seed_scores_config {
    const char *policy; // NULL: adapted if the run has them, else alongside
    int64_t step;       // of the tables; -1: the last one of each run
} wk_seed_scores_config;

/// Sorted by key in the paper's order, then seed, then run, then step. A row of a table, and a
/// figure of curves, is made of one sample: so many episodes drawn by one seed. Tables use the
/// largest, curves the one that has most points; `remarks` says what is left out.
typedef struct wk_seed_scores {
    const wk_paper *paper;
    WK_ARRAY(wk_seed_score) items;
    wk_sentences remarks;
} wk_seed_scores;

/// Gathers them; runs and paper must outlive it. Zero-initialise and free it also on failure.
wk_status wk_seed_scores_collect(const wk_runs *runs, const wk_paper *paper,
                                 const wk_seed_scores_config *config, wk_seed_scores *out,
                                 wk_error *err);
void wk_seed_scores_free(wk_seed_scores *scores);

/// End of the range from `first` on in which the first `fields` fields are equal.
size_t wk_seed_scores_range_end(const wk_seed_scores *scores, size_t first, int fields);

/// Whether the score comes from a part of a combined domain.
bool wk_seed_score_is_combined(const wk_seed_score *found);

/// The policy whose results count for a run, or NULL if it has none.
const char *wk_run_policy(const wk_report_run *run, const wk_seed_scores_config *config);

/// What a complete report would have and these runs do not: runs of the grid that are not there,
/// runs without results, results that only other runs have, evaluations that stopped earlier. The
/// methods and seeds of a domain and exploration are those that any of its runs has.
/// Zero-initialise and free it also on failure.
wk_status wk_missing_find(const wk_runs *runs, const wk_seed_scores_config *config,
                          wk_sentences *out, wk_error *err);

#endif
