// Tables of scores as files: text, Markdown and LaTeX from one sheet of strings, CSV from the
// numbers themselves.
#include "report/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum style { TEXT, MARKDOWN, LATEX } style;

// Strings in rows and columns, the heading first.
typedef struct sheet {
    size_t columns, heads; // the first `heads` columns are names
    WK_ARRAY(wk_text) cells;
    bool failed;
} sheet;

// The next cell, left to right and row by row, to be written to.
static wk_text *add_cell(sheet *s)
{
    static const wk_text empty = {0};
    if (wk_array_push(&s->cells, empty)) return &s->cells.items[s->cells.count - 1];
    s->failed = true;
    return NULL;
}

static void free_sheet(sheet *s)
{
    for (size_t i = 0; i < s->cells.count; i++)
        wk_text_free(&s->cells.items[i]);
    wk_array_free(&s->cells);
}

// A name, with the characters escaped that mean something in the style.
static void put_name(sheet *s, style how, const char *name)
{
    wk_text *cell = add_cell(s);
    if (!cell) return;
    for (; *name; name++) {
        if (how == LATEX && strchr("#$%&_{}", *name)) wk_text_puts(cell, "\\");
        if (how == MARKDOWN && strchr("|*_`\\", *name)) wk_text_puts(cell, "\\");
        bool unsafe = how == LATEX && strchr("\\^~", *name);
        wk_text_append(cell, unsafe ? " " : name, 1);
    }
}

static void put_figure(wk_text *cell, style how, double mean, double sd, int digits)
{
    wk_text_printf(cell, how == LATEX ? "%.*f $\\pm$ %.*f" : "%.*f ± %.*f", digits, mean, digits,
                   sd);
}

static void put_ours(sheet *s, style how, const wk_table_entry *entry, int digits)
{
    static const char *const open[] = {"", "**", "\\textbf{"}, *const close[] = {"", "**", "}"};
    wk_text *cell = add_cell(s);
    if (!cell || entry->seeds == 0) return;
    if (entry->best) wk_text_puts(cell, open[how]);
    put_figure(cell, how, entry->mean, entry->sd, digits);
    if (entry->best) wk_text_puts(cell, close[how]);
    wk_text_printf(cell, " (%zu)", entry->seeds);
    if (entry->best && how == TEXT) wk_text_puts(cell, " *");
}

static void put_papers(sheet *s, style how, const wk_table_entry *entry, int digits)
{
    wk_text *cell = add_cell(s);
    if (cell && entry->paper) put_figure(cell, how, entry->paper->mean, entry->paper->sd, digits);
}

static void put_row_names(const wk_score_table *t, const wk_table_row *row, style how,
                          const char *whose, sheet *s)
{
    for (int f = 0; f < WK_FIELDS; f++)
        if (t->heads[f]) put_name(s, how, row->key.names[f]);
    put_name(s, how, whose);
}

static bool has_papers(const wk_score_table *t, const wk_table_row *row)
{
    for (size_t c = 0; c < t->columns; c++)
        if (row->entries[c].paper) return true;
    return false;
}

static void put_row(const wk_score_table *t, const wk_table_row *row, style how, sheet *s)
{
    int digits = wk_table_row_digits(t, row);
    put_row_names(t, row, how, "ours", s);
    for (size_t c = 0; c < t->columns; c++)
        put_ours(s, how, &row->entries[c], digits);
    if (!has_papers(t, row)) return;
    put_row_names(t, row, how, "paper", s);
    for (size_t c = 0; c < t->columns; c++)
        put_papers(s, how, &row->entries[c], digits);
}

static void fill_sheet(const wk_score_table *t, style how, sheet *s)
{
    *s = (sheet){0};
    for (int f = 0; f < WK_FIELDS; f++) {
        if (!t->heads[f]) continue;
        put_name(s, how, wk_field_name((wk_field)f));
        s->heads++;
    }
    put_name(s, how, "of");
    s->heads++;
    s->columns = s->heads + t->columns;
    for (size_t c = 0; c < t->columns; c++)
        put_name(s, how, t->curricula[c]);
    for (size_t r = 0; r < t->rows.count; r++)
        put_row(t, &t->rows.items[r], how, s);
}

