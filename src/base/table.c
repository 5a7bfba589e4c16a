#include "base/table.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Takes over both texts.
static void add(wk_table *table, wk_cell cell)
{
    if (wk_array_push(&table->cells, cell)) return;
    free(cell.value);
    free(cell.shown);
    table->failed = true;
}

// A copy for people: on one line, without control characters.
static char *copy_shown(wk_table *table, const char *text)
{
    char *copy = strdup(text);
    if (copy)
        wk_utf8_sanitise(copy, false);
    else
        table->failed = true;
    return copy;
}

static char *print_shown(wk_table *table, const char *format, va_list args)
{
    wk_text text = {0};
    wk_text_vprintf(&text, format, args);
    if (text.failed) {
        table->failed = true;
        wk_text_free(&text);
        return NULL;
    }
    wk_utf8_sanitise(text.chars, true);
    return text.chars;
}

void wk_table_start(wk_table *table, const wk_column *columns, size_t count)
{
    *table = (wk_table){.columns = count, .spec = columns};
    for (size_t c = 0; c < count; c++)
        wk_table_cell(table, "%s", columns[c].heading ? columns[c].heading : "");
}

void wk_table_begin(wk_table *table, const char *align, ...)
{
    *table = (wk_table){.columns = strlen(align), .align = align};
    va_list headings;
    va_start(headings, align);
    for (size_t c = 0; c < table->columns; c++)
        wk_table_cell(table, "%s", va_arg(headings, const char *));
    va_end(headings);
}

void wk_table_text(wk_table *table, const char *text)
{
    char *value = strdup(text);
    table->failed |= !value;
    add(table, (wk_cell){value, copy_shown(table, text), true});
}

static void add_number(wk_table *table, wk_text *value, char *shown)
{
    table->failed |= value->failed;
    add(table, (wk_cell){value->chars, shown, false});
}

void wk_table_integer(wk_table *table, int64_t value)
{
    wk_text text = {0};
    wk_text_printf(&text, "%" PRId64, value);
    add_number(table, &text, NULL);
}

void wk_table_unsigned(wk_table *table, uint64_t value)
{
    wk_text text = {0};
    wk_text_printf(&text, "%" PRIu64, value);
    add_number(table, &text, NULL);
}

void wk_table_number(wk_table *table, double value)
{
    const wk_column *column =
        table->spec ? &table->spec[table->cells.count % table->columns] : &(wk_column){0};
    wk_text exact = {0}, shown = {0};
    wk_text_number(&exact, value);
    if (column->scale != 0) value *= column->scale;
    if (!isfinite(value))
        wk_text_puts(&shown, "-");
    else if (column->format)
        wk_text_printf(&shown, column->format, value);
    table->failed |= shown.failed;
    add_number(table, &exact, shown.chars);
}

void wk_table_bool(wk_table *table, bool value)
{
    wk_text text = {0};
    wk_text_puts(&text, value ? "true" : "false");
    add_number(table, &text, copy_shown(table, value ? "yes" : "no"));
}

void wk_table_absent(wk_table *table)
{
    add(table, (wk_cell){0});
}

void wk_table_shown(wk_table *table, const char *format, ...)
{
    if (table->failed) return;
    wk_cell *last = &table->cells.items[table->cells.count - 1];
    va_list args;
    va_start(args, format);
    free(last->shown);
    last->shown = print_shown(table, format, args);
    va_end(args);
}

void wk_table_cell(wk_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(table, (wk_cell){.shown = print_shown(table, format, args)});
    va_end(args);
}

void wk_table_name(wk_table *table, const char *name)
{
    add(table, (wk_cell){.shown = copy_shown(table, name)});
}

void wk_table_texts(wk_table *table, const char *first, ...)
{
    va_list texts;
    va_start(texts, first);
    wk_table_name(table, first);
    for (size_t i = 1; i < table->columns; i++)
        wk_table_name(table, va_arg(texts, const char *));
    va_end(texts);
}

size_t wk_table_count(const wk_table *table)
{
    return table->cells.count / table->columns - 1;
}

static bool is_visible(const wk_table *table, size_t column)
{
    return !table->spec || table->spec[column].heading;
}

static bool is_right(const wk_table *table, size_t column)
{
    if (table->spec) return table->spec[column].kind == WK_COLUMN_NUMBER;
    return table->align && table->align[column] == 'r';
}

// What people see of a cell.
static const char *shown_of(const wk_cell *cell)
{
    return cell->shown ? cell->shown : cell->value ? cell->value : "";
}

// The n-th line of a cell; its length is 0 past the last.
static const char *cell_line(const char *cell, int n, size_t *length)
{
    for (; n > 0 && *cell; n--) {
        cell += strcspn(cell, "\n");
        if (*cell == '\n') cell++;
    }
    *length = strcspn(cell, "\n");
    return cell;
}

static int count_lines(const char *cell)
{
    int lines = 1;
    for (; *cell; cell++)
        lines += *cell == '\n';
    return lines;
}

