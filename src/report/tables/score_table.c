#include "report/tables/score_table.h"

#include "report/tables/improvement.h"
#include "stats/resamples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What makes each of the tables.
static const struct {
    const char *name, *title, *caption, *metric; // metric NULL: all
    bool combined, variants;
} kinds[WK_TABLES] = {
    [WK_TABLE_CVAR] = {"cvar", "Robustness: CVaR 0.1",
                       "Mean of the worst tenth of the episodes in environments from the default "
                       "distribution.",
                       "cvar0.1", false, false},
    [WK_TABLE_AVERAGE] = {"average", "Average performance",
                          "Mean over episodes in environments from the default distribution.",
                          "average", false, false},
    [WK_TABLE_OOD_TASKS] = {"ood-tasks", "Out-of-distribution performance, averaged over tasks",
                            "Mean over the episodes of each out-of-distribution case, then over "
                            "the tasks of the domain: Table 2 of the paper. The paper's values are "
                            "left out where the runs have other tasks than the paper.",
                            WK_METRIC_OOD_TASKS, false, true},
    [WK_TABLE_OOD] = {"ood", "Out-of-distribution performance",
                      "Mean over the episodes of each out-of-distribution case.", "ood-average",
                      false, true},
    [WK_TABLE_COMBINED] = {"combined", "Combined domain",
                           "One world model for both domains, evaluated in each of them.", NULL,
                           true, true},
};

static bool belongs(const wk_seed_score *f, wk_table_kind kind)
{
    const char *metric = kinds[kind].metric;
    return f->final && wk_seed_score_is_combined(f) == kinds[kind].combined &&
           (metric ? strcmp(f->key.names[WK_FIELD_METRIC], metric) == 0
                   : strcmp(f->key.names[WK_FIELD_METRIC], WK_METRIC_OOD_TASKS) != 0);
}

static size_t find_column(const wk_score_table *table, const char *curriculum)
{
    size_t i = 0;
    while (i < table->columns && strcmp(table->curricula[i], curriculum) != 0)
        i++;
    return i;
}

// The curricula of the table's scores.
static bool find_columns(const wk_seed_scores *scores, wk_table_kind kind, wk_score_table *table)
{
    table->curricula = calloc(scores->items.count + 1, sizeof *table->curricula);
    if (!table->curricula) return false;
    for (size_t i = 0; i < scores->items.count; i++) {
        const wk_seed_score *f = &scores->items.items[i];
        const char *curriculum = f->key.names[WK_FIELD_CURRICULUM];
        if (belongs(f, kind) && find_column(table, curriculum) == table->columns)
            table->curricula[table->columns++] = curriculum;
    }
    qsort_r(table->curricula, table->columns, sizeof *table->curricula, wk_paper_compare_curricula,
            (void *)scores->paper);
    return true;
}

// Mean and s.d. of the final scores from `first` to `end`, all of one curriculum.
static void fill_entry(const wk_seed_score *items, size_t first, size_t end, wk_table_kind kind,
                       double *scratch, wk_table_entry *entry)
{
    size_t count = 0;
    for (size_t i = first; i < end; i++)
        if (belongs(&items[i], kind)) scratch[count++] = items[i].value;
    entry->seeds = count;
    if (count == 0) return;
    entry->mean = wk_stats_mean(scratch, count);
    entry->sd = wk_stats_sd(scratch, count);
}

// The scores of a row: entry c has entries[c].seeds of them, from at[c] on.
typedef struct row_scores {
    const double *values;
    const size_t *at;
} row_scores;

static wk_scores column_of(const row_scores *scores, const wk_table_row *row, size_t c)
{
    return (wk_scores){
        .values = scores->values + scores->at[c], .runs = row->entries[c].seeds, .tasks = 1};
}

