#include "report/tables/text_table.h"
#include "base/table.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_formatted(wk_text *text, const char *format, va_list args)
{
    char buffer[1024];
    vsnprintf(buffer, sizeof buffer, format, args);
    wk_utf8_sanitise(buffer, false);
    wk_text_puts(text, buffer);
}

void wk_text_table_add(wk_text_table *table, bool best, const char *format, ...)
{
    wk_text_table_cell cell = {.best = best};
    va_list args;
    va_start(args, format);
    put_formatted(&cell.text, format, args);
    va_end(args);
    if (!cell.text.failed && wk_array_push(&table->cells, cell)) return;
    wk_text_free(&cell.text);
    table->failed = true;
}

void wk_text_table_subtext(wk_text_table *table, const char *format, ...)
{
    if (table->failed) return;
    va_list args;
    va_start(args, format);
    put_formatted(&table->cells.items[table->cells.count - 1].subtext, format, args);
    va_end(args);
}

void wk_text_table_free(wk_text_table *table)
{
    for (size_t i = 0; i < table->cells.count; i++) {
        wk_text_free(&table->cells.items[i].text);
        wk_text_free(&table->cells.items[i].subtext);
    }
    wk_array_free(&table->cells);
    wk_text_free(&table->caption);
    *table = (wk_text_table){0};
}

// Without the heading.
static size_t row_count(const wk_text_table *table)
{
    return table->cells.count > table->columns ? table->cells.count / table->columns - 1 : 0;
}

bool wk_text_table_is_empty(const wk_text_table *table)
{
    return row_count(table) == 0 && !table->failed;
}

// Words in lines of at most LINE characters.
static void put_wrapped(const char *words, wk_text *out)
{
    enum { LINE = 100 };
    size_t used = 0;
    while (*words) {
        size_t length = strcspn(words, " ");
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        size_t width = wk_utf8_width(word, strlen(word));
        if (used) wk_text_puts(out, used + 1 + width > LINE ? "\n" : " ");
        used = used && used + 1 + width <= LINE ? used + 1 + width : width;
        wk_text_append(out, words, length);
        words += length + (words[length] == ' ');
    }
    wk_text_puts(out, "\n");
}

void wk_text_table_plain(const wk_text_table *table, wk_text *out)
{
    wk_text_printf(out, "%s\n", table->title);
    put_wrapped(wk_text_get(&table->caption), out);
    wk_text_puts(out, "\n");
    wk_table cells = {.columns = table->columns, .min_width = 3};
    for (size_t i = 0; i < table->cells.count; i++) {
        const wk_text_table_cell *cell = &table->cells.items[i];
        wk_table_cell(&cells, "%s%s", wk_text_get(&cell->text), cell->best ? " *" : "");
    }
    cells.failed |= table->failed || table->caption.failed;
    wk_table_finish(&cells, 0, out);
}

wk_status wk_text_table_page(const wk_text_table *table, wk_page *page, wk_error *err)
{
    size_t count = table->cells.count;
    const char **header = calloc(table->columns + 1, sizeof *header);
    wk_page_cell *cells = calloc(count + 1, sizeof *cells);
    bool all = header && cells && !table->failed && !table->caption.failed;
    if (all) {
        for (size_t c = 0; c < table->columns; c++)
            header[c] = wk_text_get(&table->cells.items[c].text);
        for (size_t i = table->columns; i < count; i++) {
            const wk_text_table_cell *cell = &table->cells.items[i];
            cells[i - table->columns] =
                (wk_page_cell){wk_text_get(&cell->text), cell->subtext.chars, cell->best};
        }
        wk_page_table_data data = {.caption = wk_text_get(&table->caption),
                                   .columns = table->columns,
                                   .rows = row_count(table),
                                   .row_heads = table->heads,
                                   .header = header,
                                   .cells = cells};
        wk_page_table(page, &data);
    }
    free(header);
    free(cells);
    return all ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for a table of the page");
}

static void put_csv_field(wk_text *out, const char *text)
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

void wk_csv_field(wk_text *out, const char *text)
{
    size_t start = out->length;
    put_csv_field(out, text);
    if (!out->failed && out->length > start) wk_utf8_sanitise(out->chars + start, true);
}
