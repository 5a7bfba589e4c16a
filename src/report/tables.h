// The ten tables of a report. A table is filled once, cell by cell: each cell says who sees it (the
// page, the text, the CSV file, the JSON), and it carries the heading of its column.
#ifndef WK_REPORT_TABLES_H
#define WK_REPORT_TABLES_H

#include "report/results.h"

#include "base/json.h"
// A table of cells (table.c).

/// Who sees a cell; any of them together.
enum {
    WK_SEE_PAGE = 1,
    WK_SEE_TEXT = 2,
    WK_SEE_CSV = 4,
    WK_SEE_JSON = 8,
    WK_SEE_PEOPLE = WK_SEE_PAGE | WK_SEE_TEXT,
    WK_SEE_PROGRAMS = WK_SEE_CSV | WK_SEE_JSON,
    WK_SEE_ALL = WK_SEE_PEOPLE | WK_SEE_PROGRAMS,
};

typedef struct wk_report_cell {
    const char *head;    // of its column
    const char *text;    // of CSV and JSON: a string, or a number, or true and false as they stand
    const char *subtext; // smaller text below it, for example the paper's value; or NULL
    bool best;           // marked
    bool number;         // a number or truth value: not quoted
} wk_report_cell;

/// What one of them sees: rows of cells, all with the same columns except in JSON.
typedef struct wk_report_view {
    const char *caption;
    size_t heads; // columns that name the rows; they come first
    WK_ARRAY(wk_report_cell) cells;
    WK_ARRAY(size_t) rows; // where each begins
} wk_report_view;

/// Set memory, name and title, then fill it row by row.
typedef struct wk_report_table {
    wk_report_memory *memory;
    const char *name, *title; // stem of its files; for people
    wk_report_view page, text, csv, json;
} wk_report_table;

void wk_cells_row(wk_report_table *table, int who);
/// A formatted cell for people; control characters are replaced. The cell is for setting `best` and
/// `subtext`, which of the page or the text alone.
wk_report_cell *wk_cells_show(wk_report_table *table, int who, const char *head, const char *format,
                              ...) __attribute__((format(printf, 4, 5)));
/// A name, for all who see it.
void wk_cells_text(wk_report_table *table, int who, const char *head, const char *text);
void wk_cells_count(wk_report_table *table, int who, const char *head, uint64_t count);
/// A number with all its digits, for programs; NaN is empty in CSV and null in JSON.
void wk_cells_number(wk_report_table *table, int who, const char *head, double value);
/// 0 or 1 in CSV, false or true in JSON.
void wk_cells_truth(wk_report_table *table, int who, const char *head, bool value);

/// Whether people see no row of it.
bool wk_report_table_is_empty(const wk_report_table *table);
/// Aligned columns under title and caption; best cells end in " *".
void wk_report_table_text(const wk_report_table *table, wk_text *out);
void wk_report_table_csv(const wk_report_table *table, wk_text *out);
/// An object for each row, into the array that is open.
void wk_report_table_json(const wk_report_table *table, wk_json *json);

/// Appends a CSV field, in quotes where it needs them (RFC 4180).
void wk_csv_field(wk_text *out, const char *text);

// The tables of scores (score_table.c).

/// Which table, in the order of the text.
typedef enum wk_table_kind {
    WK_TABLE_CVAR,
    WK_TABLE_AVERAGE,
    WK_TABLE_OOD_TASKS,
    WK_TABLE_OOD,
    WK_TABLE_COMBINED,
    WK_TABLE_IMPROVEMENT,
    WK_TABLE_RANKING,
    WK_TABLE_MODEL_ERRORS,
    WK_TABLE_SETTINGS,
    WK_TABLE_RUNS,
    WK_TABLES,
    WK_SCORE_TABLES = WK_TABLE_IMPROVEMENT // those of scores come first
} wk_table_kind;

/// Mean and population s.d. over the seeds of one method; all zero where there is no run.
typedef struct wk_table_entry {
    wk_result_key key;
    size_t seeds;
    double mean, sd;
    bool best;                 // certainly higher than every other entry of the row
    const wk_paper_row *paper; // or NULL
} wk_table_entry;

/// The entries of a table of scores: rows are what was measured, columns are methods.
typedef struct wk_score_table {
    size_t rows, columns;
    WK_ARRAY(wk_table_entry) entries; // [rows,columns]
} wk_score_table;

/// Makes the entries from the final scores. `bootstrap` is of the intervals by which entries are
/// marked.
wk_status wk_score_table_make(wk_report_memory *memory, const wk_report_rows *scores,
                              wk_table_kind kind, const wk_bootstrap_config *bootstrap,
                              wk_score_table *out, wk_error *err);
/// Fills the table that people and programs see.
void wk_score_table_fill(wk_table_kind kind, const wk_score_table *scores, wk_report_table *out);

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
/// Mean and s.d. of a statistic over the final rows from `first` to `end`, which are of one method;
/// NaN where no run has it. Returns how many rows are final.
size_t wk_error_statistic_of(const wk_report_rows *errors, size_t first, size_t end,
                             wk_error_statistic statistic, double *mean, double *sd);

/// What tables are made of.
typedef struct wk_table_data {
    wk_runs *runs;
    const wk_score_table *scores; // [WK_SCORE_TABLES]
    const wk_comparison *comparison;
    const wk_report_rows *errors;
} wk_table_data;

/// Fills a table; one for which there is no data has no rows.
void wk_report_table_fill(const wk_table_data *data, wk_table_kind kind, wk_report_table *out);

/// Every score of every run as CSV, with the sample it is of and whether tables use it; or those of
/// the tables only.
void wk_report_scores_csv(const wk_report_rows *scores, bool tables_only, wk_text *out);

#endif
