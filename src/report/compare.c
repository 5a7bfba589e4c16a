// Comparisons of methods by their scores, and what they say in words.
#include "report/results.h"

#include "stats/resamples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool wk_improvement_is_claimed(const wk_estimate *estimate, size_t min_runs)
{
    return min_runs >= WK_CLAIM_RUNS_MIN && estimate->low > 0.5;
}

bool wk_comparison_group_same(const wk_comparison_group *a, const wk_comparison_group *b)
{
    return a->combined == b->combined && strcmp(a->metric, b->metric) == 0 &&
           strcmp(a->exploration, b->exploration) == 0;
}

const char *wk_comparison_group_title(wk_report_memory *memory, const wk_comparison_group *group)
{
    const char *metric = group->metric;
    if (strcmp(metric, "cvar0.1") == 0) metric = "CVaR 0.1";
    if (strcmp(metric, "ood-average") == 0) metric = "Out-of-distribution average";
    if (strcmp(metric, "average") == 0) metric = "Average";
    return wk_report_printf(memory, "%s, %s%s", metric, group->exploration,
                            group->combined ? ", combined domain" : "");
}

// The numbers.

// The rows of a task, of which some may be of another group.
typedef struct task {
    const wk_report_row *first, *end;
    double unit; // the highest score of any method; 1 where none is positive
} task;

// A group's tasks and methods, and room for comparing two of these.
typedef struct contest {
    wk_comparison_group group;
    WK_ARRAY(task) tasks;
    wk_sentences methods;
    size_t max_runs;         // of one task
    double *x, *y;           // [max_runs,tasks]: of the tasks that both sides have
    size_t *x_runs, *y_runs; // [tasks]
    const wk_bootstrap_config *config;
    wk_resamples *resamples;
} contest;

static wk_comparison_group group_of(const wk_report_row *row)
{
    return (wk_comparison_group){row->key.names[WK_FIELD_METRIC],
                                 row->key.names[WK_FIELD_EXPLORATION], wk_row_is_combined(row)};
}

static bool takes_part(const wk_comparison_group *group, const wk_report_row *row)
{
    wk_comparison_group own = group_of(row);
    return row->final && wk_comparison_group_same(group, &own);
}

static bool is_of(const contest *c, const wk_report_row *row, const char *method)
{
    return strcmp(row->key.names[WK_FIELD_CURRICULUM], method) == 0 && takes_part(&c->group, row);
}

static void find_tasks(contest *c, wk_report_memory *memory, const wk_report_rows *rows)
{
    const wk_report_row *items = rows->items.items;
    for (size_t first = 0, end; first < rows->items.count; first = end) {
        double highest = 0;
        size_t runs = 0;
        end = wk_rows_end(rows, first, WK_ROW_FIELDS);
        for (size_t i = first; i < end; i++) {
            if (!takes_part(&c->group, &items[i])) continue;
            wk_sentences_add(memory, &c->methods, "%s", items[i].key.names[WK_FIELD_CURRICULUM]);
            highest = fmax(highest, items[i].value);
            runs++;
        }
        if (runs > c->max_runs) c->max_runs = runs;
        // Scores are divided by the highest of any method, as the paper does.
        const task found = {&items[first], &items[end], highest > 0 ? highest : 1};
        if (runs) wk_report_push(memory, &c->tasks, found);
    }
    size_t cells = c->tasks.count * c->max_runs;
    c->x = wk_report_alloc(memory, cells, sizeof *c->x);
    c->y = wk_report_alloc(memory, cells, sizeof *c->y);
    c->x_runs = wk_report_alloc(memory, c->tasks.count, sizeof *c->x_runs);
    c->y_runs = wk_report_alloc(memory, c->tasks.count, sizeof *c->y_runs);
    if (c->methods.items.count)
        qsort_r(c->methods.items.items, c->methods.items.count, sizeof *c->methods.items.items,
                wk_paper_compare_curricula, (void *)rows->paper);
}

static size_t count_runs(const contest *c, const task *t, const char *method)
{
    size_t count = 0;
    for (const wk_report_row *row = t->first; row < t->end; row++)
        count += is_of(c, row, method);
    return count;
}

