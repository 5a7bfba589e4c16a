#include "plot/heatmap.h"

#include "plot/plot.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PAPER = 0xFFFFFF };

static bool same_cells(const wk_heat_panel *a, const wk_heat_panel *b, int heat)
{
    return a->rows == b->rows && a->columns == b->columns &&
           strcmp(a->row_name, b->row_name) == 0 && strcmp(a->column_name, b->column_name) == 0 &&
           strcmp(a->names[heat], b->names[heat]) == 0;
}

// The range of the layer in all panels that can be compared with this one.
static void share_scale(const wk_heatmap *map, const wk_heat_panel *panel, int heat,
                        wk_plot_heat *plot)
{
    double min = INFINITY, max = -INFINITY;
    for (int i = 0; i < map->count; i++) {
        const wk_heat_panel *p = &map->panels[i];
        if (!same_cells(p, panel, heat)) continue;
        for (int c = 0; c < p->rows * p->columns; c++) {
            if (!isfinite(p->cells[heat][c])) continue;
            min = fmin(min, p->cells[heat][c]);
            max = fmax(max, p->cells[heat][c]);
        }
    }
    plot->fixed = max > min;
    plot->min = min;
    plot->max = max;
}

static wk_status draw_layer(const wk_heatmap *map, int panel, int heat, wk_image *out,
                            wk_error *err)
{
    const wk_heat_panel *p = &map->panels[panel];
    wk_figure *figure = NULL;
    char title[256];
    snprintf(title, sizeof title, "%s: %s", p->names[heat], p->title);
    wk_plot_heat plot = wk_plot_heat_of_panel(p, (wk_heat)heat, title);
    share_scale(map, p, heat, &plot);
    WK_TRY(wk_plot_heat_draw(&plot, &figure, err));
    wk_status status = wk_figure_draw(figure, 1, out, err);
    wk_figure_destroy(figure);
    return status;
}

// Pastes the images [count,WK_HEATS] into one.
static wk_status join(const wk_image tiles[][WK_HEATS], int count, wk_image *out, wk_error *err)
{
    int width = 0, height = 0;
    for (int i = 0; i < count; i++) {
        int across = 0, down = 0;
        for (int h = 0; h < WK_HEATS; h++) {
            across += tiles[i][h].width;
            down = tiles[i][h].height > down ? tiles[i][h].height : down;
        }
        width = across > width ? across : width;
        height += down;
    }
    WK_TRY(wk_image_create(width, height, PAPER, out, err));
    for (int i = 0, y = 0; i < count; i++) {
        int down = 0;
        for (int h = 0, x = 0; h < WK_HEATS; h++) {
            wk_image_paste(out, &tiles[i][h], x, y, 1);
            x += tiles[i][h].width;
            down = tiles[i][h].height > down ? tiles[i][h].height : down;
        }
        y += down;
    }
    return WK_OK;
}

wk_status wk_heatmap_draw(const wk_heatmap *map, wk_image *out, wk_error *err)
{
    wk_image tiles[WK_HEAT_PANELS_MAX][WK_HEATS] = {0};
    wk_status status = WK_OK;
    for (int i = 0; i < map->count * WK_HEATS && status == WK_OK; i++)
        status =
            draw_layer(map, i / WK_HEATS, i % WK_HEATS, &tiles[i / WK_HEATS][i % WK_HEATS], err);
    if (status == WK_OK) status = join((const wk_image(*)[WK_HEATS])tiles, map->count, out, err);
    for (int i = 0; i < map->count * WK_HEATS; i++)
        wk_image_free(&tiles[i / WK_HEATS][i % WK_HEATS]);
    return status;
}

wk_status wk_heatmap_write(const wk_heatmap *map, const char *path, wk_error *err)
{
    wk_image image = {0};
    wk_status status = wk_heatmap_draw(map, &image, err);
    if (status == WK_OK) status = wk_png_write(path, &image, err);
    wk_image_free(&image);
    return status;
}
