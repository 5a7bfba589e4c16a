// A figure as an image: every mark is scaled to pixels, turned into outlines and filled.
#include "plot/figure_parts.h"
#include "plot/raster.h"
#include "plot/stroke_font.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

// Cuts a line into dashes as long as the gaps between them.
static void add_dashes(wk_raster *raster, const wk_point *points, size_t count, double width,
                       double dash)
{
    double left = dash; // of the dash or gap under way
    bool down = true;
    for (size_t i = 0; i + 1 < count; i++) {
        wk_point a = points[i], b = points[i + 1];
        double length = hypot(b.x - a.x, b.y - a.y), done = 0;
        while (done < length) {
            double step = fmin(left, length - done), from = done / length;
            double to = (done + step) / length;
            wk_point ends[2] = {{a.x + from * (b.x - a.x), a.y + from * (b.y - a.y)},
                                {a.x + to * (b.x - a.x), a.y + to * (b.y - a.y)}};
            if (down) wk_raster_line(raster, ends, 2, width, false);
            done += step;
            left -= step;
            if (left > 0) continue;
            left = dash;
            down = !down;
        }
    }
}

static void add_line(wk_raster *raster, const wk_point *points, size_t count, const wk_paint *paint,
                     double scale)
{
    double width = paint->width * scale;
    if (paint->dash > 0)
        add_dashes(raster, points, count, width, paint->dash * scale);
    else
        wk_raster_line(raster, points, count, width, false);
}

// `points` has room for one more: a polygon's line returns to its beginning.
static void add_polygon(wk_raster *raster, wk_point *points, size_t count, const wk_paint *paint,
                        double scale)
{
    if (paint->width == 0) {
        wk_raster_polygon(raster, points, count);
        return;
    }
    points[count] = points[0];
    add_line(raster, points, count + 1, paint, scale);
    wk_raster_disc(raster, points[0], paint->width * scale / 2);
}

static void add_disc(wk_raster *raster, wk_point centre, double radius, const wk_paint *paint,
                     double scale)
{
    enum { SIDES = 48 };
    if (paint->width == 0) {
        wk_raster_disc(raster, centre, radius * scale);
        return;
    }
    wk_point circle[SIDES + 1];
    for (int i = 0; i < SIDES; i++) {
        double turn = 2 * M_PI * i / SIDES;
        circle[i] = (wk_point){centre.x + radius * scale * cos(turn),
                               centre.y + radius * scale * sin(turn)};
    }
    add_polygon(raster, circle, SIDES, paint, scale);
}

static void add_text(wk_raster *raster, wk_point at, const wk_mark *mark, double scale)
{
    const wk_text_style *style = &mark->style;
    double size = style->size * scale;
    double back = wk_stroke_text_width(mark->text, size) * (int)style->anchor / 2;
    if (style->upwards)
        at.y += back;
    else
        at.x -= back;
    wk_stroke_text(raster, at, mark->text, size, style->bold, style->upwards);
}

static void add_mark(wk_raster *raster, const wk_mark *mark, wk_point *points, double scale)
{
    switch (mark->kind) {
    case WK_MARK_LINE:
        add_line(raster, points, mark->count, &mark->paint, scale);
        break;
    case WK_MARK_POLYGON:
        add_polygon(raster, points, mark->count, &mark->paint, scale);
        break;
    case WK_MARK_DISC:
        add_disc(raster, points[0], mark->radius, &mark->paint, scale);
        break;
    case WK_MARK_TEXT:
        add_text(raster, points[0], mark, scale);
        break;
    }
}

static wk_status draw_marks(const wk_figure *figure, double scale, wk_point *scratch,
                            wk_image *image, wk_error *err)
{
    wk_raster raster = {0};
    wk_status status = WK_OK;
    for (size_t i = 0; i < figure->marks.count && status == WK_OK; i++) {
        const wk_mark *mark = &figure->marks.items[i];
        for (size_t p = 0; p < mark->count; p++) {
            wk_point point = figure->points.items[mark->first + p];
            scratch[p] = (wk_point){point.x * scale, point.y * scale};
        }
        add_mark(&raster, mark, scratch, scale);
        status = wk_raster_fill(&raster, wk_colour_on_paper(mark->paint.colour),
                                mark->paint.opacity, image, err);
    }
    wk_raster_free(&raster);
    return status;
}

wk_status wk_figure_draw(const wk_figure *figure, double scale, wk_image *out, wk_error *err)
{
    assert(scale > 0);
    if (figure->failed) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    wk_point *scratch = malloc((figure->points.count + 1) * sizeof *scratch);
    if (!scratch) return wk_fail(err, WK_E_MEMORY, "no memory to draw a figure");
    wk_status status =
        wk_image_create((int)ceil(figure->width * scale), (int)ceil(figure->height * scale),
                        wk_colour_on_paper(WK_PAPER), out, err);
    if (status == WK_OK) {
        status = draw_marks(figure, scale, scratch, out, err);
        if (status != WK_OK) wk_image_free(out);
    }
    free(scratch);
    return status;
}
