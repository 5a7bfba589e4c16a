// A table of scores on the page: ours in large, the paper's figure and the number of seeds below.
#include "base/arena.h"
#include "report/tables.h"

#include <stdio.h>
#include <stdlib.h>

static bool fill_cell(wk_arena *arena, const wk_table_entry *entry, int digits, wk_page_cell *cell)
{
    char text[160];
    *cell = (wk_page_cell){.best = entry->best, .text = "-"};
    if (entry->seeds) {
        snprintf(text, sizeof text, "%.*f ± %.*f (%zu)", digits, entry->mean, digits, entry->sd,
                 entry->seeds);
        cell->text = wk_arena_string(arena, text);
    }
    if (entry->paper) {
        snprintf(text, sizeof text, "paper %.*f ± %.*f", digits, entry->paper->mean, digits,
                 entry->paper->sd);
        cell->aside = wk_arena_string(arena, text);
    }
    return cell->text && (!entry->paper || cell->aside);
}

static bool fill_row(const wk_score_table *t, const wk_table_row *row, wk_arena *arena,
                     wk_page_cell *cells)
{
    int digits = wk_table_row_digits(t, row);
    bool all = true;
    for (int f = 0; f < WK_FIELDS; f++)
        if (t->heads[f]) *cells++ = (wk_page_cell){.text = row->key.names[f]};
    for (size_t c = 0; c < t->columns; c++)
        all &= fill_cell(arena, &row->entries[c], digits, cells++);
    return all;
}

static size_t fill_header(const wk_score_table *t, const char **header)
{
    size_t heads = 0;
    for (int f = 0; f < WK_FIELDS; f++)
        if (t->heads[f]) header[heads++] = wk_field_name((wk_field)f);
    for (size_t c = 0; c < t->columns; c++)
        header[heads + c] = t->curricula[c];
    return heads;
}

wk_status wk_score_table_page(const wk_score_table *table, wk_page *page, wk_error *err)
{
    size_t widest = WK_FIELDS + table->columns;
    wk_arena arena = {0};
    const char **header = calloc(widest, sizeof *header);
    wk_page_cell *cells = calloc(widest * (table->rows.count + 1), sizeof *cells);
    bool all = header && cells;
    if (all) {
        size_t heads = fill_header(table, header), columns = heads + table->columns;
        for (size_t r = 0; r < table->rows.count && all; r++)
            all = fill_row(table, &table->rows.items[r], &arena, cells + r * columns);
        wk_page_table_data data = {.caption = table->caption,
                                   .columns = columns,
                                   .rows = table->rows.count,
                                   .row_heads = heads,
                                   .header = header,
                                   .cells = cells};
        if (all) wk_page_table(page, &data);
    }
    free(header);
    free(cells);
    wk_arena_reset(&arena);
    return all ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for the table '%s'", table->name);
}
