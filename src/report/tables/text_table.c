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

// How a style writes one cell.
typedef void cell_fn(const wk_text_table_cell *cell, wk_text *out);

static void plain_cell(const wk_text_table_cell *cell, wk_text *out)
{
    wk_text_printf(out, "%s%s", wk_text_get(&cell->text), cell->best ? " *" : "");
}

static void markdown_cell(const wk_text_table_cell *cell, wk_text *out)
{
    if (cell->best) wk_text_puts(out, "**");
    for (const char *c = wk_text_get(&cell->text); *c; c++) {
        if (strchr("|*_`\\<>[]&!#", *c)) wk_text_puts(out, "\\");
        wk_text_append(out, c, 1);
    }
    if (cell->best) wk_text_puts(out, "**");
}

// LaTeX's own fonts have other glyphs where ASCII has these.
static const struct {
    const char *text, *latex;
} latex_signs[] = {
    {"±", "$\\pm$"},
    {"\\", "\\textbackslash{}"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
};

// Appends the sign at `text` if it is one of those; gives its length, or 0.
static size_t latex_sign(const char *text, wk_text *out)
{
    for (size_t i = 0; i < sizeof latex_signs / sizeof *latex_signs; i++) {
        size_t length = strlen(latex_signs[i].text);
        if (strncmp(text, latex_signs[i].text, length) != 0) continue;
        wk_text_puts(out, latex_signs[i].latex);
        return length;
    }
    return 0;
}

static void latex_text(const char *text, wk_text *out)
{
    for (size_t i = 0; text[i];) {
        size_t sign = latex_sign(text + i, out);
        if (sign == 0) wk_text_printf(out, strchr("#$%&_{}", text[i]) ? "\\%c" : "%c", text[i]);
        i += sign ? sign : 1;
    }
}

static void latex_cell(const wk_text_table_cell *cell, wk_text *out)
{
    if (cell->best) wk_text_puts(out, "\\textbf{");
    latex_text(wk_text_get(&cell->text), out);
    if (cell->best) wk_text_puts(out, "}");
}

// The cells as a style writes them.
static wk_table styled(const wk_text_table *table, cell_fn *style)
{
    wk_table out = {.columns = table->columns, .min_width = 3}; // the least a Markdown rule needs
    for (size_t i = 0; i < table->cells.count; i++) {
        wk_text cell = {0};
        style(&table->cells.items[i], &cell);
        wk_table_cell(&out, "%s", wk_text_get(&cell));
        out.failed |= cell.failed;
        wk_text_free(&cell);
    }
    out.failed |= table->failed || table->caption.failed;
    return out;
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
    wk_table cells = styled(table, plain_cell);
    wk_table_finish(&cells, 0, out);
}

void wk_text_table_markdown(const wk_text_table *table, wk_text *out)
{
    wk_text_printf(out, "## %s\n\n%s\n\n", table->title, wk_text_get(&table->caption));
    wk_table cells = styled(table, markdown_cell);
    wk_table_markdown(&cells, out);
    wk_table_free(&cells);
}

void wk_text_table_latex(const wk_text_table *table, wk_text *out)
{
    out->failed |= table->failed || table->caption.failed;
    wk_text_printf(out, "%% %s. %s\n\\begin{tabular}{", table->title, wk_text_get(&table->caption));
    wk_text_repeat(out, 'l', table->heads);
    wk_text_repeat(out, 'r', table->columns - table->heads);
    wk_text_puts(out, "}\n\\hline\n");
    for (size_t i = 0; i < table->cells.count && !out->failed; i++) {
        bool last = i % table->columns == table->columns - 1;
        latex_cell(&table->cells.items[i], out);
        wk_text_puts(out, last ? " \\\\\n" : " & ");
        if (i + 1 == table->columns) wk_text_puts(out, "\\hline\n");
    }
    wk_text_puts(out, "\\hline\n\\end{tabular}\n");
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