// The scores of a method on those tasks that it and `other` have results of.
static wk_scores matrix(const contest *c, const char *method, const char *other, double *values,
                        size_t *runs)
{
    wk_scores out = {.values = values, .runs = c->max_runs, .runs_of = runs, .name = method};
    for (const task *t = c->tasks.items; t < c->tasks.items + c->tasks.count; t++)
        if (count_runs(c, t, method) && count_runs(c, t, other)) runs[out.tasks++] = 0;
    size_t column = 0;
    for (const task *t = c->tasks.items; t < c->tasks.items + c->tasks.count; t++) {
        if (!count_runs(c, t, method) || !count_runs(c, t, other)) continue;
        for (const wk_report_row *row = t->first; row < t->end; row++)
            if (is_of(c, row, method))
                values[runs[column]++ * out.tasks + column] = row->value / t->unit;
        column++;
    }
    return out;
}

static wk_status compare_group(contest *c, wk_report_memory *memory, wk_comparison *out,
                               wk_error *err)
{
    const char *const *methods = c->methods.items.items;
    for (size_t a = 0; a < c->methods.items.count; a++) {
        // A method alone, then with each of those after it.
        wk_scores x = matrix(c, methods[a], methods[a], c->x, c->x_runs), y;
        wk_method_score score = {.group = c->group, .method = methods[a], .tasks = x.tasks};
        for (size_t t = 0; t < x.tasks; t++)
            if (c->x_runs[t] > score.runs) score.runs = c->x_runs[t];
        WK_TRY(wk_stats_bootstrap(&x, WK_AGGREGATE_IQM, c->config, &score.iqm, err));
        wk_report_push(memory, &out->ranking, score);
        for (size_t b = a + 1; b < c->methods.items.count; b++) {
            x = matrix(c, methods[a], methods[b], c->x, c->x_runs);
            y = matrix(c, methods[b], methods[a], c->y, c->y_runs);
            wk_improvement pair = {.group = c->group,
                                   .x = methods[a],
                                   .y = methods[b],
                                   .tasks = x.tasks,
                                   .min_runs = c->max_runs};
            for (size_t t = 0; t < x.tasks; t++) {
                size_t fewer = c->x_runs[t] < c->y_runs[t] ? c->x_runs[t] : c->y_runs[t];
                if (fewer < pair.min_runs) pair.min_runs = fewer;
            }
            if (x.tasks == 0) continue;
            WK_TRY(wk_improvement_bootstrap_cached(&x, &y, c->config, c->resamples, &pair.estimate,
                                                   err));
            wk_report_push(memory, &out->improvements, pair);
        }
    }
    return wk_report_memory_check(memory, err);
}

wk_status wk_comparison_make(wk_report_memory *memory, const wk_report_rows *rows,
                             const wk_bootstrap_config *config, wk_comparison *out, wk_error *err)
{
    WK_ARRAY(wk_comparison_group) groups = {0};
    for (size_t i = 0; i < rows->items.count; i++) {
        const wk_report_row *row = &rows->items.items[i];
        bool known =
            !row->final || strcmp(row->key.names[WK_FIELD_METRIC], WK_METRIC_OOD_TASKS) == 0;
        for (size_t k = 0; k < groups.count && !known; k++)
            known = takes_part(&groups.items[k], row);
        if (!known) wk_report_push(memory, &groups, group_of(row));
    }
    wk_status status = wk_report_memory_check(memory, err);
    for (size_t i = 0; i < groups.count && status == WK_OK; i++) {
        wk_resamples resamples = {0};
        contest c = {.group = groups.items[i], .config = config, .resamples = &resamples};
        find_tasks(&c, memory, rows);
        status = wk_report_memory_check(memory, err);
        if (status == WK_OK) status = compare_group(&c, memory, out, err);
        wk_resamples_free(&resamples);
    }
    return status;
}

// The findings.

