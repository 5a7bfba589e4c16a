// What is drawn from the files of runs: maps of the environments that curricula visited and of the
// error they estimate there, over the seeds of a method; contact sheets; what was imagined.
#include "base/file.h"
#include "report/figures.h"
#include "report/sheet.h"
#include "run/saved_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The maps of one method: visits summed, errors averaged over the seeds that have one.
typedef struct summed {
    const char *method;
    wk_heatmap map;
    double *known[WK_HEAT_PANELS_MAX]; // [cells]: seeds with an error there
    size_t seeds;
} summed;

static size_t cells_of(const wk_heat_panel *panel)
{
    return (size_t)panel->rows * (size_t)panel->columns;
}

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

// Adds a map: the first is taken over, others have to be of its shape.
static void add_map(wk_report_memory *memory, summed *s, wk_heatmap *map)
{
    bool first = s->seeds == 0;
    if (first) {
        s->map = *map;
        *map = (wk_heatmap){0};
    }
    for (int p = 0; p < s->map.count && !first; p++)
        if (map->count != s->map.count || map->panels[p].rows != s->map.panels[p].rows ||
            map->panels[p].columns != s->map.panels[p].columns)
            return; // the same domain with other options
    for (int p = 0; p < s->map.count; p++) {
        const wk_heat_panel *sum = &s->map.panels[p];
        double *visits = sum->cells[WK_HEAT_VISITS], *errors = sum->cells[WK_HEAT_ERROR];
        if (first) s->known[p] = wk_report_alloc(memory, cells_of(sum), sizeof *s->known[p]);
        for (size_t i = 0; i < cells_of(sum) && s->known[p]; i++) {
            double visit = first ? NAN : map->panels[p].cells[WK_HEAT_VISITS][i];
            double error = first ? NAN : map->panels[p].cells[WK_HEAT_ERROR][i];
            if (!isnan(visit)) visits[i] = isnan(visits[i]) ? visit : visits[i] + visit;
            if (!isnan(error)) errors[i] = isnan(errors[i]) ? error : errors[i] + error;
            s->known[p][i] += !isnan(first ? errors[i] : error);
        }
    }
    s->seeds++;
}

