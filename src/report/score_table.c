// Tables of scores: which rows are in them, means over seeds, marks, and the paper's values.
#include "report/tables.h"
#include "stats/resamples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title, *caption;
    const char *metric; // NULL: all
    bool combined;      // of parts of combined domains
    bool variants;      // of out-of-distribution cases
} kinds[WK_SCORE_TABLES] = {
    [WK_TABLE_CVAR] = {"cvar", "Robustness: CVaR 0.1",
                       "Mean of the worst tenth of the episodes in environments from the default "
                       "distribution.",
                       "cvar0.1", false, false},
    [WK_TABLE_AVERAGE] = {"average", "Average performance",
                          "Mean over episodes in environments from the default distribution.",
                          "average", false, false},
    [WK_TABLE_OOD_TASKS] = {"ood-tasks", "Out-of-distribution performance, averaged over tasks",
                            "Mean over the episodes of each out-of-distribution case, then over "
                            "the tasks of the domain.",
                            WK_METRIC_OOD_TASKS, false, true},
    [WK_TABLE_OOD] = {"ood", "Out-of-distribution performance",
                      "Mean over the episodes of each out-of-distribution case.", "ood-average",
                      false, true},
    [WK_TABLE_COMBINED] = {"combined", "Combined domain",
                           "One world model for both domains, evaluated in each of them.", NULL,
                           true, true},
};

static bool belongs(const wk_report_row *row, wk_table_kind kind)
{
    const char *metric = kinds[kind].metric, *own = row->key.names[WK_FIELD_METRIC];
    return row->final && wk_row_is_combined(row) == kinds[kind].combined &&
           (metric ? strcmp(own, metric) == 0 : strcmp(own, WK_METRIC_OOD_TASKS) != 0);
}

// Marks the entry that certainly has higher scores than each of the others: the highest mean alone
// may be luck. Entry c has its scores at at[c].
static wk_status mark_best(wk_table_entry *entries, size_t columns, double *const *at,
                           const wk_bootstrap_config *bootstrap, wk_resamples *resamples,
                           wk_error *err)
{
    size_t best = columns, others = 0;
    for (size_t c = 0; c < columns; c++)
        if (entries[c].seeds && (best == columns || entries[c].mean > entries[best].mean)) best = c;
    if (best == columns) return WK_OK;
    for (size_t c = 0; c < columns; c++) {
        size_t x = entries[best].seeds, y = entries[c].seeds, fewer = x < y ? x : y;
        if (c == best || y == 0) continue;
        others++;
        if (fewer < WK_CLAIM_RUNS_MIN) return WK_OK;
        wk_scores a = {.values = at[best], .runs = x, .tasks = 1};
        wk_scores b = {.values = at[c], .runs = y, .tasks = 1};
        wk_estimate estimate;
        WK_TRY(wk_improvement_bootstrap_cached(&a, &b, bootstrap, resamples, &estimate, err));
        if (!wk_improvement_is_claimed(&estimate, fewer)) return WK_OK;
    }
    entries[best].best = others > 0;
    return WK_OK;
}

// Whether two results are of the same out-of-distribution case, of whatever task and method.
static bool same_case(const wk_result_key *a, const wk_result_key *b)
{
    static const wk_field fields[] = {WK_FIELD_METRIC, WK_FIELD_DOMAIN, WK_FIELD_VARIANT,
                                      WK_FIELD_EXPLORATION};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(a->names[fields[i]], b->names[fields[i]]) != 0) return false;
    return true;
}

// Whether the paper averaged the case over the same tasks as the runs do: means over other tasks
// are not comparable.
static bool has_papers_tasks(const wk_report_rows *scores, wk_result_key key)
{
    key.names[WK_FIELD_METRIC] = "ood-average";
    for (size_t i = 0; i < scores->paper->rows.count; i++) {
        const wk_result_key *row = &scores->paper->rows.items[i].key;
        bool ours = !same_case(row, &key);
        for (size_t k = 0; k < scores->items.count && !ours; k++) {
            const wk_report_row *s = &scores->items.items[k];
            ours = s->final && same_case(&s->key, row) &&
                   strcmp(s->key.names[WK_FIELD_TASK], row->names[WK_FIELD_TASK]) == 0;
        }
        if (!ours) return false;
    }
    for (size_t i = 0; i < scores->items.count; i++) {
        const wk_report_row *s = &scores->items.items[i];
        key.names[WK_FIELD_TASK] = s->key.names[WK_FIELD_TASK];
        if (s->final && same_case(&s->key, &key) && !wk_paper_find(scores->paper, &key))
            return false;
    }
    return true;
}

