// What the world model promises of its policies against what they get: the critic's value at the
// start of the episodes and the discounted return that followed, a point for each run.
#include "report/figures/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Points of one task, method after method.
typedef struct cloud {
    double *x, *y;
    wk_plot_series *series;
    size_t points, count;
} cloud;

static void add_method(cloud *c, const wk_seed_scores *f, size_t first, size_t end)
{
    size_t begin = c->points;
    const char *name = f->items.items[first].key.names[WK_FIELD_CURRICULUM];
    for (size_t i = first; i < end; i++) {
        const wk_seed_score *s = &f->items.items[i];
        if (!s->final || !isfinite(s->promised) || !isfinite(s->discounted)) continue;
        c->x[c->points] = s->discounted;
        c->y[c->points++] = s->promised;
    }
    if (c->points > begin)
        c->series[c->count++] = (wk_plot_series){.name = name,
                                                 .count = c->points - begin,
                                                 .x = c->x + begin,
                                                 .y = c->y + begin,
                                                 .style = wk_curriculum_style(f->paper, name)};
}

static wk_status draw(wk_report_figures *figures, const wk_result_key *key, const cloud *c,
                      wk_error *err)
{
    const char *const *n = key->names;
    char title[256], name[256];
    snprintf(title, sizeof title, "Promised and obtained: %s, %s, %s", n[WK_FIELD_DOMAIN],
             n[WK_FIELD_TASK], n[WK_FIELD_EXPLORATION]);
    snprintf(name, sizeof name, "promised-%s-%s-%s", n[WK_FIELD_DOMAIN], n[WK_FIELD_TASK],
             n[WK_FIELD_EXPLORATION]);
    wk_plot_scatter plot = {.title = title,
                            .x = {.label = "discounted return"},
                            .y = {.label = "promised value"},
                            .series = c->series,
                            .count = c->count,
                            .diagonal = true};
    wk_figure *figure;
    WK_TRY(wk_plot_scatter_draw(&plot, &figure, err));
    return wk_report_figures_add(
        figures, WK_FIGURES_PREDICTIONS, figure, name,
        "A point for each run, means over the episodes of its last evaluation in the default "
        "distribution. Above the dashed line the world model promises more than the policy gets.",
        err);
}

static bool counts(const wk_seed_score *s)
{
    return strcmp(s->key.names[WK_FIELD_METRIC], "average") == 0;
}

wk_status wk_report_figures_calibration(wk_report_figures *figures, const wk_seed_scores *f,
                                        wk_error *err)
{
    size_t count = f->items.count;
    cloud c = {calloc(count + 1, sizeof *c.x), calloc(count + 1, sizeof *c.y),
               calloc(count + 1, sizeof *c.series), 0, 0};
    wk_status status = c.x && c.y && c.series
                           ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory for the figures of promises");
    for (size_t first = 0, end; first < count && status == WK_OK; first = end) {
        end = wk_seed_scores_range_end(f, first, WK_FIELD_CURRICULUM);
        c.points = c.count = 0;
        for (size_t from = first, to; from < end && counts(&f->items.items[first]); from = to) {
            to = wk_seed_scores_range_end(f, from, WK_FIELDS);
            add_method(&c, f, from, to);
        }
        if (c.count) status = draw(figures, &f->items.items[first].key, &c, err);
    }
    free(c.x);
    free(c.y);
    free(c.series);
    return status;
}
