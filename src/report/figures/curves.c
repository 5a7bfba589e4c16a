// Learning curves: scores of policies from snapshots of the world model, over steps.
#include "report/figures/figures.h"

#include "waker/stats.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Room for the curves of one figure. There are never more points than scores.
typedef struct curve_buffer {
    double *x, *y, *sd, *scratch;
    wk_plot_series *series;
    size_t points, count;
} curve_buffer;

static bool make_buffer(curve_buffer *c, size_t scores)
{
    c->x = calloc(scores, sizeof *c->x);
    c->y = calloc(scores, sizeof *c->y);
    c->sd = calloc(scores, sizeof *c->sd);
    c->scratch = calloc(scores, sizeof *c->scratch);
    c->series = calloc(scores, sizeof *c->series);
    return c->x && c->y && c->sd && c->scratch && c->series;
}

static void free_buffer(curve_buffer *c)
{
    free(c->x);
    free(c->y);
    free(c->sd);
    free(c->scratch);
    free(c->series);
}

// The smallest step above `step` among scores [first, end); false when there is none.
static bool next_step(const wk_seed_score *items, size_t first, size_t end, bool any,
                      uint64_t *step)
{
    bool found = false;
    uint64_t min = 0;
    for (size_t i = first; i < end; i++) {
        if (!items[i].curve || (any && items[i].step <= *step)) continue;
        if (!found || items[i].step < min) min = items[i].step;
        found = true;
    }
    *step = min;
    return found;
}

// One curriculum: mean and s.d. over the seeds that have each step.
static void add_curve(curve_buffer *c, const wk_seed_scores *f, size_t first, size_t end)
{
    const wk_seed_score *items = f->items.items;
    const char *name = items[first].key.names[WK_FIELD_CURRICULUM];
    size_t begin = c->points;
    uint64_t step = 0;
    for (bool any = false; next_step(items, first, end, any, &step); any = true) {
        size_t seeds = 0;
        for (size_t i = first; i < end; i++)
            if (items[i].curve && items[i].step == step) c->scratch[seeds++] = items[i].value;
        c->x[c->points] = (double)step;
        c->y[c->points] = wk_stats_mean(c->scratch, seeds);
        c->sd[c->points++] = wk_stats_sd(c->scratch, seeds);
    }
    if (c->points == begin) return;
    const wk_paper_row *published = wk_paper_find(f->paper, &items[first].key);
    c->series[c->count++] = (wk_plot_series){.name = name,
                                             .level = published ? &published->mean : NULL,
                                             .count = c->points - begin,
                                             .x = c->x + begin,
                                             .y = c->y + begin,
                                             .spread = c->sd + begin,
                                             .style = wk_curriculum_style(f->paper, name)};
}

static bool has_several_steps(const wk_seed_scores *f, size_t first, size_t end)
{
    const wk_seed_score *any = NULL;
    for (size_t i = first; i < end; i++) {
        const wk_seed_score *item = &f->items.items[i];
        if (!item->curve) continue;
        if (any && item->step != any->step) return true;
        any = item;
    }
    return false;
}

// The sample that the curves [first, end) are of.
static const wk_seed_score *sample_of(const wk_seed_scores *f, size_t first)
{
    while (!f->items.items[first].curve)
        first++;
    return &f->items.items[first];
}

static bool has_level(const curve_buffer *c)
{
    for (size_t k = 0; k < c->count; k++)
        if (c->series[k].level) return true;
    return false;
}

static wk_status draw(wk_report_figures *figures, const wk_seed_score *sample,
                      const curve_buffer *c, wk_error *err)
{
    const char *const *n = sample->key.names;
    const char *variant = n[WK_FIELD_VARIANT], *comma = *variant ? ", " : "";
    bool cvar = strcmp(n[WK_FIELD_METRIC], "cvar0.1") == 0;
    wk_figure_section section = cvar       ? WK_FIGURES_CURVES_CVAR
                                : *variant ? WK_FIGURES_CURVES_OOD
                                           : WK_FIGURES_CURVES_AVERAGE;
    char title[256], name[256], caption[512];
    snprintf(title, sizeof title, "%s: %s, %s%s%s, %s", cvar ? "CVaR 0.1" : "Average",
             n[WK_FIELD_DOMAIN], n[WK_FIELD_TASK], comma, variant, n[WK_FIELD_EXPLORATION]);
    snprintf(name, sizeof name, "curve-%s-%s-%s%s%s-%s", n[WK_FIELD_METRIC], n[WK_FIELD_DOMAIN],
             n[WK_FIELD_TASK], *variant ? "-" : "", variant, n[WK_FIELD_EXPLORATION]);
    snprintf(
        caption, sizeof caption,
        "%s of the policies from snapshots of the world model, each of %llu episode%s: mean and "
        "s.d. over seeds.%s",
        cvar ? "CVaR 0.1" : "Average", (unsigned long long)sample->episodes,
        wk_plural(sample->episodes),
        has_level(c) ? " Dashed: the paper's mean at the end of its runs." : "");
    wk_plot_lines plot = {.title = title,
                          .x = {.label = "agent steps of the world model's data"},
                          .y = {.label = cvar ? "CVaR 0.1" : "average score"},
                          .series = c->series,
                          .count = c->count};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_report_figures_add(figures, section, figure, name, caption, err);
}

wk_status wk_report_figures_curves(wk_report_figures *figures, const wk_seed_scores *f,
                                   wk_error *err)
{
    curve_buffer c = {0};
    wk_status status = make_buffer(&c, f->items.count + 1)
                           ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory for the learning curves");
    for (size_t first = 0, end; first < f->items.count && status == WK_OK; first = end) {
        end = wk_seed_scores_range_end(f, first, WK_FIELD_CURRICULUM);
        if (!has_several_steps(f, first, end)) continue;
        c.points = c.count = 0;
        for (size_t from = first, to; from < end; from = to) {
            to = wk_seed_scores_range_end(f, from, WK_FIELDS);
            add_curve(&c, f, from, to);
        }
        status = draw(figures, sample_of(f, first), &c, err);
    }
    free_buffer(&c);
    return status;
}
