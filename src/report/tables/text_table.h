// A table of formatted text cells under a heading, written as plain text or onto the page.
#ifndef WK_REPORT_TABLES_TEXT_TABLE_H
#define WK_REPORT_TABLES_TEXT_TABLE_H

#include "base/array.h"
#include "base/text.h"
#include "report/page/page.h"

/// One cell.
typedef struct wk_text_table_cell {
    wk_text text, subtext; // subtext: smaller, below; only the page shows it
    bool best;
} wk_text_table_cell;

/// Zero-initialise, set what is at the top, add the heading and then the cells, row by row. A
/// failed allocation is reported when the table is written.
typedef struct wk_text_table {
    const char *title;
    wk_text caption;
    size_t columns, heads; // the first `heads` columns name the rows
    WK_ARRAY(wk_text_table_cell) cells;
    bool failed;
} wk_text_table;

/// Adds the next cell.
void wk_text_table_add(wk_text_table *table, bool best, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Gives the cell just added a subtext.
void wk_text_table_subtext(wk_text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void wk_text_table_free(wk_text_table *table);

/// Whether there is nothing to write; false if it is empty because memory ran out.
bool wk_text_table_is_empty(const wk_text_table *table);

/// Aligned columns; best cells end in " *".
void wk_text_table_plain(const wk_text_table *table, wk_text *out);
wk_status wk_text_table_page(const wk_text_table *table, wk_page *page, wk_error *err);

/// Appends a CSV field, in quotes where it needs them (RFC 4180).
void wk_csv_field(wk_text *out, const char *text);

#endif
