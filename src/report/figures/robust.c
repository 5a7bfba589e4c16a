// How policies fare in the worst cases of a frozen set of environments: CVaR over its fraction α, a
// line for each method. One run has the band of its own episodes, several that of the runs.
#include "report/figures/method_lines.h"

#include <stdio.h>
#include <string.h>

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

// Lines of the runs that are of the same domain and exploration as the first and come after it.
static void gather(const wk_runs *runs, size_t first, const wk_run_cvar_curve *like,
                   wk_method_lines *lines)
{
    for (size_t i = first; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (!wk_runs_same_group(runs->items.items[first], run)) continue;
        const wk_run_cvar_curve *c = curve_of(run, like);
        if (!c) continue;
        const wk_method_curve curve = {c->alpha, c->value, c->low, c->high, c->count};
        wk_method_lines_add(lines, run->method, &curve);
    }
}

static wk_status draw(wk_report_figures *figures, const wk_report_run *run,
                      const wk_run_cvar_curve *like, wk_method_lines *lines, const wk_paper *paper,
                      wk_error *err)
{
    wk_plot_series series[WK_METHOD_LINES_MAX];
    char title[320], name[320], label[64];
    wk_method_lines_finish(lines, paper, series);
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
                                .count = lines->count};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_report_figures_add(
        figures, WK_FIGURES_ROBUST, figure, name,
        lines->several
            ? "Mean of the worst fraction α of the environments; at 1 that is the mean of all. "
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

wk_status wk_report_figures_robust(wk_report_figures *figures, const wk_runs *runs,
                                   const wk_paper *paper, wk_error *err)
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        for (size_t k = 0; k < run->cvar_curves.count; k++) {
            const wk_run_cvar_curve *like = &run->cvar_curves.items[k];
            if (is_drawn(runs, i, k)) continue;
            wk_method_lines lines = {0};
            gather(runs, i, like, &lines);
            WK_TRY(draw(figures, run, like, &lines, paper, err));
        }
    }
    return WK_OK;
}