// Marks the entry that certainly has higher scores than each of the others: the highest mean alone
// may be luck.
static wk_status mark_best(const wk_score_table *table, const row_scores *scores,
                           const wk_bootstrap_config *bootstrap, wk_resamples *resamples,
                           wk_table_row *row, wk_error *err)
{
    size_t best = table->columns, others = 0;
    for (size_t c = 0; c < table->columns; c++)
        if (row->entries[c].seeds &&
            (best == table->columns || row->entries[c].mean > row->entries[best].mean))
            best = c;
    if (best == table->columns) return WK_OK;
    bool certain = true;
    for (size_t c = 0; c < table->columns && certain; c++) {
        size_t x = row->entries[best].seeds, y = row->entries[c].seeds;
        if (c == best || y == 0) continue;
        wk_scores a = column_of(scores, row, best), b = column_of(scores, row, c);
        wk_estimate estimate;
        others++;
        certain = (x < y ? x : y) >= WK_CLAIM_RUNS_MIN;
        if (!certain) break;
        WK_TRY(wk_improvement_bootstrap_cached(&a, &b, bootstrap, resamples, &estimate, err));
        certain = wk_improvement_is_claimed(&estimate, x < y ? x : y);
    }
    row->entries[best].best = certain && others > 0;
    return WK_OK;
}

// Whether two results are of the same out-of-distribution case, of whatever task and curriculum.
static bool same_case(const wk_result_key *a, const wk_result_key *b)
{
    static const wk_field fields[] = {WK_FIELD_METRIC, WK_FIELD_DOMAIN, WK_FIELD_VARIANT,
                                      WK_FIELD_EXPLORATION};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(a->names[fields[i]], b->names[fields[i]]) != 0) return false;
    return true;
}

static bool has_score(const wk_seed_scores *scores, const wk_result_key *key)
{
    for (size_t i = 0; i < scores->items.count; i++) {
        const wk_seed_score *s = &scores->items.items[i];
        if (s->final && same_case(&s->key, key) &&
            strcmp(s->key.names[WK_FIELD_TASK], key->names[WK_FIELD_TASK]) == 0)
            return true;
    }
    return false;
}

// Whether the paper averaged the case over the same tasks as the runs do: means over other tasks
// are not comparable.
static bool has_papers_tasks(const wk_seed_scores *scores, wk_result_key key)
{
    key.names[WK_FIELD_METRIC] = "ood-average";
    for (size_t i = 0; i < scores->paper->rows.count; i++) {
        const wk_result_key *row = &scores->paper->rows.items[i].key;
        if (same_case(row, &key) && !has_score(scores, row)) return false;
    }
    for (size_t i = 0; i < scores->items.count; i++) {
        const wk_seed_score *s = &scores->items.items[i];
        key.names[WK_FIELD_TASK] = s->key.names[WK_FIELD_TASK];
        if (s->final && same_case(&s->key, &key) && !wk_paper_find(scores->paper, &key))
            return false;
    }
    return true;
}

static void find_paper(const wk_seed_scores *scores, const wk_score_table *table, wk_table_row *row)
{
    bool averaged = strcmp(row->key.names[WK_FIELD_METRIC], WK_METRIC_OOD_TASKS) == 0;
    for (size_t c = 0; c < table->columns; c++) {
        wk_result_key key = row->key;
        key.names[WK_FIELD_CURRICULUM] = table->curricula[c];
        if (!averaged || has_papers_tasks(scores, key))
            row->entries[c].paper = wk_paper_find(scores->paper, &key);
    }
}

// What making a table needs besides the scores.
typedef struct table_context {
    wk_table_kind kind;
    const wk_bootstrap_config *bootstrap;
    wk_resamples *resamples;
    double *scratch; // a row's scores
    size_t *at;      // [columns]: where those of an entry begin
} table_context;

