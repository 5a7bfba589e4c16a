// The numbers of all runs as flat, sorted rows, each with its key: tables, comparisons and figures
// are made by iterating over ranges of equal keys. A row of a table, and a figure of curves, is
// made of one sample: so many episodes drawn by one seed.
#ifndef WK_REPORT_RESULTS_H
#define WK_REPORT_RESULTS_H

#include "report/paper.h"
#include "report/runs.h"

/// Metric of the mean over all tasks in an out-of-distribution case; its task is "all". It stands
/// in its table only: comparisons and curves have the tasks themselves.
#define WK_METRIC_OOD_TASKS "ood-tasks"

/// One number of one run.
typedef struct wk_report_row {
    wk_result_key key; // of a model error the task is the policy it was measured under
    const wk_report_run *run;
    const wk_result *result; // that it is of
    double value;
    bool final; // used in tables: the run's last step
    bool curve; // used in learning curves
} wk_report_row;

/// Which results count.
typedef struct wk_results_config {
    const char *policy; // NULL: adapted if the run has them, else alongside
    int64_t step;       // of the tables; -1: the last one of each run
} wk_results_config;

/// Sorted by key in the paper's order, then seed, then run, then step. `remarks` says what is left
/// out.
typedef struct wk_report_rows {
    const wk_paper *paper;
    const wk_field *order; // [WK_FIELDS]: the fields they are sorted by, the method last
    WK_ARRAY(wk_report_row) items;
    wk_sentences remarks;
} wk_report_rows;

/// The scores: of a case in the default distribution CVaR and average, of others the average.
void wk_results_scores(wk_runs *runs, const wk_paper *paper, const wk_results_config *config,
                       wk_report_rows *out);
/// The model errors, sorted by domain, exploration, policy, method.
void wk_results_errors(wk_runs *runs, const wk_paper *paper, wk_report_rows *out);

/// How many fields of a row's key are equal within a row of a table: all but the method.
enum { WK_ROW_FIELDS = WK_FIELDS - 1 };
/// End of the range from `first` on in which the first `fields` fields of the order are equal.
size_t wk_rows_end(const wk_report_rows *rows, size_t first, int fields);
/// Whether the row comes from a part of a combined domain.
bool wk_row_is_combined(const wk_report_row *row);

/// Whether results are of one sample: of as many episodes, drawn alike by the same seed.
bool wk_result_same_sample(const wk_result *a, const wk_result *b);
/// Which of two samples counts: that of more episodes, of model errors then that of longer ones,
/// then that of more environments; then that which more runs have, then that of the lower seed;
/// negative if it is `a`.
int wk_result_order_samples(const wk_result *a, size_t runs_of_a, const wk_result *b,
                            size_t runs_of_b);

/// The policy whose results count for a run, or NULL if it has none.
const char *wk_run_policy(const wk_report_run *run, const wk_results_config *config);

/// What a complete report would have and these runs do not: runs of the grid that are not there,
/// runs without results, results that only other runs have, evaluations that stopped earlier. The
/// methods and seeds of a domain and exploration are those that any of its runs has.
void wk_results_missing(wk_runs *runs, const wk_results_config *config, wk_sentences *out);

#endif
