// Model errors of the runs as one table: how wrong the world models are, by the policy they were
// measured under, over seeds.
#ifndef WK_REPORT_TABLES_MODEL_ERRORS_H
#define WK_REPORT_TABLES_MODEL_ERRORS_H

#include "report/data/paper.h"
#include "report/data/runs.h"
#include "report/tables/text_table.h"

/// A statistic of model errors.
typedef enum wk_error_statistic {
    WK_ERROR_MEAN,
    WK_ERROR_CVAR,        // of the worst tenth of the environments
    WK_ERROR_ESTIMATE,    // the ensemble's estimate, in its own units
    WK_ERROR_CORRELATION, // of estimate and error, by rank
    WK_ERROR_STATISTICS
} wk_error_statistic;

/// "mean", "CVaR 0.1", ...
const char *wk_error_statistic_name(wk_error_statistic statistic);

/// Over the seeds of one curriculum, each run's last measurement; NaN where no run has the value.
typedef struct wk_error_entry {
    const char *domain, *exploration, *policy, *curriculum;
    size_t seeds;
    double mean[WK_ERROR_STATISTICS], sd[WK_ERROR_STATISTICS];
} wk_error_entry;

/// Sorted by domain, exploration, policy ("random" first), curriculum.
typedef struct wk_model_errors {
    WK_ARRAY(wk_error_entry) items;
    wk_sentences remarks; // what is left out: a table has one sample of each policy
} wk_model_errors;

/// Zero-initialise and free it also on failure.
wk_status wk_model_errors_make(const wk_runs *runs, const wk_paper *paper, wk_model_errors *out,
                               wk_error *err);
void wk_model_errors_free(wk_model_errors *errors);

void wk_model_errors_table(const wk_model_errors *errors, wk_text_table *out);
void wk_model_errors_csv(const wk_model_errors *errors, wk_text *out);

#endif