// Adds a run; one without a checkpoint is counted, one with an unusable checkpoint is reported.
static wk_status add_run(wk_runs *runs, const wk_report_run *run, summed *out, size_t *without,
                         wk_sentences *missing, wk_error *err)
{
    wk_heatmap map = {0};
    wk_error problem = {0};
    uint64_t step;
    wk_status status = wk_checkpoint_newest(run->directory, &step, &problem);
    *without += status == WK_E_NOT_FOUND;
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = read_map(run, &map, &problem);
    if (status == WK_OK) add_map(&runs->memory, out, &map);
    wk_heatmap_free(&map);
    if (status == WK_E_MEMORY) return wk_fail(err, status, "%s", problem.message);
    if (status == WK_E_IO) // says nothing about the run
        wk_sentences_add(&runs->memory, &runs->problems, "the map of the curriculum of '%s': %s",
                         run->directory, problem.message);
    else if (status != WK_OK)
        wk_sentences_add(&runs->memory, missing, "%s: no map of its curriculum: %s", run->directory,
                         problem.message);
    return wk_report_memory_check(&runs->memory, err);
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

// The method in a title. What is cut has the method's number in the group instead: no two methods
// look the same.
static const char *short_method(wk_report_memory *memory, const char *method, size_t number)
{
    enum { WIDTH_MAX = 60, WIDTH_CUT = 50 };
    size_t length = strlen(method);
    if (wk_utf8_width(method, length) <= WIDTH_MAX) return method;
    while (wk_utf8_width(method, length) > WIDTH_CUT ||
           ((unsigned char)method[length] & 0xc0) == 0x80)
        length--;
    return wk_report_printf(memory, "%.*s\xe2\x80\xa6 (%zu)", (int)length, method, number);
}

// Draws a layer of method k; all methods of the group have one scale.
static wk_status draw(const wk_figure_data *data, wk_report_figures *figures,
                      const wk_report_run *run, const summed *sums, size_t count, size_t k,
                      int panel, wk_heat heat, wk_error *err)
{
    wk_report_memory *m = &data->runs->memory;
    const summed *s = &sums[k];
    double min = INFINITY, max = -INFINITY;
    bool visits = heat == WK_HEAT_VISITS, any = false;
    for (size_t i = 0; i < count; i++) {
        const wk_heat_panel *p = &sums[i].map.panels[panel];
        for (size_t c = 0; panel < sums[i].map.count && c < cells_of(p); c++) {
            double value = p->cells[heat][c];
            any |= i == k && !isnan(value);
            if (!isfinite(value)) continue;
            min = fmin(min, value);
            max = fmax(max, value);
        }
    }
    if (!any) return WK_OK;
    const char *part = s->map.count > 1 ? wk_report_printf(m, "%d", panel) : "";
    const char *title =
        wk_report_printf(m, "%s: %s, %s, %s%s%s", visits ? "Episodes" : "Estimated error",
                         short_method(m, s->method, k + 1), run->domain, run->exploration,
                         *part ? ", domain " : "", part);
    const char *name =
        wk_report_printf(m, "map-%s-%s-%s-%s%s%s", visits ? "episodes" : "error", run->domain,
                         run->exploration, s->method, *part ? "-" : "", part);
    const char *caption =
        wk_report_printf(m, "%s, %zu seed%s. One colour scale for all methods.%s",
                         visits ? "Share of the episodes begun in each environment"
                                : "Error that the ensemble estimates in each environment",
                         s->seeds, wk_plural((uint64_t)s->seeds),
                         visits ? "" : " Ensembles have scales of their own: compare patterns.");
    wk_plot_heat plot = wk_plot_heat_of_panel(&s->map.panels[panel], heat, title);
    plot.percent = visits;
    plot.value_label = visits ? "share of episodes" : "error estimate";
    plot.min = visits ? 0 : min;
    plot.max = max;
    plot.fixed = plot.max > plot.min;
    wk_figure *figure;
    WK_TRY(wk_plot_heat_draw(&plot, &figure, err));
    return wk_report_figures_add(
        m, figures,
        (wk_report_figure){
            .section = WK_FIGURES_MAPS, .name = name, .caption = caption, .figure = figure},
        err);
}

static int compare_sums(const void *a, const void *b, void *paper)
{
    const summed *x = a, *y = b;
    return wk_paper_order(paper, WK_FIELD_CURRICULUM, x->method, y->method);
}

// Runs [first, end) are of one domain and exploration, sorted by method.
static wk_status map_group(const wk_figure_data *data, wk_report_figures *figures, size_t first,
                           size_t end, size_t *without, wk_sentences *missing, wk_error *err)
{
    static const wk_heat heats[] = {WK_HEAT_VISITS, WK_HEAT_ERROR};
    wk_runs *all = data->runs;
    wk_report_run *const *runs = all->items.items;
    summed *sums = wk_report_alloc(&all->memory, end - first, sizeof *sums);
    if (!sums) return wk_report_memory_check(&all->memory, err);
    size_t count = 0;
    wk_status status = WK_OK;
    for (size_t i = first; i < end && status == WK_OK; i++) {
        if (i == first || strcmp(runs[i]->method, runs[i - 1]->method) != 0)
            sums[count++].method = runs[i]->method;
        status = add_run(all, runs[i], &sums[count - 1], without, missing, err);
        wk_progress_count(all->progress, 0);
    }
    for (size_t k = 0; k < count && status == WK_OK; k++)
        finish_sum(&sums[k]);
    qsort_r(sums, count, sizeof *sums, compare_sums, (void *)data->paper);
    for (size_t h = 0; h < 2; h++)
        for (size_t k = 0; k < count; k++)
            for (int p = 0; p < sums[k].map.count && status == WK_OK; p++)
                status = draw(data, figures, runs[first], sums, count, k, p, heats[h], err);
    for (size_t k = 0; k < count; k++)
        wk_heatmap_free(&sums[k].map);
    return status;
}

wk_status wk_report_figures_maps(const wk_figure_data *data, wk_report_figures *figures,
                                 wk_sentences *missing, wk_error *err)
{
    wk_runs *runs = data->runs;
    size_t without = 0, count = runs->items.count;
    wk_progress_next(runs->progress, "maps", (int64_t)count);
    for (size_t first = 0, end; first < count; first = end) {
        end = wk_runs_group_end(runs, first);
        WK_TRY(map_group(data, figures, first, end, &without, missing, err));
    }
    if (without)
        wk_sentences_add(&runs->memory, missing,
                         "%zu of %zu run%s %s no whole checkpoint: no maps of the environments "
                         "visited",
                         without, count, wk_plural(count), without == 1 ? "has" : "have");
    return wk_report_memory_check(&runs->memory, err);
}

// Pictures.

static wk_status draw_sheet(wk_runs *runs, const wk_domain *domain, wk_report_figures *out,
                            wk_error *err)
{
    enum { CELL = 96 };
    wk_image image = {0};
    uint8_t *png = NULL;
    int cells;
    WK_TRY(wk_contact_sheet_draw(domain, NULL, 0, WK_SHEET_STEPS, CELL, &image, &cells, err));
    wk_report_figure entry = {
        .section = WK_PICTURES_ENVIRONMENTS,
        .name = wk_report_printf(&runs->memory, "environments-%s", domain->name),
        .caption = wk_report_printf(&runs->memory,
                                    "%s: %d environments after %d random agent steps; below, "
                                    "those outside the training distribution.",
                                    domain->name, cells, WK_SHEET_STEPS),
        .width = (uint32_t)image.width,
        .height = (uint32_t)image.height};
    wk_status status = wk_png_encode(&image, &png, &entry.size, err);
    entry.png = png;
    wk_image_free(&image);
    if (status == WK_OK) status = wk_report_figures_add(&runs->memory, out, entry, err);
    free(png);
    return status;
}

// Domains of plug-ins have no image: reading runs loads no code.
static wk_status draw_sheets(wk_runs *runs, wk_report_figures *out, wk_sentences *missing,
                             wk_error *err)
{
    wk_report_run *const *items = runs->items.items;
    int64_t domains = 0;
    for (size_t i = 0; i < runs->items.count; i++) // sorted by domain
        domains += i == 0 || strcmp(items[i]->domain, items[i - 1]->domain) != 0;
    wk_progress_next(runs->progress, "images", domains);
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_domain *domain;
        wk_error problem = {0};
        if ((i > 0 && strcmp(items[i]->domain, items[i - 1]->domain) == 0) ||
            wk_domain_find(items[i]->domain, &domain, NULL) != WK_OK || domain->n_params == 0)
            continue;
        wk_status status = draw_sheet(runs, domain, out, &problem);
        wk_progress_count(runs->progress, 0);
        if (status == WK_E_MEMORY) return wk_fail(err, status, "%s", problem.message);
        if (status != WK_OK)
            wk_sentences_add(&runs->memory, missing, "%s: no image of its environments: %s",
                             domain->name, problem.message);
    }
    return WK_OK;
}

