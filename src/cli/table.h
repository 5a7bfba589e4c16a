// Text tables with aligned columns. Cells may hold several lines; a column is as wide as its
// widest.
#ifndef WK_CLI_TABLE_H
#define WK_CLI_TABLE_H

#include "base/array.h"
#include "base/text.h"

enum { WK_TABLE_COLUMNS_MAX = 12 };

/// A table being filled row by row. Zero-initialise, set the columns, add cells, print, free.
typedef struct wk_table {
    int columns;
    const char *align;      // per column 'l' or 'r'
    WK_ARRAY(char *) cells; // [rows, columns], owned
    bool failed;            // memory ran out; printing does nothing
} wk_table;

/// Begins a table; `align` has one letter per column ("llr"), then one heading per column.
void wk_table_begin(wk_table *table, const char *align, ...);

/// Adds the next cell, left to right and row by row.
void wk_table_cell(wk_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Appends the table with `indent` blanks before each line; the headings are underlined by dashes.
void wk_table_print(const wk_table *table, int indent, wk_text *out);

void wk_table_free(wk_table *table);

/// Appends `item` to a comma-separated list kept in a text, breaking lines longer than `width`.
void wk_list_append(wk_text *list, const char *item, size_t width);

#endif
