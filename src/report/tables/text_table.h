// A sheet: finished cells of text in rows and columns under a heading, written as plain text,
// Markdown, LaTeX, or onto the page. What the cells mean is their maker's business.
#ifndef WK_REPORT_TABLES_TEXT_TABLE_H
#define WK_REPORT_TABLES_TEXT_TABLE_H

#include "base/array.h"
#include "base/text.h"
#include "report/page/page.h"

/// One cell.
typedef struct wk_sheet_cell {
    wk_text text, aside; // aside: smaller, below; only the page shows it
    bool best;
} wk_sheet_cell;

/// Zero-initialise, set what is at the top, add the heading and then the cells, row by row. A cell
/// that finds no memory is reported when the sheet is written.
typedef struct wk_sheet {
    const char *title;
    wk_text caption;
    size_t columns, heads; // the first `heads` columns name the rows
    WK_ARRAY(wk_sheet_cell) cells;
    bool failed;
} wk_sheet;

/// Adds the next cell.
void wk_sheet_put(wk_sheet *sheet, bool best, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Gives the cell just added an aside.
void wk_sheet_aside(wk_sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wk_sheet_free(wk_sheet *sheet);

/// Rows, without the heading.
size_t wk_sheet_rows(const wk_sheet *sheet);
/// Whether there is nothing to write; not so if it is empty for want of memory.
bool wk_sheet_is_empty(const wk_sheet *sheet);

/// Aligned columns; best cells end in " *".
void wk_sheet_text(const wk_sheet *sheet, wk_text *out);
/// A pipe table; best cells are bold.
void wk_sheet_markdown(const wk_sheet *sheet, wk_text *out);
/// A tabular that needs no packages; best cells are bold.
void wk_sheet_latex(const wk_sheet *sheet, wk_text *out);
wk_status wk_sheet_page(const wk_sheet *sheet, wk_page *page, wk_error *err);

/// Appends a CSV field, in quotes where it needs them (RFC 4180).
void wk_csv_field(wk_text *out, const char *text);

#endif
