// What the curricula chose over time and what was done there: the mean of each parameter of θ and
// of each indicator, over the seeds of a curriculum. Runs write their lines at steps of their own,
// so time is cut into slices.
#include "report/figures/figures.h"

#include "waker/env.h"
#include "waker/stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 60, PARAMS = WK_PARAMS_MAX, CURVES_MAX = 64 };

// Runs [first, end) of one domain and exploration, sorted by curriculum.
typedef struct group {
    wk_report_run *const *runs;
    size_t first, end;
    double last; // step
} group;

// The curves of one figure.
typedef struct curve_buffer {
    double x[CURVES_MAX][SLICES], y[CURVES_MAX][SLICES], sd[CURVES_MAX][SLICES];
    wk_plot_series series[CURVES_MAX];
    size_t count;
} curve_buffer;

// What a figure shows: an indicator, or with NULL a parameter of θ.
typedef struct quantity {
    const char *indicator;
    int param;
} quantity;

// Number of an indicator among those of a run, or -1.
static int find_indicator(const wk_report_run *run, const char *name)
{
    for (int k = 0; k < WK_INDICATORS_MAX && run->indicators[k]; k++)
        if (strcmp(run->indicators[k], name) == 0) return k;
    return -1;
}

// Mean over the lines of one run in a slice of time; NaN if it has none there.
static double run_mean(const wk_report_run *run, const quantity *q, double from, double to)
{
    double sum = 0;
    size_t count = 0;
    int k = q->indicator ? find_indicator(run, q->indicator) : q->param;
    for (size_t i = 0; i < run->choices.count && k >= 0; i++) {
        const wk_run_choice *choice = &run->choices.items[i];
        double step = (double)choice->step;
        double value = (q->indicator ? choice->indicators : choice->params)[k];
        if (step <= from || step > to || isnan(value)) continue;
        sum += value;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

// Mean and s.d. over the runs [first, end) of one curriculum in a slice.
static void fill_point(const group *g, size_t first, size_t end, const quantity *q, int slice,
                       double *mean, double *sd)
{
    double values[256], width = g->last / SLICES;
    size_t count = 0;
    for (size_t i = first; i < end && count < 256; i++) {
        double value = run_mean(g->runs[i], q, slice * width, (slice + 1) * width);
        if (!isnan(value)) values[count++] = value;
    }
    *mean = wk_stats_mean(values, count);
    *sd = wk_stats_sd(values, count);
}

static void add_curve(const group *g, size_t first, size_t end, const quantity *q,
                      const wk_paper *paper, curve_buffer *c)
{
    size_t k = c->count, points = 0;
    for (int s = 0; s < SLICES; s++) {
        fill_point(g, first, end, q, s, &c->y[k][points], &c->sd[k][points]);
        c->x[k][points] = (s + 0.5) * g->last / SLICES;
        points += !isnan(c->y[k][points]);
    }
    if (points == 0) return;
    c->series[c->count++] =
        (wk_plot_series){.name = g->runs[first]->method,
                         .count = points,
                         .x = c->x[k],
                         .y = c->y[k],
                         .spread = c->sd[k],
                         .style = wk_curriculum_style(paper, g->runs[first]->method)};
}

// What the parameter is called, where the domain is built in.
static void param_name(const char *domain_name, int param, char *out, size_t size)
{
    const wk_domain *domain;
    if (wk_domain_find(domain_name, &domain, NULL) == WK_OK && param < domain->n_params)
        snprintf(out, size, "%s", domain->params[param].name);
    else
        snprintf(out, size, "parameter %d", param);
}

// What an indicator means, where the domain is built in.
static const char *indicator_help(const char *domain_name, const char *name)
{
    const wk_domain *domain;
    if (wk_domain_find(domain_name, &domain, NULL) != WK_OK) return name;
    for (int k = 0; k < domain->n_indicators; k++)
        if (strcmp(domain->indicators[k].name, name) == 0) return domain->indicators[k].help;
    return name;
}

static wk_status draw(wk_report_figures *figures, const group *g, const quantity *q,
                      const curve_buffer *c, wk_error *err)
{
    const wk_report_run *run = g->runs[g->first];
    char label[64], title[256], name[256], caption[300];
    if (q->indicator)
        snprintf(label, sizeof label, "%s", q->indicator);
    else
        param_name(run->domain, q->param, label, sizeof label);
    snprintf(title, sizeof title, "%s %s: %s, %s", q->indicator ? "Collected episodes," : "Chosen",
             label, run->domain, run->exploration);
    snprintf(name, sizeof name, "%s-%s-%s-%s", q->indicator ? "collected" : "chosen", run->domain,
             run->exploration, label);
    snprintf(caption, sizeof caption,
             "Mean of %s over the episodes %s. Lines are means over seeds, shades their s.d.",
             q->indicator ? indicator_help(run->domain, label) : label,
             q->indicator ? "collected" : "begun");
    wk_plot_lines plot = {.title = title,
                          .x = {.label = "agent steps"},
                          .y = {.label = label},
                          .series = c->series,
                          .count = c->count};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_report_figures_add(figures, q->indicator ? WK_FIGURES_INDICATORS : WK_FIGURES_CHOICES,
                                 figure, name, caption, err);
}

static wk_status draw_quantity(wk_report_figures *figures, const group *g, const quantity *q,
                               const wk_paper *paper, curve_buffer *c, wk_error *err)
{
    c->count = 0;
    for (size_t first = g->first, end; first < g->end && c->count < CURVES_MAX; first = end) {
        for (end = first + 1;
             end < g->end && strcmp(g->runs[first]->method, g->runs[end]->method) == 0;)
            end++;
        add_curve(g, first, end, q, paper, c);
    }
    return c->count ? draw(figures, g, q, c, err) : WK_OK;
}

// Whether a run of the group before run i has the indicator: it is drawn already.
static bool seen_before(const group *g, size_t i, const char *indicator)
{
    for (size_t k = g->first; k < i; k++)
        if (find_indicator(g->runs[k], indicator) >= 0) return true;
    return false;
}

static wk_status draw_group(wk_report_figures *figures, group *g, const wk_paper *paper,
                            curve_buffer *c, wk_error *err)
{
    g->last = 0;
    for (size_t i = g->first; i < g->end; i++)
        if (g->runs[i]->choices.count)
            g->last = fmax(g->last,
                           (double)g->runs[i]->choices.items[g->runs[i]->choices.count - 1].step);
    if (g->last == 0) return WK_OK;
    for (int param = 0; param < PARAMS; param++)
        WK_TRY(draw_quantity(figures, g, &(quantity){NULL, param}, paper, c, err));
    for (size_t i = g->first; i < g->end; i++)
        for (int k = 0; k < WK_INDICATORS_MAX && g->runs[i]->indicators[k]; k++) {
            const char *indicator = g->runs[i]->indicators[k];
            if (!seen_before(g, i, indicator))
                WK_TRY(draw_quantity(figures, g, &(quantity){indicator, 0}, paper, c, err));
        }
    return WK_OK;
}

wk_status wk_report_figures_choices(wk_report_figures *figures, const wk_runs *runs,
                                    const wk_paper *paper, wk_error *err)
{
    curve_buffer *c = calloc(1, sizeof *c);
    if (!c) return wk_fail(err, WK_E_MEMORY, "no memory for the curves of the curricula");
    wk_status status = WK_OK;
    group g = {.runs = runs->items.items};
    for (; g.first < runs->items.count && status == WK_OK; g.first = g.end) {
        g.end = wk_runs_group_end(runs, g.first);
        status = draw_group(figures, &g, paper, c, err);
    }
    free(c);
    return status;
}
