// Maps of the environments that curricula visited and of the error they estimate there, from the
// newest checkpoints, over the seeds of a curriculum.
#include "report/figures/figures.h"

#include "base/text.h"
#include "run/saved_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status read_map(const wk_report_run *run, wk_heatmap *out, wk_error *err)
{
    wk_saved_run saved = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CURRICULUM, .own_tasks = true};
    wk_status status = wk_saved_run_open(run->directory, &options, &saved, err);
    if (status == WK_OK)
        status = wk_heatmap_create(saved.world.domain, saved.space, saved.curriculum, out, err);
    wk_saved_run_close(&saved);
    return status;
}

// The maps of one curriculum: visits summed, errors averaged over the seeds that have one.
typedef struct summed {
    const char *curriculum;
    wk_heatmap map;
    double *known[WK_HEAT_PANELS_MAX]; // [cells]: seeds with an error there
    size_t seeds;
} summed;

static void free_summed(summed *s)
{
    wk_heatmap_free(&s->map);
    for (int p = 0; p < WK_HEAT_PANELS_MAX; p++)
        free(s->known[p]);
}

static size_t cells_of(const wk_heat_panel *panel)
{
    return (size_t)panel->rows * (size_t)panel->columns;
}

static bool same_shape(const wk_heatmap *a, const wk_heatmap *b)
{
    bool same = a->count == b->count;
    for (int p = 0; p < a->count && same; p++)
        same =
            a->panels[p].rows == b->panels[p].rows && a->panels[p].columns == b->panels[p].columns;
    return same;
}

static void add_values(double *sum, const double *values, size_t count, double *known)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) continue;
        sum[i] = isnan(sum[i]) ? values[i] : sum[i] + values[i];
        if (known) known[i]++;
    }
}

// Takes the map over as the first one.
static bool begin_sum(summed *s, wk_heatmap *map)
{
    s->map = *map;
    *map = (wk_heatmap){0};
    for (int p = 0; p < s->map.count; p++) {
        wk_heat_panel *panel = &s->map.panels[p];
        s->known[p] = calloc(cells_of(panel), sizeof *s->known[p]);
        if (!s->known[p]) return false;
        for (size_t i = 0; i < cells_of(panel); i++)
            s->known[p][i] = !isnan(panel->cells[WK_HEAT_ERROR][i]);
    }
    s->seeds = 1;
    return true;
}

static void add_map(summed *s, const wk_heatmap *map)
{
    if (!same_shape(&s->map, map)) return; // the same domain with other options
    for (int p = 0; p < map->count; p++) {
        wk_heat_panel *sum = &s->map.panels[p];
        const wk_heat_panel *one = &map->panels[p];
        size_t cells = cells_of(sum);
        add_values(sum->cells[WK_HEAT_VISITS], one->cells[WK_HEAT_VISITS], cells, NULL);
        add_values(sum->cells[WK_HEAT_ERROR], one->cells[WK_HEAT_ERROR], cells, s->known[p]);
    }
    s->seeds++;
}

// Visits become shares of all visits, sums of errors become means.
static void finish_sum(summed *s)
{
    double visits = 0;
    for (int p = 0; p < s->map.count; p++)
        for (size_t i = 0; i < cells_of(&s->map.panels[p]); i++)
            visits += fmax(0, s->map.panels[p].cells[WK_HEAT_VISITS][i]);
    for (int p = 0; p < s->map.count; p++)
        for (size_t i = 0; i < cells_of(&s->map.panels[p]); i++) {
            if (visits > 0) s->map.panels[p].cells[WK_HEAT_VISITS][i] /= visits;
            s->map.panels[p].cells[WK_HEAT_ERROR][i] /= s->known[p][i];
        }
}

static bool take_map(summed *out, wk_heatmap *map)
{
    if (out->seeds == 0) return begin_sum(out, map);
    add_map(out, map);
    return true;
}

// Adds a run; one without a checkpoint is counted, one with an unusable checkpoint is reported.
static wk_status add_run(wk_runs *runs, const wk_report_run *run, summed *out, size_t *without,
                         wk_sentences *missing, wk_error *err)
{
    wk_heatmap map = {0};
    wk_error problem = {0};
    uint64_t step;
    wk_status status = wk_checkpoint_newest(run->directory, &step, &problem);
    if (status == WK_E_NOT_FOUND) {
        ++*without;
        return WK_OK;
    }
    if (status == WK_OK) status = read_map(run, &map, &problem);
    if (status == WK_OK && !take_map(out, &map))
        status = wk_fail(&problem, WK_E_MEMORY, "no memory for the maps of the curricula");
    wk_heatmap_free(&map);
    if (status == WK_OK) return WK_OK;
    if (status == WK_E_MEMORY) return wk_fail(err, status, "%s", problem.message);
    if (status == WK_E_IO)
        return wk_runs_leave_out(runs, err, "the map of the curriculum of '%s': %s", run->directory,
                                 problem.message);
    return wk_sentences_add(missing, err, "%s: no map of its curriculum: %s", run->directory,
                            problem.message);
}

// The range of a layer over all methods of the group: one scale for maps that are compared.
typedef struct range {
    double min, max;
} range;

static range find_range(const summed *sums, size_t count, int panel, wk_heat heat)
{
    range r = {INFINITY, -INFINITY};
    for (size_t k = 0; k < count; k++) {
        if (panel >= sums[k].map.count) continue;
        const wk_heat_panel *p = &sums[k].map.panels[panel];
        for (size_t i = 0; i < cells_of(p); i++) {
            if (!isfinite(p->cells[heat][i])) continue;
            r.min = fmin(r.min, p->cells[heat][i]);
            r.max = fmax(r.max, p->cells[heat][i]);
        }
    }
    if (heat == WK_HEAT_VISITS) r.min = 0;
    return r;
}

