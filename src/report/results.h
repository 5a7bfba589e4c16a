// The numbers of all runs as flat, sorted rows, each with its key: tables, comparisons and figures
// are made by iterating over ranges of equal keys. A row of a table, and a figure of curves, is
// made of one sample: so many episodes drawn by one seed.
#ifndef WK_REPORT_RESULTS_H
#define WK_REPORT_RESULTS_H

#include "report/runs.h"
#include "waker/stats.h"

// The paper's tables (paper.c), to compare with; and the order in which the paper names things,
// which reports follow.

/// The columns of a result's key, and the order in which rows are sorted.
typedef enum wk_field {
    WK_FIELD_METRIC,  // "cvar0.1", "average", "ood-average", "ood-tasks"
    WK_FIELD_DOMAIN,  // "clean-up", or "combined/clean-up"
    WK_FIELD_VARIANT, // out-of-distribution case, "" for none
    WK_FIELD_TASK,
    WK_FIELD_EXPLORATION, // "p2e", "random"
    WK_FIELD_CURRICULUM,
    WK_FIELDS
} wk_field;

/// "metric", "domain", ...: heading of the column.
const char *wk_field_name(wk_field field);

/// What a result is about. All strings are borrowed and not NULL.
typedef struct wk_result_key {
    const char *names[WK_FIELDS];
} wk_result_key;

/// One result of the paper.
typedef struct wk_paper_row {
    wk_result_key key;
    double mean, sd; // over 5 seeds
} wk_paper_row;

typedef struct wk_paper {
    wk_report_memory *memory;
    WK_ARRAY(wk_paper_row) rows;
    WK_ARRAY(const char *) names[WK_FIELDS]; // the different ones of each field, in order
} wk_paper;

/// Reads the compiled-in file into the memory, which must outlive it.
void wk_paper_read(wk_report_memory *memory, wk_paper *out);

/// The paper's result for the key, or NULL.
const wk_paper_row *wk_paper_find(const wk_paper *paper, const wk_result_key *key);

/// Adds a name that the paper does not have, in the order after `base`, which is added too if need
/// be. Names are borrowed.
void wk_paper_add_name(wk_paper *paper, wk_field field, const char *base, const char *name);

/// Index of a name in the order; the number of names if it is none of them.
size_t wk_paper_name_index(const wk_paper *paper, wk_field field, const char *name);

/// Order of two names of a field: as the paper first mentions them, others after by name.
int wk_paper_order(const wk_paper *paper, wk_field field, const char *a, const char *b);

/// The order of curricula for qsort_r over names, with the wk_paper as its argument.
int wk_paper_compare_curricula(const void *a, const void *b, void *paper);

/// Order of two keys by these fields, one after the other.
int wk_paper_order_keys(const wk_paper *paper, const wk_result_key *a, const wk_result_key *b,
                        const wk_field *fields, int count);

// Rows (results.c).

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

// Which method is better over all tasks together (compare.c): probabilities of improvement and
// aggregate scores with bootstrap intervals, and the findings in words.

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
