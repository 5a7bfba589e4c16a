// The report's tables: rows are what was measured (metric, domain, case, task, exploration),
// columns are curricula, entries are means and deviations over seeds next to the paper's values.
#ifndef WK_REPORT_TABLES_SCORE_TABLE_H
#define WK_REPORT_TABLES_SCORE_TABLE_H

#include "base/text.h"
#include "report/data/seed_scores.h"
#include "report/tables/text_table.h"
#include "waker/stats.h"

/// Mean and population s.d. over the seeds of one curriculum; all zero where there is no run.
typedef struct wk_table_entry {
    size_t seeds;
    double mean, sd;
    bool best;                 // certainly higher than every other entry of the row
    const wk_paper_row *paper; // or NULL
} wk_table_entry;

/// One row; the key's curriculum is not used.
typedef struct wk_table_row {
    wk_result_key key;
    wk_table_entry *entries; // [columns]
} wk_table_row;

typedef struct wk_score_table {
    const char *name;      // stem of its files
    const char *title;     // for people
    const char *caption;   // what the entries are
    bool heads[WK_FIELDS]; // which fields name the rows
    size_t columns;
    const char **curricula; // [columns], borrowed names
    WK_ARRAY(wk_table_row) rows;
} wk_score_table;

/// Which table.
typedef enum wk_table_kind {
    WK_TABLE_CVAR,
    WK_TABLE_AVERAGE,
    WK_TABLE_OOD_TASKS,
    WK_TABLE_OOD,
    WK_TABLE_COMBINED,
    WK_TABLES
} wk_table_kind;

/// Makes a table from the final scores; it may have no rows. `bootstrap` is of the intervals by
/// which entries are marked. Zero-initialise and free it also on failure.
wk_status wk_score_table_make(const wk_seed_scores *scores, wk_table_kind kind,
                              const wk_bootstrap_config *bootstrap, wk_score_table *out,
                              wk_error *err);
void wk_score_table_free(wk_score_table *table);

/// Digits after the point of the row's values: 1 for returns, 3 for shares.
int wk_table_row_digits(const wk_score_table *table, const wk_table_row *row);

/// The table as formatted text: a row of ours and, with `papers_below` and where the paper has
/// values, one of the paper's below it; else those are subtexts of ours, and a number of seeds that
/// all entries share is stated in the caption alone. Zero-initialise and free the result.
void wk_score_table_format(const wk_score_table *table, bool papers_below, wk_text_table *out);

/// One line for each entry, all digits, the columns of assets/paper/results.csv first.
void wk_score_table_csv(const wk_score_table *table, wk_text *out);

#endif
