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

// Some scores of a group: task t has runs[t] of them, from at[t * max_runs] on.
typedef struct scores {
    const char *method;
    double *at;
    size_t *runs;
} scores;

// A group's scores by method, and what comparing two of them needs.
typedef struct contest {
    wk_comparison_group group;
    scores *methods; // [n_methods]
    size_t n_methods, tasks, max_runs;
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

static size_t method_index(const contest *c, const char *name)
{
    size_t i = 0;
    while (i < c->n_methods && strcmp(c->methods[i].method, name) != 0)
        i++;
    return i;
}

static int compare_methods(const void *a, const void *b, void *paper)
{
    const scores *x = a, *y = b;
    return wk_paper_order(paper, WK_FIELD_CURRICULUM, x->method, y->method);
}

// Sorts the group's scores by method and task; false without memory.
static bool fill(contest *c, wk_report_memory *memory, const wk_report_rows *rows)
{
    const wk_report_row *items = rows->items.items;
    size_t count = rows->items.count;
    c->methods = wk_report_alloc(memory, count + 1, sizeof *c->methods);
    if (!c->methods) return false;
    // Which methods, how many tasks, and how many runs one of them may have.
    for (size_t first = 0, end; first < count; first = end) {
        size_t found = 0;
        end = wk_rows_end(rows, first, WK_ROW_FIELDS);
        for (size_t i = first; i < end; i++) {
            const char *name = items[i].key.names[WK_FIELD_CURRICULUM];
            if (!takes_part(&c->group, &items[i])) continue;
            if (method_index(c, name) == c->n_methods) c->methods[c->n_methods++].method = name;
            found++;
        }
        c->tasks += found > 0;
        if (found > c->max_runs) c->max_runs = found;
    }
    qsort_r(c->methods, c->n_methods, sizeof *c->methods, compare_methods, (void *)rows->paper);
    size_t cells = c->tasks * c->max_runs;
    for (size_t m = 0; m < c->n_methods; m++) {
        c->methods[m].at = wk_report_alloc(memory, cells, sizeof *c->x);
        c->methods[m].runs = wk_report_alloc(memory, c->tasks, sizeof *c->x_runs);
    }
    c->x = wk_report_alloc(memory, cells, sizeof *c->x);
    c->y = wk_report_alloc(memory, cells, sizeof *c->y);
    c->x_runs = wk_report_alloc(memory, c->tasks, sizeof *c->x_runs);
    c->y_runs = wk_report_alloc(memory, c->tasks, sizeof *c->y_runs);
    if (memory->failed) return false;
    // The scores of a task, divided by the highest of any method, as the paper does.
    size_t task = 0;
    for (size_t first = 0, end; first < count; first = end) {
        bool any = false;
        double highest = 0;
        end = wk_rows_end(rows, first, WK_ROW_FIELDS);
        for (size_t i = first; i < end; i++) {
            if (!takes_part(&c->group, &items[i])) continue;
            scores *s = &c->methods[method_index(c, items[i].key.names[WK_FIELD_CURRICULUM])];
            s->at[task * c->max_runs + s->runs[task]++] = items[i].value;
            highest = fmax(highest, items[i].value);
            any = true;
        }
        for (size_t m = 0; m < c->n_methods && highest > 0; m++)
            for (size_t n = 0; n < c->methods[m].runs[task]; n++)
                c->methods[m].at[task * c->max_runs + n] /= highest;
        task += any;
    }
    return true;
}

// The scores of a method on those tasks that it and `other` have results of.
static wk_scores matrix(const contest *c, const scores *s, const scores *other, double *values,
                        size_t *runs)
{
    wk_scores out = {.values = values, .runs = c->max_runs, .runs_of = runs, .name = s->method};
    for (size_t t = 0; t < c->tasks; t++)
        out.tasks += s->runs[t] && other->runs[t];
    for (size_t t = 0, column = 0; t < c->tasks; t++) {
        if (!s->runs[t] || !other->runs[t]) continue;
        runs[column] = s->runs[t];
        for (size_t n = 0; n < s->runs[t]; n++)
            values[n * out.tasks + column] = s->at[t * c->max_runs + n];
        column++;
    }
    return out;
}

static wk_status add_pair(contest *c, wk_report_memory *memory, const scores *a, const scores *b,
                          wk_comparison *out, wk_error *err)
{
    wk_scores x = matrix(c, a, b, c->x, c->x_runs), y = matrix(c, b, a, c->y, c->y_runs);
    wk_improvement found = {.group = c->group,
                            .x = a->method,
                            .y = b->method,
                            .tasks = x.tasks,
                            .min_runs = c->max_runs};
    if (found.tasks == 0) return WK_OK;
    for (size_t t = 0; t < found.tasks; t++) {
        size_t fewer = c->x_runs[t] < c->y_runs[t] ? c->x_runs[t] : c->y_runs[t];
        if (fewer < found.min_runs) found.min_runs = fewer;
    }
    WK_TRY(wk_improvement_bootstrap_cached(&x, &y, c->config, c->resamples, &found.estimate, err));
    wk_report_push(memory, &out->improvements, found);
    return WK_OK;
}

static wk_status compare_group(contest *c, wk_report_memory *memory, const wk_report_rows *rows,
                               wk_comparison *out, wk_error *err)
{
    if (!fill(c, memory, rows)) return wk_report_memory_check(memory, err);
    for (size_t a = 0; a < c->n_methods; a++) {
        const scores *s = &c->methods[a];
        wk_scores x = matrix(c, s, s, c->x, c->x_runs);
        wk_method_score found = {.group = c->group, .method = s->method, .tasks = x.tasks};
        for (size_t t = 0; t < x.tasks; t++)
            if (c->x_runs[t] > found.runs) found.runs = c->x_runs[t];
        WK_TRY(wk_stats_bootstrap(&x, WK_AGGREGATE_IQM, c->config, &found.iqm, err));
        wk_report_push(memory, &out->ranking, found);
        for (size_t b = a + 1; b < c->n_methods; b++)
            WK_TRY(add_pair(c, memory, s, &c->methods[b], out, err));
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
        status = compare_group(&c, memory, rows, out, err);
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
