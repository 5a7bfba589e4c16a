// Text tables with aligned columns, plain or in Markdown. Cells may hold several lines; a column is
// as wide as its widest.
#ifndef WK_BASE_TABLE_H
#define WK_BASE_TABLE_H

#include "base/array.h"
#include "base/text.h"

/// A table being filled row by row: begin it, or zero-initialise and set the columns; add cells,
/// print, free.
typedef struct wk_table {
    size_t columns;
    const char *align;      // per column 'l' or 'r'; NULL: all to the left
    size_t min_width;       // of every column
    WK_ARRAY(char *) cells; // [rows, columns], owned; the first row are the headings
    bool failed;            // memory ran out; printing fails the text
} wk_table;

/// Begins a table; `align` has one letter per column ("llr"), then one heading per column.
void wk_table_begin(wk_table *table, const char *align, ...);

/// Adds a row of texts, one for each column, as by wk_table_name.
void wk_table_texts(wk_table *table, const char *first, ...);
/// Adds the next cell, left to right and row by row.
void wk_table_cell(wk_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// As wk_table_cell, for what users name, such as files: a line break in it becomes '?'.
void wk_table_name(wk_table *table, const char *name);

/// Appends the table with `indent` blanks before each line; the headings are underlined by dashes.
void wk_table_print(const wk_table *table, int indent, wk_text *out);
/// As wk_table_print, and frees the table.
void wk_table_finish(wk_table *table, int indent, wk_text *out);
/// Appends it with pipes around the cells, which must have one line.
void wk_table_markdown(const wk_table *table, wk_text *out);

void wk_table_free(wk_table *table);

#endif