// A row from the range of scores that differ in the curriculum only.
static wk_status add_row(const wk_seed_scores *scores, const table_context *m, size_t first,
                         size_t end, wk_score_table *table, wk_error *err)
{
    const wk_seed_score *items = scores->items.items;
    wk_table_row row = {.key = items[first].key};
    size_t used = 0;
    row.entries = calloc(table->columns, sizeof *row.entries);
    if (!row.entries) return wk_fail(err, WK_E_MEMORY, "no memory for the table '%s'", table->name);
    for (size_t from = first, to; from < end; from = to) {
        to = wk_seed_scores_range_end(scores, from, WK_FIELDS);
        size_t column = find_column(table, items[from].key.names[WK_FIELD_CURRICULUM]);
        if (column == table->columns) continue;
        m->at[column] = used;
        fill_entry(items, from, to, m->kind, m->scratch + used, &row.entries[column]);
        used += row.entries[column].seeds;
    }
    wk_status status =
        mark_best(table, &(row_scores){m->scratch, m->at}, m->bootstrap, m->resamples, &row, err);
    find_paper(scores, table, &row);
    if (status == WK_OK && !wk_array_push(&table->rows, row))
        status = wk_fail(err, WK_E_MEMORY, "no memory for the table '%s'", table->name);
    if (status != WK_OK) free(row.entries);
    return status;
}

static bool any_belongs(const wk_seed_scores *scores, wk_table_kind kind, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (belongs(&scores->items.items[i], kind)) return true;
    return false;
}

wk_status wk_score_table_make(const wk_seed_scores *scores, wk_table_kind kind,
                              const wk_bootstrap_config *bootstrap, wk_score_table *out,
                              wk_error *err)
{
    *out = (wk_score_table){
        .name = kinds[kind].name, .title = kinds[kind].title, .caption = kinds[kind].caption};
    out->heads[WK_FIELD_METRIC] = !kinds[kind].metric;
    out->heads[WK_FIELD_VARIANT] = kinds[kind].variants;
    out->heads[WK_FIELD_DOMAIN] = out->heads[WK_FIELD_EXPLORATION] = true;
    out->heads[WK_FIELD_TASK] = kind != WK_TABLE_OOD_TASKS;
    size_t count = scores->items.count;
    wk_resamples resamples = {0};
    table_context m = {kind, bootstrap, &resamples, malloc((count + 1) * sizeof *m.scratch),
                       malloc((count + 1) * sizeof *m.at)};
    wk_status status = m.scratch && m.at && find_columns(scores, kind, out)
                           ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory for the table '%s'", out->name);
    for (size_t first = 0, end; first < count && status == WK_OK; first = end) {
        end = wk_seed_scores_range_end(scores, first, WK_FIELD_CURRICULUM);
        if (any_belongs(scores, kind, first, end))
            status = add_row(scores, &m, first, end, out, err);
    }
    wk_resamples_free(&resamples);
    free(m.scratch);
    free(m.at);
    return status;
}

void wk_score_table_free(wk_score_table *table)
{
    for (size_t r = 0; r < table->rows.count; r++)
        free(table->rows.items[r].entries);
    wk_array_free(&table->rows);
    free(table->curricula);
    *table = (wk_score_table){0};
}

int wk_table_row_digits(const wk_score_table *table, const wk_table_row *row)
{
    double max = 0;
    for (size_t c = 0; c < table->columns; c++) {
        const wk_table_entry *entry = &row->entries[c];
        if (entry->seeds) max = fmax(max, fabs(entry->mean));
        if (entry->paper) max = fmax(max, fabs(entry->paper->mean));
    }
    return max >= 10 ? 1 : 3;
}

// The number of seeds that all entries have; 0 if they differ.
static size_t common_seeds(const wk_score_table *table)
{
    size_t common = 0;
    for (size_t i = 0; i < table->rows.count * table->columns; i++) {
        size_t seeds = table->rows.items[i / table->columns].entries[i % table->columns].seeds;
        if (seeds == 0) continue;
        if (common && seeds != common) return 0;
        common = seeds;
    }
    return common;
}

// Says how to read the entries; with `common` their number of seeds is said here once.
static void put_caption(const wk_score_table *table, bool papers_below, size_t common,
                        wk_text_table *out)
{
    wk_text_printf(&out->caption, "%s Mean ± s.d. over ", table->caption);
    if (common)
        wk_text_printf(&out->caption, "%zu seed%s (population s.d.)", common,
                       common > 1 ? "s" : "");
    else
        wk_text_puts(&out->caption, "seeds (population s.d.), number of seeds in parentheses");
    wk_text_printf(&out->caption,
                   "; marked: higher than every other method of the row with 95 %% confidence, of "
                   "at least %d seeds each.",
                   WK_CLAIM_RUNS_MIN);
    if (!papers_below) wk_text_puts(&out->caption, " In brackets: the paper's, over 5 seeds.");
}

