#include "cli/table.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Number of characters shown for the first `length` bytes of UTF-8.
static int shown_width(const char *text, size_t length)
{
    int width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

static void add_cell(wk_table *table, char *owned)
{
    if (owned && wk_array_push(&table->cells, owned)) return;
    free(owned);
    table->failed = true;
}

void wk_table_begin(wk_table *table, const char *align, ...)
{
    *table = (wk_table){.columns = (int)strlen(align), .align = align};
    assert(table->columns <= WK_TABLE_COLUMNS_MAX);
    va_list headings;
    va_start(headings, align);
    for (int i = 0; i < table->columns; i++)
        add_cell(table, strdup(va_arg(headings, const char *)));
    va_end(headings);
}

void wk_table_cell(wk_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    if (text) wk_utf8_tame(text, true);
    add_cell(table, text);
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

static void measure(const wk_table *table, int *widths)
{
    for (size_t i = 0; i < table->cells.count; i++) {
        const char *cell = table->cells.items[i];
        int *widest = &widths[i % (size_t)table->columns];
        for (int n = count_lines(cell) - 1; n >= 0; n--) {
            size_t length;
            const char *line = cell_line(cell, n, &length);
            int width = shown_width(line, length);
            if (width > *widest) *widest = width;
        }
    }
}

static void print_line(const wk_table *table, char *const *cells, int n, int indent,
                       const int *widths, wk_text *out)
{
    wk_text_printf(out, "%*s", indent, "");
    int blanks = 0;
    for (int c = 0; c < table->columns; c++) {
        size_t length;
        const char *line = cell_line(cells[c], n, &length);
        int fill = widths[c] - shown_width(line, length);
        if (table->align[c] == 'r') blanks += fill;
        // Blanks are written only before text, so that no line ends in them.
        if (length > 0) {
            wk_text_printf(out, "%*s", blanks, "");
            wk_text_append(out, line, length);
            blanks = 0;
        }
        if (table->align[c] == 'l') blanks += fill;
        blanks += 2;
    }
    wk_text_puts(out, "\n");
}

static void print_rule(const wk_table *table, int indent, const int *widths, wk_text *out)
{
    wk_text_printf(out, "%*s", indent, "");
    for (int c = 0; c < table->columns; c++) {
        if (c > 0) wk_text_puts(out, "  ");
        for (int i = 0; i < widths[c]; i++)
            wk_text_puts(out, "-");
    }
    wk_text_puts(out, "\n");
}

void wk_table_print(const wk_table *table, int indent, wk_text *out)
{
    if (table->failed) {
        out->failed = true;
        return;
    }
    assert(table->cells.count % (size_t)table->columns == 0);
    int widths[WK_TABLE_COLUMNS_MAX] = {0};
    measure(table, widths);
    for (size_t row = 0; row < table->cells.count; row += (size_t)table->columns) {
        char *const *cells = table->cells.items + row;
        int lines = 1;
        for (int c = 0; c < table->columns; c++)
            if (count_lines(cells[c]) > lines) lines = count_lines(cells[c]);
        for (int n = 0; n < lines; n++)
            print_line(table, cells, n, indent, widths, out);
        if (row == 0) print_rule(table, indent, widths, out);
    }
}

void wk_table_free(wk_table *table)
{
    for (size_t i = 0; i < table->cells.count; i++)
        free(table->cells.items[i]);
    wk_array_free(&table->cells);
}

void wk_list_append(wk_text *list, const char *item, size_t width)
{
    if (list->length > 0) {
        const char *newline = strrchr(wk_text_get(list), '\n');
        size_t used = newline ? strlen(newline + 1) : list->length;
        wk_text_puts(list, used + 2 + strlen(item) > width ? ",\n" : ", ");
    }
    wk_text_puts(list, item);
}
