#include "plot/figure.h"
#include "base/file.h"
#include "plot/figure_parts.h"
#include "plot/stroke_font.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_status wk_figure_create(double width, double height, const char *label, wk_figure **out,
                           wk_error *err)
{
    assert(width > 0 && height > 0);
    wk_figure *figure = calloc(1, sizeof *figure);
    if (figure) {
        figure->strings.block_size = 4096;
        figure->label = wk_arena_string(&figure->strings, label ? label : "");
    }
    if (!figure || !figure->label) {
        wk_figure_destroy(figure);
        return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    }
    figure->width = width;
    figure->height = height;
    *out = figure;
    return WK_OK;
}

void wk_figure_destroy(wk_figure *figure)
{
    if (!figure) return;
    wk_arena_reset(&figure->strings);
    wk_array_free(&figure->marks);
    wk_array_free(&figure->points);
    free(figure);
}

uint32_t wk_colour_on_paper(uint32_t colour)
{
    static const uint32_t roles[] = {0x1b1f24, 0x59626d, 0xdde1e6, 0xffffff};
    return colour >= WK_INK ? roles[colour - WK_INK] : colour;
}

static void add_mark(wk_figure *figure, wk_mark mark, const wk_point *points, size_t count)
{
    mark.first = figure->points.count;
    mark.count = count;
    if (mark.paint.opacity == 0) mark.paint.opacity = 1;
    if (!wk_array_reserve(&figure->points, count) || !wk_array_push(&figure->marks, mark)) {
        figure->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        assert(isfinite(points[i].x) && isfinite(points[i].y));
        figure->points.items[figure->points.count++] = points[i];
    }
}

void wk_figure_line(wk_figure *figure, const wk_point *points, size_t count, wk_paint paint)
{
    assert(paint.width > 0);
    if (count > 0) add_mark(figure, (wk_mark){.kind = WK_MARK_LINE, .paint = paint}, points, count);
}

void wk_figure_polygon(wk_figure *figure, const wk_point *points, size_t count, wk_paint paint)
{
    if (count > 0)
        add_mark(figure, (wk_mark){.kind = WK_MARK_POLYGON, .paint = paint}, points, count);
}

void wk_figure_rectangle(wk_figure *figure, double x, double y, double width, double height,
                         wk_paint paint)
{
    wk_point corners[] = {{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}};
    wk_figure_polygon(figure, corners, 4, paint);
}

void wk_figure_disc(wk_figure *figure, double x, double y, double radius, wk_paint paint)
{
    add_mark(figure, (wk_mark){.kind = WK_MARK_DISC, .paint = paint, .radius = radius},
             &(wk_point){x, y}, 1);
}

void wk_figure_text(wk_figure *figure, double x, double y, const char *text, wk_text_style style)
{
    const char *copy = wk_arena_string(&figure->strings, text);
    if (!copy) figure->failed = true;
    if (!copy || !*copy) return;
    if (style.size == 0) style.size = 12;
    wk_paint paint = {.colour = style.colour};
    add_mark(figure, (wk_mark){.kind = WK_MARK_TEXT, .paint = paint, .text = copy, .style = style},
             &(wk_point){x, y}, 1);
}

double wk_figure_text_width(const char *text, double size)
{
    return wk_stroke_text_width(text, size);
}

static wk_status write_svg(const wk_figure *figure, const char *stem, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_text text = {0};
    WK_TRY(wk_path_print(path, err, "%s.svg", stem));
    wk_status status = wk_figure_svg(figure, &text, err);
    if (status == WK_OK) return wk_file_write_text(NULL, path, &text, err);
    wk_text_free(&text);
    return status;
}

wk_status wk_figure_write(const wk_figure *figure, const char *stem, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_image image;
    WK_TRY(write_svg(figure, stem, err));
    WK_TRY(wk_path_print(path, err, "%s.png", stem));
    WK_TRY(wk_figure_draw(figure, 2, &image, err));
    wk_status status = wk_png_write(path, &image, err);
    wk_image_free(&image);
    return status;
}

wk_status wk_figure_save(wk_figure *figure, const char *folder, const char *name, wk_error *err)
{
    char stem[WK_PATH_MAX];
    wk_status status = wk_path_join(folder, name, stem, err);
    if (status == WK_OK) status = wk_figure_write(figure, stem, err);
    wk_figure_destroy(figure);
    return status;
}
