// Tables: cells by who sees them, as text, CSV and JSON.
#include "report/tables.h"

#include "base/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// The n-th view, by its bit in WK_SEE_*.
static wk_report_view *view_of(wk_report_table *table, int n)
{
    wk_report_view *const views[] = {&table->page, &table->text, &table->csv, &table->json};
    return views[n];
}

void wk_cells_row(wk_report_table *table, int who)
{
    for (int n = 0; n < 4; n++)
        if (who & 1 << n)
            wk_report_push(table->memory, &view_of(table, n)->rows, view_of(table, n)->cells.count);
}

static void add(wk_report_table *table, int who, wk_report_cell cell)
{
    for (int n = 0; n < 4; n++)
        if (who & 1 << n) wk_report_push(table->memory, &view_of(table, n)->cells, cell);
}

wk_report_cell *wk_cells_show(wk_report_table *table, int who, const char *head, const char *format,
                              ...)
{
    static _Thread_local wk_report_cell spare; // without memory
    va_list args;
    va_start(args, format);
    char *text = wk_report_vprintf(table->memory, format, args);
    va_end(args);
    if (*text) wk_utf8_sanitise(text, false);
    add(table, who, (wk_report_cell){.head = head, .text = text});
    wk_report_view *view = who & WK_SEE_PAGE ? &table->page : &table->text;
    return table->memory->failed ? &spare : &view->cells.items[view->cells.count - 1];
}

void wk_cells_text(wk_report_table *table, int who, const char *head, const char *text)
{
    if (who & WK_SEE_PEOPLE) wk_cells_show(table, who & WK_SEE_PEOPLE, head, "%s", text);
    add(table, who & WK_SEE_PROGRAMS, (wk_report_cell){.head = head, .text = text});
}

static void add_number(wk_report_table *table, int who, const char *head, const char *text)
{
    add(table, who, (wk_report_cell){.head = head, .text = text, .number = true});
}

void wk_cells_count(wk_report_table *table, int who, const char *head, uint64_t count)
{
    add_number(table, who, head, wk_report_printf(table->memory, "%" PRIu64, count));
}

void wk_cells_number(wk_report_table *table, int who, const char *head, double value)
{
    wk_text text = {0};
    wk_text_number(&text, value);
    const char *short_text = wk_report_take(table->memory, &text);
    add_number(table, who & WK_SEE_CSV, head,
               isnan(value) ? "" : wk_report_printf(table->memory, "%.17g", value));
    add_number(table, who & WK_SEE_JSON, head, short_text);
}

void wk_cells_truth(wk_report_table *table, int who, const char *head, bool value)
{
    add_number(table, who & WK_SEE_CSV, head, value ? "1" : "0");
    add_number(table, who & WK_SEE_JSON, head, value ? "true" : "false");
}

bool wk_report_table_is_empty(const wk_report_table *table)
{
    return table->text.rows.count == 0;
}

// Words in lines of at most LINE characters.
static void put_wrapped(const char *words, wk_text *out)
{
    enum { LINE = 100 };
    size_t used = 0;
    while (*words) {
        size_t length = strcspn(words, " "), width = wk_utf8_width(words, length);
        if (used) wk_text_puts(out, used + 1 + width > LINE ? "\n" : " ");
        used = used && used + 1 + width <= LINE ? used + 1 + width : width;
        wk_text_append(out, words, length);
        words += length + (words[length] == ' ');
    }
    wk_text_puts(out, "\n");
}

void wk_report_table_text(const wk_report_table *table, wk_text *out)
{
    const wk_report_view *view = &table->text;
    wk_table cells = {.columns = view->cells.count / view->rows.count, .min_width = 3};
    wk_text_printf(out, "%s\n", table->title);
    put_wrapped(view->caption, out);
    wk_text_puts(out, "\n");
    for (size_t c = 0; c < cells.columns; c++)
        wk_table_name(&cells, view->cells.items[c].head);
    for (size_t i = 0; i < view->cells.count; i++)
        wk_table_cell(&cells, "%s%s", view->cells.items[i].text,
                      view->cells.items[i].best ? " *" : "");
    wk_table_finish(&cells, 0, out);
}

void wk_csv_field(wk_text *out, const char *text)
{
    size_t start = out->length;
    // Spreadsheets run what begins like a formula.
    bool formula = *text && strchr("=+-@\t", *text);
    if (!formula && !text[strcspn(text, ",\"\r\n")]) {
        wk_text_puts(out, text);
    } else {
        wk_text_puts(out, formula ? "\"'" : "\"");
        for (; *text; text++)
            wk_text_printf(out, *text == '"' ? "\"%c" : "%c", *text);
        wk_text_puts(out, "\"");
    }
    if (!out->failed && out->length > start) wk_utf8_sanitise(out->chars + start, true);
}

void wk_report_table_csv(const wk_report_table *table, wk_text *out)
{
    const wk_report_view *view = &table->csv;
    size_t columns = view->cells.count / view->rows.count;
    for (size_t c = 0; c < columns; c++)
        wk_text_printf(out, "%s%s", c ? "," : "", view->cells.items[c].head);
    for (size_t i = 0; i < view->cells.count; i++) {
        const wk_report_cell *cell = &view->cells.items[i];
        wk_text_puts(out, i % columns ? "," : "\n");
        if (cell->number)
            wk_text_puts(out, cell->text);
        else
            wk_csv_field(out, cell->text);
    }
    wk_text_puts(out, "\n");
}

void wk_report_table_json(const wk_report_table *table, wk_json *json)
{
    const wk_report_view *view = &table->json;
    for (size_t r = 0; r < view->rows.count; r++) {
        size_t end = r + 1 < view->rows.count ? view->rows.items[r + 1] : view->cells.count;
        wk_json_object(json, NULL);
        for (size_t i = view->rows.items[r]; i < end; i++) {
            const wk_report_cell *cell = &view->cells.items[i];
            if (cell->number)
                wk_json_raw(json, cell->head, cell->text, strlen(cell->text));
            else
                wk_json_string(json, cell->head, cell->text);
        }
        wk_json_close(json, '}');
    }
}