wk_status wk_score_table_make(wk_report_memory *memory, const wk_report_rows *scores,
                              wk_table_kind kind, const wk_bootstrap_config *bootstrap,
                              wk_score_table *out, wk_error *err)
{
    const wk_report_row *items = scores->items.items;
    WK_ARRAY(const char *) methods = {0};
    wk_resamples resamples = {0};
    wk_status status = WK_OK;
    for (size_t i = 0; i < scores->items.count; i++) {
        const char *method = items[i].key.names[WK_FIELD_CURRICULUM];
        size_t m = 0;
        while (m < methods.count && strcmp(methods.items[m], method) != 0)
            m++;
        if (m == methods.count && belongs(&items[i], kind))
            wk_report_push(memory, &methods, method);
    }
    if (methods.count)
        qsort_r(methods.items, methods.count, sizeof *methods.items, wk_paper_compare_curricula,
                (void *)scores->paper);
    out->columns = methods.count;
    double **at = wk_report_alloc(memory, methods.count + 1, sizeof *at);
    double *values = wk_report_alloc(memory, scores->items.count + 1, sizeof *values);
    // A row for each range of scores that differ in the method only.
    for (size_t first = 0, end; first < scores->items.count && status == WK_OK; first = end) {
        size_t used = 0, begin = out->entries.count;
        end = wk_rows_end(scores, first, WK_ROW_FIELDS);
        for (size_t m = 0; m < methods.count && !memory->failed; m++) {
            wk_table_entry entry = {.key = items[first].key};
            entry.key.names[WK_FIELD_CURRICULUM] = methods.items[m];
            at[m] = values + used;
            for (size_t i = first; i < end; i++)
                if (belongs(&items[i], kind) &&
                    strcmp(items[i].key.names[WK_FIELD_CURRICULUM], methods.items[m]) == 0)
                    at[m][entry.seeds++] = items[i].value;
            used += entry.seeds;
            if (entry.seeds) entry.mean = wk_stats_mean(at[m], entry.seeds);
            if (entry.seeds) entry.sd = wk_stats_sd(at[m], entry.seeds);
            if (kind != WK_TABLE_OOD_TASKS || has_papers_tasks(scores, entry.key))
                entry.paper = wk_paper_find(scores->paper, &entry.key);
            wk_report_push(memory, &out->entries, entry);
        }
        if (used == 0) out->entries.count = begin; // of another table
        status = wk_report_memory_check(memory, err);
        if (used == 0 || status != WK_OK) continue;
        status =
            mark_best(out->entries.items + begin, methods.count, at, bootstrap, &resamples, err);
        out->rows++;
    }
    wk_resamples_free(&resamples);
    return status;
}

// Says how to read the entries; with `common` their number of seeds is said here once. Of the paper
// it speaks only where the table has its values.
static const char *caption_of(wk_report_table *t, wk_table_kind kind, bool page, size_t common,
                              bool paper, bool best)
{
    const char *of = "Mean ± s.d. over seeds (population s.d.), number of seeds in parentheses.";
    if (common == 1)
        of = "Of one seed each.";
    else if (common)
        of = wk_report_printf(t->memory, "Mean ± s.d. over %zu seeds (population s.d.).", common);
    const char *marked =
        wk_report_printf(t->memory,
                         " Marked: higher than every other method of the row with 95 %% "
                         "confidence, of at least %d seeds each.",
                         WK_CLAIM_RUNS_MIN);
    return wk_report_printf(t->memory, "%s%s %s%s%s", kinds[kind].caption,
                            paper && kind == WK_TABLE_OOD_TASKS
                                ? " This is Table 2 of the paper, whose values are left out where "
                                  "the runs have other tasks."
                                : "",
                            of, best ? marked : "",
                            page && paper ? " In brackets: the paper's, over 5 seeds." : "");
}

// Which fields name the rows.
static bool is_head(wk_table_kind kind, wk_field field)
{
    if (field == WK_FIELD_METRIC) return !kinds[kind].metric;
    if (field == WK_FIELD_VARIANT) return kinds[kind].variants;
    return field != WK_FIELD_TASK || kind != WK_TABLE_OOD_TASKS;
}

