// Does the ensemble know where the model is wrong? Its estimate against the true error, a point for
// each environment, the curricula of one domain and policy in one figure.
#include "report/figures/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURRICULA_MAX = 64, POINTS_MAX = 100 };

// The points of one figure: of every curriculum its first run that was measured.
typedef struct cloud {
    double x[CURRICULA_MAX][POINTS_MAX], y[CURRICULA_MAX][POINTS_MAX];
    wk_plot_series series[CURRICULA_MAX];
    size_t count;
} cloud;

// The newest measurement of a run under a policy that lists its environments, or NULL.
static const wk_run_error *newest(const wk_report_run *run, const char *policy)
{
    const wk_run_error *found = NULL;
    for (size_t i = 0; i < run->errors.count; i++) {
        const wk_run_error *e = &run->errors.items[i];
        if (e->environments == 0 || strcmp(e->policy, policy) != 0) continue;
        if (!found || e->step > found->step) found = e;
    }
    return found;
}

// More points than can be told apart are taken at even distances.
static void add_points(cloud *c, const wk_report_run *run, const wk_run_error *e,
                       const wk_paper *paper)
{
    size_t stride = (e->environments + POINTS_MAX - 1) / POINTS_MAX, count = 0, k = c->count++;
    for (size_t i = 0; i < e->environments; i += stride, count++) {
        c->x[k][count] = e->estimates[i];
        c->y[k][count] = e->errors[i];
    }
    c->series[k] = (wk_plot_series){.name = run->method,
                                    .count = count,
                                    .x = c->x[k],
                                    .y = c->y[k],
                                    .style = wk_curriculum_style(paper, run->method)};
}

static wk_status draw(wk_report_figures *figures, const wk_report_run *run, const char *policy,
                      const cloud *c, wk_error *err)
{
    char title[256], name[256];
    snprintf(title, sizeof title, "Estimate against error: %s, %s, policy %s", run->domain,
             run->exploration, policy);
    snprintf(name, sizeof name, "estimate-%s-%s-%s", run->domain, run->exploration, policy);
    wk_plot_scatter plot = {.title = title,
                            .x = {.label = "ensemble's estimate"},
                            .y = {.label = "image prediction error"},
                            .series = c->series,
                            .count = c->count};
    wk_figure *figure;
    WK_TRY(wk_plot_scatter_draw(&plot, &figure, err));
    return wk_report_figures_add(
        figures, WK_FIGURES_ERRORS, figure, name,
        "The ensemble's estimate for an environment, and the model's error there; one run of each "
        "curriculum, up to 100 of its environments.",
        err);
}

// Whether an earlier run of the group, or an earlier measurement of this one, has the policy too.
static bool seen_before(wk_report_run *const *runs, size_t run, size_t error, const char *policy)
{
    for (size_t r = 0; r < run; r++)
        if (newest(runs[r], policy)) return true;
    for (size_t i = 0; i < error; i++)
        if (runs[run]->errors.items[i].environments > 0 &&
            strcmp(runs[run]->errors.items[i].policy, policy) == 0)
            return true;
    return false;
}

// `runs` are those of one domain and exploration, sorted by curriculum.
static wk_status draw_policy(wk_report_figures *figures, wk_report_run *const *runs, size_t count,
                             const char *policy, const wk_paper *paper, cloud *c, wk_error *err)
{
    c->count = 0;
    for (size_t r = 0; r < count && c->count < CURRICULA_MAX; r++) {
        const wk_run_error *e = newest(runs[r], policy);
        bool has = c->count > 0 && strcmp(c->series[c->count - 1].name, runs[r]->method) == 0;
        if (e && !has) add_points(c, runs[r], e, paper);
    }
    return draw(figures, runs[0], policy, c, err);
}

static wk_status draw_group(wk_report_figures *figures, wk_report_run *const *runs, size_t count,
                            const wk_paper *paper, cloud *c, wk_error *err)
{
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < runs[r]->errors.count; i++) {
            const wk_run_error *e = &runs[r]->errors.items[i];
            if (e->environments == 0 || seen_before(runs, r, i, e->policy)) continue;
            WK_TRY(draw_policy(figures, runs, count, e->policy, paper, c, err));
        }
    return WK_OK;
}

wk_status wk_report_figures_estimates(wk_report_figures *figures, const wk_runs *runs,
                                      const wk_paper *paper, wk_error *err)
{
    wk_report_run *const *items = runs->items.items;
    size_t count = runs->items.count;
    cloud *c = malloc(sizeof *c);
    if (!c) return wk_fail(err, WK_E_MEMORY, "no memory for the figures of model errors");
    wk_status status = WK_OK;
    for (size_t first = 0, end; first < count && status == WK_OK; first = end) {
        end = wk_runs_group_end(runs, first);
        status = draw_group(figures, items + first, end - first, paper, c, err);
    }
    free(c);
    return status;
}
