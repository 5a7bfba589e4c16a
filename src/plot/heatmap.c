#include "plot/heatmap.h"

#include "base/memory.h"
#include "plot/plot.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const heat_names[WK_HEATS] = {"episodes", "error", "probability"};

// The θ of one panel and how they fall into its cells.
typedef struct binning {
    const wk_domain *domain;
    const wk_space *space;
    const wk_heat_layer *layers;
    size_t count; // θ of the space
    int group, groups;
    int row;                    // parameter of the rows, or -1
    bool column[WK_PARAMS_MAX]; // parameters whose sum is the column
} binning;

// A combined space says by its first parameter, called "domain", which family a θ belongs to.
static bool combined(const wk_domain *domain)
{
    return strcmp(domain->params[0].name, "domain") == 0;
}

static bool inside(const binning *s, size_t i)
{
    return !combined(s->domain) || (int)wk_space_params(s->space, i)[0] == s->group;
}

static bool varies(const binning *s, int param)
{
    double first = NAN;
    for (size_t i = 0; i < s->count; i++) {
        if (!inside(s, i)) continue;
        double value = wk_space_params(s->space, i)[param];
        if (isnan(first)) first = value;
        if (value != first) return true;
    }
    return false;
}

// A parameter of a θ; of a continuous space, the middle of its bin.
static double value_of(const binning *s, size_t i, int param)
{
    enum { BINS = 16 };
    const wk_param *p = &s->domain->params[param];
    double value = wk_space_params(s->space, i)[param];
    if (!wk_space_is_continuous(s->space) || !p->continuous) return value;
    double bin = floor((value - p->min) / (p->max - p->min) * BINS);
    return p->min + (fmin(bin, BINS - 1) + 0.5) / BINS * (p->max - p->min);
}

static double row_of(const binning *s, size_t i)
{
    return s->row < 0 ? 0 : value_of(s, i, s->row);
}

static double column_of(const binning *s, size_t i)
{
    double sum = 0;
    for (int p = 0; p < s->domain->n_params; p++)
        if (s->column[p]) sum += value_of(s, i, p);
    return sum;
}

// The first varying parameter makes the rows unless it is the only one; where none varies, the
// first parameter has its one column.
static void choose_axes(binning *s, wk_heat_panel *panel)
{
    int varying[WK_PARAMS_MAX], count = 0;
    for (int p = 0; p < s->domain->n_params; p++)
        if (varies(s, p)) varying[count++] = p;
    if (count == 0) varying[count++] = 0;
    s->row = count > 1 ? varying[0] : -1;
    if (count > 1)
        snprintf(panel->row_name, sizeof panel->row_name, "%s", s->domain->params[s->row].name);
    size_t used = 0;
    // Sums are for counts; of continuous parameters the second makes the columns.
    if (wk_space_is_continuous(s->space) && count > 2) count = 2;
    for (int k = count > 1; k < count && used < sizeof panel->column_name; k++) {
        s->column[varying[k]] = true;
        used += (size_t)snprintf(panel->column_name + used, sizeof panel->column_name - used,
                                 "%s%s", used ? " + " : "", s->domain->params[varying[k]].name);
    }
}

// The different values of an axis, rising.
static double *list_values(const binning *s, double (*axis)(const binning *, size_t), int *count)
{
    double *values = malloc(s->count * sizeof *values);
    if (!values) return NULL;
    size_t n = 0, different = 0;
    for (size_t i = 0; i < s->count; i++)
        if (inside(s, i)) values[n++] = axis(s, i);
    qsort(values, n, sizeof *values, wk_compare_doubles);
    for (size_t i = 0; i < n; i++)
        if (different == 0 || values[i] > values[different - 1] + 1e-9)
            values[different++] = values[i];
    *count = (int)different;
    return values;
}

static int find_value(const double *values, int count, double value)
{
    int at = 0;
    while (at + 1 < count && values[at] < value - 1e-9)
        at++;
    return at;
}