// Which of the two scores higher for certain: 1 for X, -1 for Y, 0 for neither.
static int winner(const wk_improvement *p)
{
    if (wk_improvement_is_claimed(&p->estimate, p->min_runs)) return 1;
    wk_estimate turned = {1 - p->estimate.value, 1 - p->estimate.high, 1 - p->estimate.low};
    return wk_improvement_is_claimed(&turned, p->min_runs) ? -1 : 0;
}

// "'waker-m' scores higher than 'dr', 'ge'"; of a single pair with its numbers, of several the
// table has them. Whether there is anything.
static bool put_wins(const wk_improvement *pairs, size_t count, const char *name,
                     const char *between, wk_text *out)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const wk_improvement *p = &pairs[i];
        const wk_estimate *e = &p->estimate;
        bool x = strcmp(p->x, name) == 0;
        if ((!x && strcmp(p->y, name) != 0) || winner(p) != (x ? 1 : -1)) continue;
        if (any)
            wk_text_puts(out, ", ");
        else
            wk_text_printf(out, "%s'%s' scores higher than ", between, name);
        any = true;
        wk_text_printf(out, "'%s'", x ? p->y : p->x);
        if (count == 1)
            wk_text_printf(out, " (probability %.2f, interval %.2f to %.2f)",
                           x ? e->value : 1 - e->value, x ? e->low : 1 - e->high,
                           x ? e->high : 1 - e->low);
    }
    return any;
}

static void put_none(const wk_improvement *pairs, size_t n_pairs, const wk_method_score *methods,
                     size_t n_methods, wk_text *out)
{
    size_t runs = SIZE_MAX;
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].min_runs < runs) runs = pairs[i].min_runs;
    wk_text_puts(out, "no difference can be claimed between ");
    for (size_t i = 0; i < n_methods; i++)
        wk_text_printf(out, "%s'%s'",
                       i == 0              ? ""
                       : i + 1 < n_methods ? ", "
                                           : " and ",
                       methods[i].method);
    if (runs < WK_CLAIM_RUNS_MIN)
        wk_text_printf(out, ": %zu run%s of a task %s too few, %d of each method are needed", runs,
                       wk_plural((uint64_t)runs), runs == 1 ? "is" : "are", WK_CLAIM_RUNS_MIN);
    else
        wk_text_puts(out, ": the intervals of all probabilities of improvement include 0.5");
}

void wk_comparison_findings(wk_report_memory *memory, const wk_comparison *comparison,
                            wk_sentences *out)
{
    size_t count = comparison->ranking.count, n_methods;
    for (size_t first = 0; first < count; first += n_methods) {
        const wk_method_score *methods = &comparison->ranking.items[first];
        const wk_improvement *pairs = NULL;
        size_t n_pairs = 0;
        wk_text text = {0};
        for (n_methods = 0; first + n_methods < count &&
                            wk_comparison_group_same(&methods->group, &methods[n_methods].group);)
            n_methods++;
        for (size_t i = 0; i < comparison->improvements.count; i++) {
            const wk_improvement *p = &comparison->improvements.items[i];
            if (wk_comparison_group_same(&methods->group, &p->group) && n_pairs++ == 0) pairs = p;
        }
        bool any = false;
        for (size_t i = 0; i < n_methods; i++)
            any |= put_wins(pairs, n_pairs, methods[i].method, any ? "; " : "", &text);
        const char *before = ". No difference can be claimed between ";
        for (size_t i = 0; i < n_pairs && any; i++) {
            if (winner(&pairs[i]) != 0) continue;
            wk_text_printf(&text, "%s'%s' and '%s'", before, pairs[i].x, pairs[i].y);
            before = ", ";
        }
        if (n_methods < 2)
            wk_text_printf(&text, "only '%s' has results; there is nothing to compare it with",
                           methods->method);
        else if (n_pairs == 0)
            wk_text_puts(&text, "no two methods have results of the same task");
        else if (!any)
            put_none(pairs, n_pairs, methods, n_methods, &text);
        const char *title = wk_comparison_group_title(memory, &methods->group);
        wk_sentences_add(memory, out, "%s: %s", title, wk_report_take(memory, &text));
    }
}
