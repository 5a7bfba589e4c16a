// A table, filled once, cell by cell. Each cell says who sees it: the page, the text, the CSV file,
// the JSON; and it carries the heading of its column.
#ifndef WK_REPORT_TABLE_H
#define WK_REPORT_TABLE_H

#include "report/memory.h"

#include "base/json.h"
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

#endif