// Appends one line: the n-th of each cell, filled up to the width of its column; with `cells` NULL
// a rule of dashes.
static void print_line(const wk_table *table, const wk_cell *cells, int n, int indent,
                       const size_t *widths, wk_text *out)
{
    size_t before = (size_t)indent;
    for (size_t c = 0; c < table->columns; c++) {
        if (!is_visible(table, c)) continue;
        wk_text_repeat(out, ' ', before);
        before = 2;
        if (!cells) {
            wk_text_repeat(out, '-', widths[c]);
            continue;
        }
        size_t length;
        const char *line = cell_line(shown_of(&cells[c]), n, &length);
        size_t fill = widths[c] - wk_utf8_width(line, length);
        wk_text_repeat(out, ' ', is_right(table, c) ? fill : 0);
        wk_text_append(out, line, length);
        wk_text_repeat(out, ' ', is_right(table, c) ? 0 : fill);
    }
    while (cells && out->length > 0 && out->chars[out->length - 1] == ' ')
        out->chars[--out->length] = 0;
    wk_text_puts(out, "\n");
}

void wk_table_print(const wk_table *table, int indent, wk_text *out)
{
    size_t columns = table->columns, *widths = calloc(columns + 1, sizeof *widths);
    out->failed |= table->failed || !widths;
    size_t rows = out->failed ? 0 : table->cells.count / columns; // with the headings
    if (!out->failed) assert(table->cells.count % columns == 0);
    // A column is as wide as its widest line.
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < columns; c++) {
            const char *cell = shown_of(&table->cells.items[row * columns + c]);
            if (widths[c] < table->min_width) widths[c] = table->min_width;
            for (int n = count_lines(cell) - 1; n >= 0; n--) {
                size_t length;
                const char *line = cell_line(cell, n, &length);
                size_t width = wk_utf8_width(line, length);
                if (width > widths[c]) widths[c] = width;
            }
        }
    for (size_t row = 0; row < rows; row++) {
        const wk_cell *cells = table->cells.items + row * columns;
        int lines = 1;
        for (size_t c = 0; c < columns; c++) {
            int of_cell = count_lines(shown_of(&cells[c]));
            if (is_visible(table, c) && of_cell > lines) lines = of_cell;
        }
        for (int n = 0; n < lines; n++)
            print_line(table, cells, n, indent, widths, out);
        if (row == 0) print_line(table, NULL, 0, indent, widths, out);
    }
    free(widths);
}

void wk_table_finish(wk_table *table, int indent, wk_text *out)
{
    wk_table_print(table, indent, out);
    wk_table_free(table);
}

void wk_table_json_row(const wk_table *table, size_t row, wk_json *json)
{
    json->text->failed |= table->failed;
    for (size_t c = 0; c < table->columns && !json->text->failed; c++) {
        const wk_cell *cell = &table->cells.items[(row + 1) * table->columns + c];
        const char *key = table->spec[c].key;
        if (!key || !cell->value) continue;
        if (cell->is_text)
            wk_json_string(json, key, cell->value);
        else
            wk_json_raw(json, key, cell->value, strlen(cell->value));
    }
}

void wk_table_json(const wk_table *table, const char *key, wk_json *json)
{
    json->text->failed |= table->failed;
    wk_json_array(json, key);
    for (size_t row = 0; !json->text->failed && row < wk_table_count(table); row++) {
        wk_json_object(json, NULL);
        wk_table_json_row(table, row, json);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void csv_text(const char *text, wk_text *out)
{
    // Spreadsheets run what begins like a formula.
    bool formula = *text && strchr("=+-@\t", *text);
    if (!formula && !text[strcspn(text, ",\"\r\n")]) {
        wk_text_puts(out, text);
        return;
    }
    wk_text_puts(out, formula ? "\"'" : "\"");
    for (; *text; text++)
        wk_text_printf(out, *text == '"' ? "\"%c" : "%c", *text);
    wk_text_puts(out, "\"");
}

void wk_table_csv(const wk_table *table, wk_text *out)
{
    out->failed |= table->failed;
    for (size_t row = 0; !out->failed && row <= wk_table_count(table); row++) {
        const char *between = "";
        for (size_t c = 0; c < table->columns; c++) {
            const wk_cell *cell = &table->cells.items[row * table->columns + c];
            if (!table->spec[c].key) continue;
            wk_text_puts(out, between);
            between = ",";
            if (row == 0)
                wk_text_puts(out, table->spec[c].key);
            else if (cell->is_text)
                csv_text(cell->value, out);
            else if (cell->value)
                wk_text_puts(out, cell->value);
        }
        wk_text_puts(out, "\n");
    }
}

void wk_table_free(wk_table *table)
{
    for (size_t i = 0; i < table->cells.count; i++) {
        free(table->cells.items[i].value);
        free(table->cells.items[i].shown);
    }
    wk_array_free(&table->cells);
}