// Combines one layer's values into the cells; `known` counts them.
static void fill_cells(const binning *s, int h, wk_heat_panel *p, double *known)
{
    int cells = p->rows * p->columns;
    if (cells == 0) return;
    for (int c = 0; c < cells; c++) {
        p->cells[h][c] = NAN;
        known[c] = 0;
    }
    for (size_t i = 0; i < s->count; i++) {
        double value = s->layers[h].values[i];
        if (!inside(s, i) || isnan(value)) continue;
        int r = find_value(p->row_values, p->rows, row_of(s, i));
        int c = r * p->columns + find_value(p->column_values, p->columns, column_of(s, i));
        p->cells[h][c] = isnan(p->cells[h][c]) ? value : p->cells[h][c] + value;
        known[c]++;
    }
    for (int c = 0; c < cells && p->kinds[h] == WK_HEAT_IS_MEAN; c++)
        p->cells[h][c] /= known[c];
}

static bool make_panel(binning *s, const char *title, wk_heat_panel *panel)
{
    const wk_param *first = &s->domain->params[0];
    char part[120] = "";
    if (s->groups > 1)
        snprintf(part, sizeof part, ", %s = %d (%.80s)", first->name, s->group, first->help);
    snprintf(panel->title, sizeof panel->title, "%s%s%s", title, s->domain->name, part);
    choose_axes(s, panel);
    panel->row_values = list_values(s, row_of, &panel->rows);
    panel->column_values = list_values(s, column_of, &panel->columns);
    if (!panel->row_values || !panel->column_values) return false;
    size_t cells = (size_t)panel->rows * (size_t)panel->columns;
    double *known = calloc(cells, sizeof *known);
    bool all = known != NULL;
    for (int h = 0; h < WK_HEATS && all; h++) {
        panel->names[h] = s->layers[h].name;
        panel->kinds[h] = s->layers[h].kind;
        panel->cells[h] = calloc(cells, sizeof *panel->cells[h]);
        all = panel->cells[h] != NULL;
        if (!all) break;
        fill_cells(s, h, panel, known);
        panel->min[h] = INFINITY;
        panel->max[h] = -INFINITY;
        for (size_t c = 0; c < cells; c++) {
            panel->min[h] = fmin(panel->min[h], panel->cells[h][c]);
            panel->max[h] = fmax(panel->max[h], panel->cells[h][c]);
        }
    }
    free(known);
    return all;
}

wk_status wk_heatmap_add(wk_heatmap *map, const char *title, const wk_domain *domain,
                         const wk_space *space, const wk_heat_layer layers[WK_HEATS], wk_error *err)
{
    binning s = {.domain = domain,
                 .space = space,
                 .layers = layers,
                 .count = wk_space_count(space),
                 .groups = combined(domain) ? (int)domain->params[0].max + 1 : 1};
    if (map->count + s.groups > WK_HEAT_PANELS_MAX)
        return wk_fail(err, WK_E_INPUT, "there is room for %d maps; ask for fewer at once",
                       WK_HEAT_PANELS_MAX);
    for (; s.group < s.groups; s.group++) {
        binning panel = s;
        if (!make_panel(&panel, title, &map->panels[map->count++]))
            return wk_fail(err, WK_E_MEMORY, "no memory for a map of %zu parameters", s.count);
    }
    return WK_OK;
}

wk_status wk_heatmap_create(const wk_domain *domain, const wk_space *space,
                            const wk_curriculum *curriculum, wk_heatmap *out, wk_error *err)
{
    wk_curriculum_view view = wk_curriculum_get_view(curriculum);
    *out = (wk_heatmap){0};
    double *probability = malloc(view.count * 2 * sizeof *probability);
    if (!probability)
        return wk_fail(err, WK_E_MEMORY, "no memory for a map of %zu parameters", view.count);
    double *visits = probability + view.count;
    wk_curriculum_distribution(curriculum, probability);
    for (size_t i = 0; i < view.count; i++)
        visits[i] = (double)view.visits[i];
    const wk_heat_layer layers[WK_HEATS] = {
        [WK_HEAT_VISITS] = {heat_names[WK_HEAT_VISITS], WK_HEAT_IS_COUNT, visits},
        [WK_HEAT_ERROR] = {heat_names[WK_HEAT_ERROR], WK_HEAT_IS_MEAN, view.error},
        [WK_HEAT_PROBABILITY] = {heat_names[WK_HEAT_PROBABILITY], WK_HEAT_IS_SHARE, probability}};
    wk_status status = wk_heatmap_add(out, "", domain, space, layers, err);
    free(probability);
    if (status != WK_OK) wk_heatmap_free(out);
    return status;
}