// Characters of UTF-8 text.
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static size_t column_width(const sheet *s, size_t column)
{
    size_t widest = 3;
    for (size_t i = column; i < s->cells.count; i += s->columns) {
        size_t width = width_of(wk_text_get(&s->cells.items[i]));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void put_blanks(wk_text *out, size_t count, char blank)
{
    for (; count > 0; count--)
        wk_text_append(out, &blank, 1);
}

// One line of cells, or of dashes: `left`, cells with `between`, `right`.
static void put_line(const sheet *s, const size_t *widths, size_t row, bool dashes,
                     const char *const edges[3], wk_text *out)
{
    wk_text_puts(out, edges[0]);
    for (size_t c = 0; c < s->columns; c++) {
        const char *cell = dashes ? "" : wk_text_get(&s->cells.items[row * s->columns + c]);
        if (c) wk_text_puts(out, edges[1]);
        wk_text_puts(out, cell);
        // Nothing follows the last column but the right edge.
        if (c + 1 < s->columns || dashes || *edges[2])
            put_blanks(out, widths[c] - width_of(cell), dashes ? '-' : ' ');
    }
    wk_text_puts(out, edges[2]);
    wk_text_puts(out, "\n");
}

static void put_lines(sheet *s, const char *const edges[3], wk_text *out)
{
    size_t *widths = calloc(s->columns, sizeof *widths);
    out->failed |= s->failed || !widths;
    if (!out->failed) {
        for (size_t c = 0; c < s->columns; c++)
            widths[c] = column_width(s, c);
        put_line(s, widths, 0, false, edges, out);
        put_line(s, widths, 0, true, edges, out);
        for (size_t r = 1; r < s->cells.count / s->columns; r++)
            put_line(s, widths, r, false, edges, out);
    }
    free(widths);
}

// How to read the entries.
static const char READING[] =
    "Entries are mean ± s.d. over seeds (population s.d.), the number of seeds in parentheses";

void wk_score_table_text(const wk_score_table *table, wk_text *out)
{
    static const char *const edges[3] = {"", "  ", ""};
    sheet s;
    fill_sheet(table, TEXT, &s);
    wk_text_printf(out, "%s\n%s\n%s;\n* is within 2 %% of the row's best.\n\n", table->title,
                   table->caption, READING);
    put_lines(&s, edges, out);
    free_sheet(&s);
}

void wk_score_table_markdown(const wk_score_table *table, wk_text *out)
{
    static const char *const edges[3] = {"| ", " | ", " |"};
    sheet s;
    fill_sheet(table, MARKDOWN, &s);
    wk_text_printf(out, "## %s\n\n%s %s; bold is within 2 %% of the row's best.\n\n", table->title,
                   table->caption, READING);
    put_lines(&s, edges, out);
    free_sheet(&s);
}

void wk_score_table_latex(const wk_score_table *table, wk_text *out)
{
    sheet s;
    fill_sheet(table, LATEX, &s);
    out->failed |= s.failed;
    wk_text_printf(
        out,
        "%% %s. Mean and population s.d. over seeds (number of seeds); bold: within 2\\%% "
        "of the row's best.\n\\begin{tabular}{",
        table->title);
    put_blanks(out, s.heads, 'l');
    put_blanks(out, s.columns - s.heads, 'r');
    wk_text_puts(out, "}\n\\hline\n");
    for (size_t i = 0; i < s.cells.count && !out->failed; i++) {
        bool last = i % s.columns == s.columns - 1;
        wk_text_printf(out, "%s%s", wk_text_get(&s.cells.items[i]), last ? " \\\\\n" : " & ");
        if (i + 1 == s.columns) wk_text_puts(out, "\\hline\n");
    }
    wk_text_puts(out, "\\hline\n\\end{tabular}\n");
    free_sheet(&s);
}

// A field in quotes where it needs them (RFC 4180).
static void csv_name(wk_text *out, const char *name)
{
    if (!name[strcspn(name, ",\"\r\n")]) {
        wk_text_puts(out, name);
        return;
    }
    wk_text_puts(out, "\"");
    for (; *name; name++)
        wk_text_printf(out, *name == '"' ? "\"%c" : "%c", *name);
    wk_text_puts(out, "\"");
}

static void csv_entry(const wk_score_table *t, const wk_table_row *row, size_t c, wk_text *out)
{
    const wk_table_entry *entry = &row->entries[c];
    for (int f = 0; f < WK_FIELD_CURRICULUM; f++) {
        csv_name(out, row->key.names[f]);
        wk_text_puts(out, ",");
    }
    csv_name(out, t->curricula[c]);
    if (entry->seeds)
        wk_text_printf(out, ",%.17g,%.17g,%zu,%d", entry->mean, entry->sd, entry->seeds,
                       entry->best);
    else
        wk_text_puts(out, ",,,0,0");
    if (entry->paper)
        wk_text_printf(out, ",%.17g,%.17g\n", entry->paper->mean, entry->paper->sd);
    else
        wk_text_puts(out, ",,\n");
}

void wk_score_table_csv(const wk_score_table *table, wk_text *out)
{
    wk_text_puts(out, "metric,domain,variant,task,exploration,curriculum,mean,sd,seeds,best,"
                      "paper_mean,paper_sd\n");
    for (size_t r = 0; r < table->rows.count; r++)
        for (size_t c = 0; c < table->columns; c++)
            csv_entry(table, &table->rows.items[r], c, out);
}
