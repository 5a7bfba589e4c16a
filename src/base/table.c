#include "base/table.h"
#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_cell(wk_table *table, char *owned)
{
    if (owned && wk_array_push(&table->cells, owned)) return;
    free(owned);
    table->failed = true;
}

void wk_table_begin(wk_table *table, const char *align, ...)
{
    *table = (wk_table){.columns = strlen(align), .align = align};
    va_list headings;
    va_start(headings, align);
    for (size_t i = 0; i < table->columns; i++)
        add_cell(table, strdup(va_arg(headings, const char *)));
    va_end(headings);
}

void wk_table_cell(wk_table *table, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t size = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    char *text = malloc(size);
    if (text) {
        vsnprintf(text, size, format, again);
        wk_utf8_sanitise(text, true);
    }
    va_end(again);
    va_end(args);
    add_cell(table, text);
}

void wk_table_name(wk_table *table, const char *name)
{
    char *text = strdup(name);
    if (text) wk_utf8_sanitise(text, false);
    add_cell(table, text);
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

static void measure(const wk_table *table, size_t *widths)
{
    for (size_t c = 0; c < table->columns; c++)
        widths[c] = table->min_width;
    for (size_t i = 0; i < table->cells.count; i++) {
        const char *cell = table->cells.items[i];
        size_t *widest = &widths[i % table->columns];
        for (int n = count_lines(cell) - 1; n >= 0; n--) {
            size_t length;
            const char *line = cell_line(cell, n, &length);
            size_t width = wk_utf8_width(line, length);
            if (width > *widest) *widest = width;
        }
    }
}

// What is before, between and after the cells of a line.
typedef struct edges {
    const char *left, *between, *right;
} edges;

static void cut_blanks(wk_text *out)
{
    while (out->length > 0 && out->chars[out->length - 1] == ' ')
        out->chars[--out->length] = 0;
}

static void print_line(const wk_table *table, char *const *cells, int n, const edges *edge,
                       const size_t *widths, wk_text *out)
{
    wk_text_puts(out, edge->left);
    for (size_t c = 0; c < table->columns; c++) {
        size_t length;
        const char *line = cell_line(cells[c], n, &length);
        size_t fill = widths[c] - wk_utf8_width(line, length);
        bool right = table->align && table->align[c] == 'r';
        if (c > 0) wk_text_puts(out, edge->between);
        wk_text_repeat(out, ' ', right ? fill : 0);
        wk_text_append(out, line, length);
        wk_text_repeat(out, ' ', right ? 0 : fill);
    }
    if (!*edge->right) cut_blanks(out);
    wk_text_printf(out, "%s\n", edge->right);
}

static void print_rule(const wk_table *table, const edges *edge, const size_t *widths, wk_text *out)
{
    wk_text_puts(out, edge->left);
    for (size_t c = 0; c < table->columns; c++) {
        if (c > 0) wk_text_puts(out, edge->between);
        wk_text_repeat(out, '-', widths[c]);
    }
    wk_text_printf(out, "%s\n", edge->right);
}

static void print_table(const wk_table *table, const edges *edge, wk_text *out)
{
    size_t *widths = calloc(table->columns + 1, sizeof *widths);
    out->failed |= table->failed || !widths;
    if (!out->failed) {
        assert(table->cells.count % table->columns == 0);
        measure(table, widths);
    }
    for (size_t row = 0; row < table->cells.count && !out->failed; row += table->columns) {
        char *const *cells = table->cells.items + row;
        int lines = 1;
        for (size_t c = 0; c < table->columns; c++)
            if (count_lines(cells[c]) > lines) lines = count_lines(cells[c]);
        for (int n = 0; n < lines; n++)
            print_line(table, cells, n, edge, widths, out);
        if (row == 0) print_rule(table, edge, widths, out);
    }
    free(widths);
}

void wk_table_print(const wk_table *table, int indent, wk_text *out)
{
    char left[32];
    snprintf(left, sizeof left, "%*s", indent, "");
    print_table(table, &(edges){left, "  ", ""}, out);
}

void wk_table_finish(wk_table *table, int indent, wk_text *out)
{
    wk_table_print(table, indent, out);
    wk_table_free(table);
}

void wk_table_markdown(const wk_table *table, wk_text *out)
{
    print_table(table, &(edges){"| ", " | ", " |"}, out);
}

void wk_table_free(wk_table *table)
{
    for (size_t i = 0; i < table->cells.count; i++)
        free(table->cells.items[i]);
    wk_array_free(&table->cells);
}
