#include "report/tables/improvement.h"

#include "stats/resamples.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static wk_comparison_group group_of(const wk_seed_score *f)
{
    return (wk_comparison_group){f->key.names[WK_FIELD_METRIC], f->key.names[WK_FIELD_EXPLORATION],
                                 wk_seed_score_is_combined(f)};
}

bool wk_improvement_is_claimed(const wk_estimate *estimate, size_t min_runs)
{
    return min_runs >= WK_CLAIM_RUNS_MIN && estimate->low > 0.5;
}

bool wk_comparison_group_same(const wk_comparison_group *a, const wk_comparison_group *b)
{
    return a->combined == b->combined && strcmp(a->metric, b->metric) == 0 &&
           strcmp(a->exploration, b->exploration) == 0;
}

typedef WK_ARRAY(wk_comparison_group) group_list;

// Every comparison group that has a final score, in their order.
static bool list_groups(const wk_seed_scores *scores, group_list *out)
{
    for (size_t i = 0; i < scores->items.count; i++) {
        const wk_seed_score *f = &scores->items.items[i];
        wk_comparison_group group = group_of(f);
        bool known = !f->final || strcmp(group.metric, WK_METRIC_OOD_TASKS) == 0;
        for (size_t k = 0; k < out->count && !known; k++)
            known = wk_comparison_group_same(&out->items[k], &group);
        if (!known && !wk_array_push(out, group)) return false;
    }
    return true;
}

// The scores of a comparison group. Task t and curriculum c have runs[t * curricula + c] scores,
// which begin at scores[(t * curricula + c) * max_runs].
typedef struct group_scores {
    wk_comparison_group group;
    const char **names; // [curricula]
    size_t curricula, tasks, max_runs;
    double *scores;
    size_t *runs;
    // One pair or one curriculum at a time, as the statistics want them.
    double *x, *y;           // [max_runs,tasks]
    size_t *x_runs, *y_runs; // [tasks]
    wk_resamples resamples;
} group_scores;

