// Tables: columns and rows of cells, filled once and written for people (aligned) and for programs
// (JSON, CSV). Cells keep their values, so that programs get numbers in full and people get them
// rounded.
#ifndef WK_BASE_TABLE_H
#define WK_BASE_TABLE_H

#include "base/json.h"

/// What a column holds: people see texts to the left and numbers to the right.
typedef enum wk_column_kind { WK_COLUMN_TEXT, WK_COLUMN_NUMBER } wk_column_kind;

/// One column.
typedef struct wk_column {
    wk_column_kind kind;
    const char *key;     // in JSON and CSV; NULL: programs do not get it
    const char *heading; // for people, perhaps of several lines; NULL: they do not see it
    const char *format;  // of fractional numbers for people ("%.2f", "%.0f %%"); NULL: "%.6g", or
                         // more digits where it takes them
    double scale;        // what people see is the value times this; 0: 1
} wk_column;

/// A column for programs alone.
#define WK_COLUMN_KEY(key)                                                                         \
    {                                                                                              \
        WK_COLUMN_TEXT, key, NULL, NULL, 0                                                         \
    }

/// A cell, in words.
typedef struct wk_cell {
    char *value; // for programs: a text, or a number as JSON writes it; NULL: there is none
    char *shown; // what people see instead; NULL: the value
    bool is_text;
} wk_cell;

/// A table being filled row by row, left to right: start or begin it, add cells, write it, free it.
typedef struct wk_table {
    size_t columns;
    const wk_column *spec;   // [columns], borrowed; NULL: only people get the table
    const char *align;       // without `spec`: per column 'l' or 'r'; NULL: all to the left
    size_t min_width;        // of every column
    WK_ARRAY(wk_cell) cells; // [rows, columns]; the first row are the headings
    bool failed;             // memory ran out; writing fails the text
} wk_table;

/// Starts a table with these columns, which must live as long as it.
void wk_table_start(wk_table *table, const wk_column *columns, size_t count);

/// Adds the next cell. People see a line break in a text as '?' and a number that is not finite as
/// "-"; programs get the text as it is, and null.
void wk_table_text(wk_table *table, const char *text);
void wk_table_integer(wk_table *table, int64_t value);
void wk_table_unsigned(wk_table *table, uint64_t value);
void wk_table_number(wk_table *table, double value);
void wk_table_bool(wk_table *table, bool value);
/// Adds an empty cell, which JSON leaves out.
void wk_table_absent(wk_table *table);
/// Sets what people see of the cell added last.
void wk_table_shown(wk_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Begins a table for people alone; `align` has one letter per column ("llr"), then one heading per
/// column.
void wk_table_begin(wk_table *table, const char *align, ...);
/// Adds a row of texts, one for each column.
void wk_table_texts(wk_table *table, const char *first, ...);
/// Adds the next cell, which may have several lines.
void wk_table_cell(wk_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Adds the next cell: what users name, such as files. A line break in it becomes '?'.
void wk_table_name(wk_table *table, const char *name);

/// The number of rows, without the headings.
size_t wk_table_count(const wk_table *table);

/// Appends the table with `indent` blanks before each line; the headings are underlined by dashes.
void wk_table_print(const wk_table *table, int indent, wk_text *out);
/// As wk_table_print, and frees the table.
void wk_table_finish(wk_table *table, int indent, wk_text *out);

/// Appends an array of objects, one for each row; `key` NULL inside an array.
void wk_table_json(const wk_table *table, const char *key, wk_json *json);
/// Appends the members of one row to an open object.
void wk_table_json_row(const wk_table *table, size_t row, wk_json *json);
/// Appends the keys and the rows, with commas between; texts are quoted where they must be.
void wk_table_csv(const wk_table *table, wk_text *out);

void wk_table_free(wk_table *table);

#endif