static void put_ours(const wk_table_entry *entry, int digits, bool seeds, wk_text_table *out)
{
    if (entry->seeds == 1) // one number has no spread
        wk_text_table_add(out, entry->best, seeds ? "%.*f (1)" : "%.*f", digits, entry->mean);
    else if (entry->seeds && seeds)
        wk_text_table_add(out, entry->best, "%.*f ± %.*f (%zu)", digits, entry->mean, digits,
                          entry->sd, entry->seeds);
    else if (entry->seeds)
        wk_text_table_add(out, entry->best, "%.*f ± %.*f", digits, entry->mean, digits, entry->sd);
    else
        wk_text_table_add(out, false, "-");
}

static void put_papers(const wk_table_entry *entry, int digits, wk_text_table *out)
{
    if (entry->paper)
        wk_text_table_add(out, false, "%.*f ± %.*f", digits, entry->paper->mean, digits,
                          entry->paper->sd);
    else
        wk_text_table_add(out, false, "-");
}

static bool has_papers(const wk_score_table *table, const wk_table_row *row)
{
    for (size_t c = 0; c < table->columns; c++)
        if (row->entries[c].paper) return true;
    return false;
}

static void put_names(const wk_score_table *table, const wk_table_row *row, const char *whose,
                      wk_text_table *out)
{
    for (int f = 0; f < WK_FIELDS; f++)
        if (table->heads[f]) wk_text_table_add(out, false, "%s", row->key.names[f]);
    if (whose) wk_text_table_add(out, false, "%s", whose);
}

static void put_row(const wk_score_table *table, const wk_table_row *row, bool papers_below,
                    size_t common, wk_text_table *out)
{
    int digits = wk_table_row_digits(table, row);
    put_names(table, row, papers_below ? "ours" : NULL, out);
    for (size_t c = 0; c < table->columns; c++) {
        const wk_table_entry *entry = &row->entries[c];
        put_ours(entry, digits, common == 0, out);
        if (!papers_below && entry->paper)
            wk_text_table_subtext(out, "[%.*f ± %.*f]", digits, entry->paper->mean, digits,
                                  entry->paper->sd);
    }
    if (!papers_below || !has_papers(table, row)) return;
    put_names(table, row, "paper", out);
    for (size_t c = 0; c < table->columns; c++)
        put_papers(&row->entries[c], digits, out);
}

void wk_score_table_format(const wk_score_table *table, bool papers_below, wk_text_table *out)
{
    // The page has little room: a number that is everywhere the same is said once.
    size_t common = papers_below ? 0 : common_seeds(table);
    out->title = table->title;
    put_caption(table, papers_below, common, out);
    for (int f = 0; f < WK_FIELDS; f++)
        if (table->heads[f]) {
            wk_text_table_add(out, false, "%s", wk_field_name((wk_field)f));
            out->heads++;
        }
    if (papers_below) {
        wk_text_table_add(out, false, "of");
        out->heads++;
    }
    out->columns = out->heads + table->columns;
    for (size_t c = 0; c < table->columns; c++)
        wk_text_table_add(out, false, "%s", table->curricula[c]);
    for (size_t r = 0; r < table->rows.count; r++)
        put_row(table, &table->rows.items[r], papers_below, common, out);
}

static void csv_entry(const wk_score_table *table, const wk_table_row *row, size_t c, wk_text *out)
{
    const wk_table_entry *entry = &row->entries[c];
    for (int f = 0; f < WK_FIELD_CURRICULUM; f++) {
        wk_csv_field(out, row->key.names[f]);
        wk_text_puts(out, ",");
    }
    wk_csv_field(out, table->curricula[c]);
    if (entry->seeds)
        wk_text_printf(out, ",%.17g,%.17g", entry->mean, entry->sd);
    else
        wk_text_puts(out, ",,");
    wk_text_printf(out, ",%zu,%d", entry->seeds, entry->best);
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