static void free_group_scores(group_scores *g)
{
    void *all[] = {g->names, g->scores, g->runs, g->x, g->y, g->x_runs, g->y_runs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    wk_resamples_free(&g->resamples);
}

static size_t find_curriculum(const group_scores *g, const char *name)
{
    size_t i = 0;
    while (i < g->curricula && strcmp(g->names[i], name) != 0)
        i++;
    return i;
}

static bool takes_part(const group_scores *g, const wk_seed_score *f)
{
    wk_comparison_group group = group_of(f);
    return f->final && wk_comparison_group_same(&g->group, &group);
}

// Counts tasks, curricula, and the runs that one entry may have.
static bool count_entries(const wk_seed_scores *scores, group_scores *g)
{
    size_t count = scores->items.count;
    const wk_seed_score *items = scores->items.items;
    g->names = calloc(count, sizeof *g->names);
    if (!g->names) return false;
    for (size_t first = 0, end; first < count; first = end) {
        end = wk_seed_scores_range_end(scores, first, WK_FIELD_CURRICULUM);
        size_t found = 0;
        for (size_t i = first; i < end; i++) {
            const char *name = items[i].key.names[WK_FIELD_CURRICULUM];
            if (!takes_part(g, &items[i])) continue;
            if (find_curriculum(g, name) == g->curricula) g->names[g->curricula++] = name;
            found++;
        }
        g->tasks += found > 0;
        g->max_runs = found > g->max_runs ? found : g->max_runs;
    }
    qsort_r(g->names, g->curricula, sizeof *g->names, wk_paper_compare_curricula,
            (void *)scores->paper);
    return true;
}

static bool make_room(group_scores *g)
{
    assert(g->tasks > 0 && g->curricula > 0 && g->max_runs > 0); // a group has scores
    size_t entries = g->tasks * g->curricula, cells = g->tasks * g->max_runs;
    g->scores = calloc(entries * g->max_runs, sizeof *g->scores);
    g->runs = calloc(entries, sizeof *g->runs);
    g->x = calloc(cells, sizeof *g->x);
    g->y = calloc(cells, sizeof *g->y);
    g->x_runs = calloc(g->tasks, sizeof *g->x_runs);
    g->y_runs = calloc(g->tasks, sizeof *g->y_runs);
    return g->scores && g->runs && g->x && g->y && g->x_runs && g->y_runs;
}

// Divides a task's scores by the highest of any curriculum, as the paper does.
static void scale_task(group_scores *g, size_t task)
{
    double highest = 0;
    for (size_t c = 0; c < g->curricula; c++)
        for (size_t n = 0; n < g->runs[task * g->curricula + c]; n++)
            highest = fmax(highest, g->scores[(task * g->curricula + c) * g->max_runs + n]);
    for (size_t i = 0; highest > 0 && i < g->curricula * g->max_runs; i++)
        g->scores[task * g->curricula * g->max_runs + i] /= highest;
}

static void fill(const wk_seed_scores *scores, group_scores *g)
{
    const wk_seed_score *items = scores->items.items;
    size_t task = 0;
    for (size_t first = 0, end; first < scores->items.count; first = end) {
        end = wk_seed_scores_range_end(scores, first, WK_FIELD_CURRICULUM);
        bool any = false;
        for (size_t i = first; i < end; i++) {
            if (!takes_part(g, &items[i])) continue;
            size_t c = find_curriculum(g, items[i].key.names[WK_FIELD_CURRICULUM]);
            size_t entry = task * g->curricula + c;
            g->scores[entry * g->max_runs + g->runs[entry]++] = items[i].value;
            any = true;
        }
        if (any) scale_task(g, task++);
    }
}

// Column `column` of a matrix with `tasks` columns: the scores of one task and curriculum.
static void take_column(const group_scores *g, size_t task, size_t c, size_t column, size_t tasks,
                        double *matrix, size_t *runs)
{
    size_t entry = task * g->curricula + c;
    runs[column] = g->runs[entry];
    for (size_t n = 0; n < g->runs[entry]; n++)
        matrix[n * tasks + column] = g->scores[entry * g->max_runs + n];
}

static bool has_runs(const group_scores *g, size_t task, size_t c)
{
    return g->runs[task * g->curricula + c] > 0;
}

static wk_scores matrix_of(const group_scores *g, const double *values, const size_t *runs,
                           size_t tasks, size_t c)
{
    return (wk_scores){.values = values,
                       .runs = g->max_runs,
                       .tasks = tasks,
                       .runs_of = runs,
                       .name = g->names[c]};
}

static wk_status compare_pair(group_scores *g, size_t a, size_t b,
                              const wk_bootstrap_config *config, wk_comparison *out, wk_error *err)
{
    wk_improvement found = {.group = g->group, .x = g->names[a], .y = g->names[b]};
    for (size_t t = 0; t < g->tasks; t++)
        found.tasks += has_runs(g, t, a) && has_runs(g, t, b);
    if (found.tasks == 0) return WK_OK;
    found.min_runs = g->max_runs;
    for (size_t t = 0, column = 0; t < g->tasks; t++) {
        if (!has_runs(g, t, a) || !has_runs(g, t, b)) continue;
        take_column(g, t, a, column, found.tasks, g->x, g->x_runs);
        take_column(g, t, b, column, found.tasks, g->y, g->y_runs);
        size_t fewer =
            g->x_runs[column] < g->y_runs[column] ? g->x_runs[column] : g->y_runs[column];
        found.min_runs = fewer < found.min_runs ? fewer : found.min_runs;
        column++;
    }
    wk_scores x = matrix_of(g, g->x, g->x_runs, found.tasks, a);
    wk_scores y = matrix_of(g, g->y, g->y_runs, found.tasks, b);
    WK_TRY(wk_improvement_bootstrap_cached(&x, &y, config, &g->resamples, &found.estimate, err));
    if (wk_array_push(&out->improvements, found)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for the comparisons");
}

static wk_status add_ranking(group_scores *g, size_t c, const wk_bootstrap_config *config,
                             wk_comparison *out, wk_error *err)
{
    wk_curriculum_score found = {.group = g->group, .curriculum = g->names[c]};
    for (size_t t = 0; t < g->tasks; t++)
        found.tasks += has_runs(g, t, c);
    for (size_t t = 0, column = 0; t < g->tasks; t++) {
        if (!has_runs(g, t, c)) continue;
        take_column(g, t, c, column, found.tasks, g->x, g->x_runs);
        found.runs = g->x_runs[column] > found.runs ? g->x_runs[column] : found.runs;
        column++;
    }
    wk_scores x = matrix_of(g, g->x, g->x_runs, found.tasks, c);
    WK_TRY(wk_stats_bootstrap(&x, WK_AGGREGATE_IQM, config, &found.iqm, err));
    if (wk_array_push(&out->ranking, found)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for the comparisons");
}

static wk_status hold_group(const wk_seed_scores *scores, wk_comparison_group group,
                            const wk_bootstrap_config *config, wk_comparison *out, wk_error *err)
{
    group_scores g = {.group = group};
    wk_status status = count_entries(scores, &g) && make_room(&g)
                           ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory for the comparisons");
    if (status == WK_OK) fill(scores, &g);
    for (size_t a = 0; a < g.curricula && status == WK_OK; a++) {
        status = add_ranking(&g, a, config, out, err);
        for (size_t b = a + 1; b < g.curricula && status == WK_OK; b++)
            status = compare_pair(&g, a, b, config, out, err);
    }
    free_group_scores(&g);
    return status;
}

wk_status wk_comparison_make(const wk_seed_scores *scores, const wk_bootstrap_config *config,
                             wk_comparison *out, wk_error *err)
{
    group_list contests = {0};
    wk_status status = list_groups(scores, &contests)
                           ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory for the comparisons");
    for (size_t i = 0; i < contests.count && status == WK_OK; i++)
        status = hold_group(scores, contests.items[i], config, out, err);
    wk_array_free(&contests);
    return status;
}

void wk_comparison_free(wk_comparison *comparison)
{
    wk_array_free(&comparison->improvements);
    wk_array_free(&comparison->ranking);
    *comparison = (wk_comparison){0};
}