void wk_heatmap_free(wk_heatmap *map)
{
    for (int i = 0; i < map->count; i++) {
        wk_heat_panel *p = &map->panels[i];
        free(p->row_values);
        free(p->column_values);
        for (int h = 0; h < WK_HEATS; h++)
            free(p->cells[h]);
    }
    *map = (wk_heatmap){0};
}

static void value_text(wk_heat_kind kind, double value, char *out, size_t size)
{
    if (isnan(value) || isinf(value))
        snprintf(out, size, "-");
    else if (kind == WK_HEAT_IS_COUNT)
        snprintf(out, size, "%.0f", value);
    else if (kind == WK_HEAT_IS_SHARE)
        snprintf(out, size, "%.*f%%", value < 0.001 ? 3 : value < 0.01 ? 2 : 1, 100 * value);
    else
        snprintf(out, size, "%.3g", value);
}

enum { NUMBER_COLUMNS = 12 }; // more columns than this do not fit a line as numbers

// One row of cells: numbers where they fit, and shades.
static void row_text(const wk_heat_panel *p, int heat, int row, wk_text *out)
{
    static const char *const shades[] = {"..", "::", "--", "==", "++", "**", "##", "%%", "@@"};
    if (*p->row_name)
        wk_text_printf(out, "%8.4g ", p->row_values[row]);
    else
        wk_text_puts(out, "         ");
    for (int c = 0; c < p->columns; c++) {
        double value = p->cells[heat][row * p->columns + c];
        double width = p->max[heat] - p->min[heat];
        double level = width > 0 ? (value - p->min[heat]) / width : 0.5;
        char number[24];
        value_text(p->kinds[heat], value, number, sizeof number);
        if (p->columns <= NUMBER_COLUMNS)
            wk_text_printf(out, "%s%6s", c ? " " : "", isnan(value) ? "" : number);
        wk_text_puts(out, isnan(value) ? "  " : shades[lround(level * 8)]);
    }
    wk_text_puts(out, "\n");
}

static void map_text(const wk_heat_panel *p, int heat, wk_text *out)
{
    char min[24], max[24];
    value_text(p->kinds[heat], p->min[heat], min, sizeof min);
    value_text(p->kinds[heat], p->max[heat], max, sizeof max);
    wk_text_printf(out, "  %s, %s .. to %s @@; rows %s, columns %s\n", p->names[heat], min, max,
                   *p->row_name ? p->row_name : "-", p->column_name);
    wk_text_puts(out, "         ");
    if (p->columns <= NUMBER_COLUMNS)
        for (int c = 0; c < p->columns; c++)
            wk_text_printf(out, "%s%8.4g", c ? " " : "", p->column_values[c]);
    else
        wk_text_printf(out, "%-8.4g%*s%8.4g", p->column_values[0], 2 * p->columns - 16, "",
                       p->column_values[p->columns - 1]);
    wk_text_puts(out, "\n");
    for (int r = 0; r < p->rows; r++)
        row_text(p, heat, r, out);
    wk_text_puts(out, "\n");
}

void wk_heatmap_text(const wk_heatmap *map, wk_text *out)
{
    for (int i = 0; i < map->count; i++) {
        wk_text_printf(out, "%s\n", map->panels[i].title);
        for (int h = 0; h < WK_HEATS; h++)
            map_text(&map->panels[i], h, out);
    }
}