// Reads the size from the header; browsers check the rest.
static bool read_png_size(const uint8_t *png, wk_report_figure *entry)
{
    enum { SIDE_MAX = 20000 };
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (entry->size < 24 || memcmp(png, signature, sizeof signature) != 0) return false;
    for (int i = 0; i < 4; i++) {
        entry->width = entry->width << 8 | png[16 + i];
        entry->height = entry->height << 8 | png[20 + i];
    }
    return entry->width > 0 && entry->width < SIDE_MAX && entry->height > 0 &&
           entry->height < SIDE_MAX;
}

// Takes the newest open-loop strip of a run, if it has one.
static wk_status take_strip(wk_runs *runs, const wk_report_run *run, bool *found,
                            wk_report_figures *out, wk_sentences *missing, wk_error *err)
{
    static const char prefix[] = "openloop-";
    static const size_t size_limit = (size_t)8 << 20;
    char folder[WK_PATH_MAX], path[WK_PATH_MAX], *bytes = NULL;
    const char *file = NULL;
    wk_error problem = {0};
    wk_names names = {0};
    wk_report_figure entry = {.section = WK_PICTURES_IMAGINED};
    WK_TRY(wk_path_print(folder, err, "%s/eval", run->directory));
    wk_status status = wk_path_list(folder, &names, &problem);
    for (size_t i = 0; i < names.count && status == WK_OK; i++) // the last: of the largest step
        if (wk_name_ends_in(names.items[i], ".png") &&
            strncmp(names.items[i], prefix, sizeof prefix - 1) == 0)
            file = wk_report_printf(&runs->memory, "%s", names.items[i]);
    wk_names_free(&names);
    if (status == WK_E_NOT_FOUND || (status == WK_OK && !file)) return WK_OK;
    if (status == WK_OK) WK_TRY(wk_path_join(folder, file, path, err));
    if (status == WK_OK) status = wk_file_read(path, size_limit, &bytes, &entry.size, &problem);
    if (status != WK_OK) {
        wk_sentences_add(&runs->memory, &runs->problems, "%s", problem.message);
        return WK_OK;
    }
    *found = read_png_size((uint8_t *)bytes, &entry);
    if (*found) {
        entry.png = (uint8_t *)bytes;
        entry.name = wk_report_printf(&runs->memory, "imagined-%.60s-%.60s-%.100s", run->domain,
                                      run->exploration, run->method);
        entry.caption = wk_report_printf(&runs->memory, "%.60s, %.60s, %.200s, seed %llu (%.300s).",
                                         run->domain, run->exploration, run->method,
                                         (unsigned long long)run->seed, file);
        status = wk_report_figures_add(&runs->memory, out, entry, err);
    } else {
        wk_sentences_add(&runs->memory, missing, "'%s' is not a PNG image", path);
    }
    free(bytes);
    return status;
}

wk_status wk_report_pictures_make(wk_runs *runs, wk_report_figures *out, wk_sentences *missing,
                                  wk_error *err)
{
    wk_report_run *const *items = runs->items.items;
    bool found = false;
    WK_TRY(draw_sheets(runs, out, missing, err));
    for (size_t i = 0; i < runs->items.count; i++) { // sorted by method
        if (i == 0 || !wk_runs_same_group(items[i], items[i - 1]) ||
            strcmp(items[i]->method, items[i - 1]->method) != 0)
            found = false;
        if (!found) WK_TRY(take_strip(runs, items[i], &found, out, missing, err));
    }
    return wk_report_memory_check(&runs->memory, err);
}