static bool has_values(const wk_heat_panel *panel, wk_heat heat)
{
    for (size_t i = 0; i < cells_of(panel); i++)
        if (!isnan(panel->cells[heat][i])) return true;
    return false;
}

// The method in a title. What is cut has the method's number in the group instead: no two methods
// look the same.
static void put_method(const char *method, size_t number, char out[WK_METHOD_NAME_MAX])
{
    enum { WIDTH_MAX = 60, WIDTH_CUT = 50 };
    size_t length = strlen(method);
    if (wk_utf8_width(method, length) <= WIDTH_MAX) {
        snprintf(out, WK_METHOD_NAME_MAX, "%s", method);
        return;
    }
    while (wk_utf8_width(method, length) > WIDTH_CUT ||
           ((unsigned char)method[length] & 0xc0) == 0x80)
        length--;
    snprintf(out, WK_METHOD_NAME_MAX, "%.*s\xe2\x80\xa6 (%zu)", (int)length, method, number);
}

static wk_status draw(wk_report_figures *figures, const wk_report_run *run, const summed *sums,
                      size_t k, int panel, wk_heat heat, range scale, wk_error *err)
{
    const summed *s = &sums[k];
    const wk_heat_panel *p = &s->map.panels[panel];
    bool visits = heat == WK_HEAT_VISITS;
    if (!has_values(p, heat)) return WK_OK;
    char title[512], name[512], caption[256], part[24] = "", method[WK_METHOD_NAME_MAX];
    if (s->map.count > 1) snprintf(part, sizeof part, "-%d", panel);
    put_method(s->curriculum, k + 1, method);
    snprintf(title, sizeof title, "%s: %s, %s, %s%s%s", visits ? "Episodes" : "Estimated error",
             method, run->domain, run->exploration, *part ? ", domain " : "",
             *part ? part + 1 : "");
    snprintf(name, sizeof name, "map-%s-%s-%s-%s%s", visits ? "episodes" : "error", run->domain,
             run->exploration, s->curriculum, part);
    snprintf(caption, sizeof caption, "%s, %zu seed%s. One colour scale for all methods.%s",
             visits ? "Share of the episodes begun in each environment"
                    : "Error that the ensemble estimates in each environment",
             s->seeds, wk_plural((uint64_t)s->seeds),
             visits ? "" : " Ensembles have scales of their own: compare patterns.");
    wk_plot_heat plot = wk_plot_heat_of_panel(p, heat, title);
    plot.percent = visits;
    plot.value_label = visits ? "share of episodes" : "error estimate";
    plot.fixed = scale.max > scale.min;
    plot.min = scale.min;
    plot.max = scale.max;
    wk_figure *figure;
    WK_TRY(wk_plot_heat_draw(&plot, &figure, err));
    return wk_report_figures_add(figures, WK_FIGURES_MAPS, figure, name, caption, err);
}

static wk_status draw_group(wk_report_figures *figures, const wk_report_run *run,
                            const summed *sums, size_t count, wk_error *err)
{
    static const wk_heat heats[] = {WK_HEAT_VISITS, WK_HEAT_ERROR};
    for (size_t h = 0; h < sizeof heats / sizeof *heats; h++)
        for (size_t k = 0; k < count; k++)
            for (int p = 0; p < sums[k].map.count; p++)
                WK_TRY(draw(figures, run, sums, k, p, heats[h],
                            find_range(sums, count, p, heats[h]), err));
    return WK_OK;
}

static int compare_sums(const void *a, const void *b, void *paper)
{
    const summed *x = a, *y = b;
    return wk_paper_order(paper, WK_FIELD_CURRICULUM, x->curriculum, y->curriculum);
}

// Runs [first, end) are of one domain and exploration, sorted by curriculum.
static wk_status map_group(wk_report_figures *figures, wk_runs *all, size_t first, size_t end,
                           const wk_paper *paper, size_t *without, wk_sentences *missing,
                           wk_error *err)
{
    wk_report_run *const *runs = all->items.items;
    summed *sums = calloc(end - first, sizeof *sums);
    if (!sums) return wk_fail(err, WK_E_MEMORY, "no memory for the maps of the curricula");
    size_t count = 0;
    wk_status status = WK_OK;
    for (size_t i = first; i < end && status == WK_OK; i++) {
        if (i == first || strcmp(runs[i]->method, runs[i - 1]->method) != 0)
            sums[count++].curriculum = runs[i]->method;
        status = add_run(all, runs[i], &sums[count - 1], without, missing, err);
        wk_progress_count(all->progress, 0);
    }
    for (size_t k = 0; k < count && status == WK_OK; k++)
        finish_sum(&sums[k]);
    qsort_r(sums, count, sizeof *sums, compare_sums, (void *)paper);
    if (status == WK_OK) status = draw_group(figures, runs[first], sums, count, err);
    for (size_t k = 0; k < count; k++)
        free_summed(&sums[k]);
    free(sums);
    return status;
}

wk_status wk_report_figures_maps(wk_report_figures *figures, wk_runs *runs, const wk_paper *paper,
                                 wk_sentences *missing, wk_error *err)
{
    size_t without = 0, count = runs->items.count;
    wk_progress_next(runs->progress, "maps", (int64_t)count);
    for (size_t first = 0, end; first < count; first = end) {
        end = wk_runs_group_end(runs, first);
        WK_TRY(map_group(figures, runs, first, end, paper, &without, missing, err));
    }
    if (without == 0) return WK_OK;
    return wk_sentences_add(
        missing, err,
        "%zu of %zu run%s %s no whole checkpoint: no maps of the environments visited", without,
        count, wk_plural(count), without == 1 ? "has" : "have");
}