wk_plot_heat wk_plot_heat_of_panel(const wk_heat_panel *panel, wk_heat heat, const char *title)
{
    return (wk_plot_heat){
        .title = title ? title : panel->title,
        .row_label = *panel->row_name ? panel->row_name : NULL,
        .column_label = panel->column_name,
        .value_label = panel->names[heat] ? panel->names[heat] : heat_names[heat],
        .rows = (size_t)panel->rows,
        .columns = (size_t)panel->columns,
        .row_values = *panel->row_name ? panel->row_values : NULL,
        .column_values = panel->column_values,
        .cells = panel->cells[heat],
        .percent = panel->kinds[heat] == WK_HEAT_IS_SHARE,
    };
}

enum { PAPER = 0xFFFFFF };

static bool same_cells(const wk_heat_panel *a, const wk_heat_panel *b, int heat)
{
    return a->rows == b->rows && a->columns == b->columns &&
           strcmp(a->row_name, b->row_name) == 0 && strcmp(a->column_name, b->column_name) == 0 &&
           strcmp(a->names[heat], b->names[heat]) == 0;
}

static wk_status draw_layer(const wk_heatmap *map, int panel, int heat, wk_image *out,
                            wk_error *err)
{
    const wk_heat_panel *p = &map->panels[panel];
    wk_figure *figure = NULL;
    char title[256];
    snprintf(title, sizeof title, "%s: %s", p->names[heat], p->title);
    wk_plot_heat plot = wk_plot_heat_of_panel(p, (wk_heat)heat, title);
    // The range of the layer in all panels that can be compared with this one.
    plot.min = INFINITY;
    plot.max = -INFINITY;
    for (int i = 0; i < map->count; i++) {
        const wk_heat_panel *other = &map->panels[i];
        if (!same_cells(other, p, heat)) continue;
        for (int c = 0; c < other->rows * other->columns; c++) {
            if (!isfinite(other->cells[heat][c])) continue;
            plot.min = fmin(plot.min, other->cells[heat][c]);
            plot.max = fmax(plot.max, other->cells[heat][c]);
        }
    }
    plot.fixed = plot.max > plot.min;
    WK_TRY(wk_plot_heat_draw(&plot, &figure, err));
    wk_status status = wk_figure_draw(figure, 1, out, err);
    wk_figure_destroy(figure);
    return status;
}

// The layers from `first` up to `end` side by side, the panels one below the other.
static wk_status draw(const wk_heatmap *map, int first, int end, wk_image *out, wk_error *err)
{
    wk_image tiles[WK_HEAT_PANELS_MAX][WK_HEATS] = {0};
    wk_status status = WK_OK;
    int width = 0, heights[WK_HEAT_PANELS_MAX] = {0}, height = 0;
    for (int i = 0; i < map->count; i++) {
        int across = 0;
        for (int h = first; h < end && status == WK_OK; h++) {
            wk_image *tile = &tiles[i][h];
            status = draw_layer(map, i, h, tile, err);
            across += tile->width;
            heights[i] = tile->height > heights[i] ? tile->height : heights[i];
        }
        width = across > width ? across : width;
        height += heights[i];
    }
    if (status == WK_OK) status = wk_image_create(width, height, PAPER, out, err);
    for (int i = 0, y = 0; i < map->count; y += heights[i++])
        for (int h = first, x = 0; h < end; x += tiles[i][h++].width)
            if (status == WK_OK) wk_image_paste(out, &tiles[i][h], x, y, 1);
    for (int i = 0; i < map->count * WK_HEATS; i++)
        wk_image_free(&tiles[i / WK_HEATS][i % WK_HEATS]);
    return status;
}

wk_status wk_heatmap_draw(const wk_heatmap *map, wk_image *out, wk_error *err)
{
    return draw(map, 0, WK_HEATS, out, err);
}

wk_status wk_heatmap_draw_layer(const wk_heatmap *map, wk_heat heat, wk_image *out, wk_error *err)
{
    return draw(map, (int)heat, (int)heat + 1, out, err);
}

wk_status wk_heatmap_write(const wk_heatmap *map, const char *path, wk_error *err)
{
    wk_image image = {0};
    wk_status status = wk_heatmap_draw(map, &image, err);
    if (status == WK_OK) status = wk_png_write(path, &image, err);
    wk_image_free(&image);
    return status;
}
