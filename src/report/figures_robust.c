// How policies fare in the worst cases of a frozen set of environments: CVaR over its fraction α, a
// line for each method. One run has the band of its own episodes, several that of the runs.
#include "report/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { METHODS_MAX = 32 };

// One line: the mean of the curves of a method's runs.
typedef struct line {
    const char *method;
    size_t runs, count;
    double alpha[WK_CURVE_POINTS_MAX], sum[WK_CURVE_POINTS_MAX], squares[WK_CURVE_POINTS_MAX];
    double below[WK_CURVE_POINTS_MAX], above[WK_CURVE_POINTS_MAX];
} line;

static bool same_subject(const wk_run_cvar_curve *a, const wk_run_cvar_curve *b)
{
    return strcmp(a->set, b->set) == 0 && strcmp(a->part, b->part) == 0 &&
           strcmp(a->task, b->task) == 0;
}

// Policies that were trained for the task come before others, later steps before earlier ones.
static bool is_better(const wk_run_cvar_curve *a, const wk_run_cvar_curve *b)
{
    static const char *const order[] = {"random", "alongside", "adapted"};
    int ranks[2] = {3, 3};
    for (int i = 0; i < 3; i++) {
        if (strcmp(a->policy, order[i]) == 0) ranks[0] = i;
        if (strcmp(b->policy, order[i]) == 0) ranks[1] = i;
    }
    return ranks[0] != ranks[1] ? ranks[0] > ranks[1] : a->step > b->step;
}

// The curve of the run that counts; NULL: it has none.
static const wk_run_cvar_curve *curve_of(const wk_report_run *run, const wk_run_cvar_curve *like)
{
    const wk_run_cvar_curve *best = NULL;
    for (size_t i = 0; i < run->cvar_curves.count; i++) {
        const wk_run_cvar_curve *c = &run->cvar_curves.items[i];
        if (same_subject(c, like) && (!best || is_better(c, best))) best = c;
    }
    return best;
}

static void add_curve(line *l, const char *method, const wk_run_cvar_curve *c)
{
    if (l->runs > 0 && l->count != c->count) return;
    l->method = method;
    l->count = c->count;
    l->runs++;
    for (size_t i = 0; i < c->count; i++) {
        l->alpha[i] = c->alpha[i];
        l->sum[i] += c->value[i];
        l->squares[i] += c->value[i] * c->value[i];
        l->below[i] = c->value[i] - c->low[i];
        l->above[i] = c->high[i] - c->value[i];
    }
}

static void finish(line *l)
{
    double n = (double)l->runs;
    for (size_t i = 0; i < l->count; i++) {
        l->sum[i] /= n;
        if (l->runs == 1) continue;
        l->below[i] = l->above[i] = sqrt(fmax(0, l->squares[i] / n - l->sum[i] * l->sum[i]));
    }
}

// Lines of the runs that are of the same domain and exploration as the first and come after it.
static size_t gather(const wk_runs *runs, size_t first, const wk_run_cvar_curve *like,
                     line lines[METHODS_MAX])
{
    size_t count = 0;
    for (size_t i = first; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (!wk_runs_same_group(runs->items.items[first], run)) continue;
        const wk_run_cvar_curve *c = curve_of(run, like);
        size_t k = 0;
        while (c && k < count && strcmp(lines[k].method, run->method) != 0)
            k++;
        if (!c || k == METHODS_MAX) continue;
        if (k == count) lines[count++] = (line){0};
        add_curve(&lines[k], run->method, c);
    }
    for (size_t k = 0; k < count; k++)
        finish(&lines[k]);
    return count;
}

static wk_status draw(wk_report_figures *gallery, const wk_report_run *run,
                      const wk_run_cvar_curve *like, const line *lines, size_t count,
                      const wk_paper *paper, wk_error *err)
{
    wk_plot_series series[METHODS_MAX];
    char title[320], name[320], label[64];
    bool several = false;
    for (size_t k = 0; k < count; k++) {
        several = several || lines[k].runs > 1;
        series[k] = (wk_plot_series){.name = lines[k].method,
                                     .count = lines[k].count,
                                     .x = lines[k].alpha,
                                     .y = lines[k].sum,
                                     .spread = lines[k].below,
                                     .above = lines[k].above,
                                     .style = wk_curriculum_style(paper, lines[k].method)};
    }
    bool inside = strcmp(like->part, "in") == 0;
    snprintf(title, sizeof title, "%s, %s distribution: %s, %s, %s", like->set,
             inside ? "in" : "out of", run->domain, like->task, run->exploration);
    snprintf(name, sizeof name, "robust-%s-%s-%s-%s-%s", like->set, like->part, run->domain,
             like->task, run->exploration);
    snprintf(label, sizeof label, "CVaR of the %s", like->score);
    const wk_plot_lines plot = {.title = title,
                                .x = {.label = "worst fraction α"},
                                .y = {.label = label},
                                .series = series,
                                .count = count};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_report_figures_add(
        gallery, WK_PART_ROBUST, figure, name,
        several ? "Mean of the worst fraction α of the environments; at 1 that is the mean of all. "
                  "Lines are means over runs, shaded by their s.d.; of single runs by the 95 % "
                  "bootstrap interval over the environments."
                : "Mean of the worst fraction α of the environments; at 1 that is the mean of all. "
                  "Shaded: 95 % bootstrap interval over the environments.",
        err);
}

// Whether an earlier run of the group, or an earlier curve of this one, has the figure already.
static bool is_drawn(const wk_runs *runs, size_t run, size_t curve)
{
    const wk_report_run *own = runs->items.items[run];
    const wk_run_cvar_curve *like = &own->cvar_curves.items[curve];
    for (size_t i = 0; i < run; i++)
        if (wk_runs_same_group(runs->items.items[i], own) && curve_of(runs->items.items[i], like))
            return true;
    for (size_t i = 0; i < curve; i++)
        if (same_subject(&own->cvar_curves.items[i], like)) return true;
    return false;
}

wk_status wk_report_figures_robust(wk_report_figures *gallery, const wk_runs *runs,
                                   const wk_paper *paper, wk_error *err)
{
    line lines[METHODS_MAX];
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        for (size_t k = 0; k < run->cvar_curves.count; k++) {
            const wk_run_cvar_curve *like = &run->cvar_curves.items[k];
            if (is_drawn(runs, i, k)) continue;
            size_t count = gather(runs, i, like, lines);
            WK_TRY(draw(gallery, run, like, lines, count, paper, err));
        }
    }
    return WK_OK;
}