static void put_entry(wk_report_table *t, const wk_table_entry *e, int digits, bool common)
{
    const char *method = e->key.names[WK_FIELD_CURRICULUM];
    const wk_paper_row *paper = e->paper;
    for (int views = WK_SEE_PAGE; views <= WK_SEE_TEXT; views *= 2) {
        bool seeds = views == WK_SEE_TEXT || !common; // is their number said?
        wk_report_cell *cell;
        if (e->seeds == 1) // one number has no spread
            cell = wk_cells_show(t, views, method, seeds ? "%.*f (1)" : "%.*f", digits, e->mean);
        else if (e->seeds && seeds)
            cell = wk_cells_show(t, views, method, "%.*f ± %.*f (%zu)", digits, e->mean, digits,
                                 e->sd, e->seeds);
        else if (e->seeds)
            cell = wk_cells_show(t, views, method, "%.*f ± %.*f", digits, e->mean, digits, e->sd);
        else
            cell = wk_cells_show(t, views, method, "-");
        cell->best = e->best;
        if (paper && views == WK_SEE_PAGE)
            cell->subtext = wk_report_printf(t->memory, "[%.*f ± %.*f]", digits, paper->mean,
                                             digits, paper->sd);
    }
    wk_cells_row(t, WK_SEE_PROGRAMS);
    for (int k = 0; k < WK_FIELDS; k++) {
        const char *head = k == WK_FIELD_VARIANT ? "variant" : wk_field_name((wk_field)k);
        wk_cells_text(t, WK_SEE_PROGRAMS, head, e->key.names[k]);
    }
    wk_cells_number(t, WK_SEE_CSV, "mean", e->seeds ? e->mean : NAN);
    wk_cells_number(t, WK_SEE_CSV, "sd", e->seeds ? e->sd : NAN);
    wk_cells_count(t, WK_SEE_PROGRAMS, "seeds", e->seeds);
    if (e->seeds) wk_cells_number(t, WK_SEE_JSON, "mean", e->mean);
    if (e->seeds) wk_cells_number(t, WK_SEE_JSON, "sd", e->sd);
    wk_cells_truth(t, e->seeds ? WK_SEE_PROGRAMS : WK_SEE_CSV, "best", e->best);
    wk_cells_number(t, paper ? WK_SEE_PROGRAMS : WK_SEE_CSV, "paper_mean",
                    paper ? paper->mean : NAN);
    wk_cells_number(t, paper ? WK_SEE_PROGRAMS : WK_SEE_CSV, "paper_sd", paper ? paper->sd : NAN);
}

// A row of ours and, in the text and where the paper has values, one of the paper's below it; on
// the page those are subtexts of ours.
void wk_score_table_fill(wk_table_kind kind, const wk_score_table *scores, wk_report_table *t)
{
    // The page has little room: a number of seeds that is everywhere the same is said once.
    size_t common = 0;
    bool differ = false, paper = false, best = false;
    for (size_t i = 0; i < scores->entries.count; i++) {
        paper |= scores->entries.items[i].paper != NULL;
        best |= scores->entries.items[i].best;
        size_t seeds = scores->entries.items[i].seeds;
        differ |= seeds && common && seeds != common;
        if (seeds) common = seeds;
    }
    t->name = kinds[kind].name;
    t->title = kinds[kind].title;
    t->page.caption = caption_of(t, kind, true, differ ? 0 : common, paper, best);
    t->text.caption = caption_of(t, kind, false, 0, paper, best);
    for (int k = 0; k < WK_FIELD_CURRICULUM; k++)
        t->page.heads += is_head(kind, (wk_field)k);
    t->text.heads = t->page.heads + 1;
    for (size_t r = 0; r < scores->rows; r++) {
        const wk_table_entry *entries = &scores->entries.items[r * scores->columns];
        double max = 0; // returns have 1 digit after the point, shares 3
        bool papers = false;
        for (size_t c = 0; c < scores->columns; c++) {
            papers |= entries[c].paper != NULL;
            if (entries[c].seeds) max = fmax(max, fabs(entries[c].mean));
            if (entries[c].paper) max = fmax(max, fabs(entries[c].paper->mean));
        }
        int digits = max >= 10 ? 1 : 3;
        for (int line = 0; line < 1 + papers; line++) {
            int views = line ? WK_SEE_TEXT : WK_SEE_PEOPLE;
            wk_cells_row(t, views);
            for (int k = 0; k < WK_FIELD_CURRICULUM; k++)
                if (is_head(kind, (wk_field)k))
                    wk_cells_text(t, views, wk_field_name((wk_field)k), entries->key.names[k]);
            wk_cells_show(t, WK_SEE_TEXT, "of", line ? "paper" : "ours");
            for (size_t c = 0; c < scores->columns; c++) {
                const wk_paper_row *theirs = entries[c].paper;
                const char *method = entries[c].key.names[WK_FIELD_CURRICULUM];
                if (!line)
                    put_entry(t, &entries[c], digits, !differ);
                else if (theirs)
                    wk_cells_show(t, WK_SEE_TEXT, method, "%.*f ± %.*f", digits, theirs->mean,
                                  digits, theirs->sd);
                else
                    wk_cells_show(t, WK_SEE_TEXT, method, "-");
            }
        }
    }
}
