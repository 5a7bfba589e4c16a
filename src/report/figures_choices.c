// What the curricula chose over time: the mean of each parameter of θ, over the seeds of a
// curriculum. Runs write their lines at steps of their own, so time is cut into slices.
#include "report/figures.h"

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
typedef struct canvas {
    double x[CURVES_MAX][SLICES], y[CURVES_MAX][SLICES], sd[CURVES_MAX][SLICES];
    wk_plot_series series[CURVES_MAX];
    size_t count;
} canvas;

// Mean of a parameter over the lines of one run in a slice of time; NaN if it has none there.
static double run_mean(const wk_report_run *run, int param, double from, double to)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < run->choices.count; i++) {
        const wk_run_choice *choice = &run->choices.items[i];
        double step = (double)choice->step, value = choice->params[param];
        if (step <= from || step > to || isnan(value)) continue;
        sum += value;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

// Mean and s.d. over the runs [first, end) of one curriculum in a slice.
static void fill_point(const group *g, size_t first, size_t end, int param, int slice, double *mean,
                       double *sd)
{
    double values[256], width = g->last / SLICES;
    size_t count = 0;
    for (size_t i = first; i < end && count < 256; i++) {
        double value = run_mean(g->runs[i], param, slice * width, (slice + 1) * width);
        if (!isnan(value)) values[count++] = value;
    }
    *mean = wk_stats_mean(values, count);
    *sd = wk_stats_sd(values, count);
}

static void add_curve(const group *g, size_t first, size_t end, int param, const wk_paper *paper,
                      canvas *c)
{
    size_t k = c->count, points = 0;
    for (int s = 0; s < SLICES; s++) {
        fill_point(g, first, end, param, s, &c->y[k][points], &c->sd[k][points]);
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

static wk_status draw(wk_report_figures *gallery, const group *g, int param, const canvas *c,
                      wk_error *err)
{
    const wk_report_run *run = g->runs[g->first];
    char parameter[64], title[256], name[256], caption[256];
    param_name(run->domain, param, parameter, sizeof parameter);
    snprintf(title, sizeof title, "Chosen %s: %s, %s", parameter, run->domain, run->exploration);
    snprintf(name, sizeof name, "chosen-%s-%s-%s", run->domain, run->exploration, parameter);
    snprintf(caption, sizeof caption,
             "Mean of %s over the episodes begun. Lines are means over seeds, shades their s.d.",
             parameter);
    wk_plot_lines plot = {.title = title,
                          .x = {.label = "agent steps"},
                          .y = {.label = parameter},
                          .series = c->series,
                          .count = c->count};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_report_figures_add(gallery, WK_PART_CHOICES, figure, name, caption, err);
}

static wk_status draw_group(wk_report_figures *gallery, group *g, const wk_paper *paper, canvas *c,
                            wk_error *err)
{
    g->last = 0;
    for (size_t i = g->first; i < g->end; i++)
        if (g->runs[i]->choices.count)
            g->last = fmax(g->last,
                           (double)g->runs[i]->choices.items[g->runs[i]->choices.count - 1].step);
    for (int param = 0; param < PARAMS && g->last > 0; param++) {
        c->count = 0;
        for (size_t first = g->first, end; first < g->end && c->count < CURVES_MAX; first = end) {
            for (end = first + 1;
                 end < g->end && strcmp(g->runs[first]->method, g->runs[end]->method) == 0;)
                end++;
            add_curve(g, first, end, param, paper, c);
        }
        if (c->count) WK_TRY(draw(gallery, g, param, c, err));
    }
    return WK_OK;
}

wk_status wk_report_figures_choices(wk_report_figures *gallery, const wk_runs *runs,
                                    const wk_paper *paper, wk_error *err)
{
    canvas *c = calloc(1, sizeof *c);
    if (!c) return wk_fail(err, WK_E_MEMORY, "no memory for the curves of the curricula");
    wk_status status = WK_OK;
    group g = {.runs = runs->items.items};
    for (; g.first < runs->items.count && status == WK_OK; g.first = g.end) {
        g.end = g.first + 1;
        while (g.end < runs->items.count && wk_runs_same_group(g.runs[g.first], g.runs[g.end]))
            g.end++;
        status = draw_group(gallery, &g, paper, c, err);
    }
    free(c);
    return status;
}
