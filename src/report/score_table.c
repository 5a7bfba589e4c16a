// Tables of scores: which rows are in them, means over seeds, marks, and the paper's values.
#include "report/tables.h"
#include "stats/resamples.h"

#include <stdlib.h>
#include <string.h>

// What makes each of the tables.
const wk_score_table_kind wk_score_table_kinds[WK_SCORE_TABLES] = {
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
    const char *metric = wk_score_table_kinds[kind].metric, *own = row->key.names[WK_FIELD_METRIC];
    return row->final && wk_row_is_combined(row) == wk_score_table_kinds[kind].combined &&
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
