#include "plot/figure.h"

#include "base/file.h"
#include "plot/parts.h"
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

// XML 1.0, section 2.2; HTML also refuses the controls from U+007F on.
static bool is_allowed(uint32_t code)
{
    if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
    return !wk_utf8_is_control(code) && (code & 0xfffe) != 0xfffe &&
           !(code >= 0xfdd0 && code <= 0xfdef);
}

void wk_xml_escape(const char *text, wk_text *out)
{
    while (*text) {
        uint32_t code;
        size_t length = wk_utf8_decode(text, SIZE_MAX, &code);
        const char *entity = !length        ? NULL
                             : code == '&'  ? "&amp;"
                             : code == '<'  ? "&lt;"
                             : code == '>'  ? "&gt;"
                             : code == '"'  ? "&quot;"
                             : code == '\'' ? "&#39;"
                                            : NULL;
        if (entity)
            wk_text_puts(out, entity);
        else if (length && is_allowed(code))
            wk_text_append(out, text, length);
        else
            wk_text_puts(out, "\xef\xbf\xbd");
        text += length ? length : 1;
    }
}

// A length with up to two decimals.
static void put_number(wk_text *out, double value)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.2f", value);
    size_t length = strlen(digits);
    while (digits[length - 1] == '0')
        length--;
    if (digits[length - 1] == '.') length--;
    if (length == 2 && digits[0] == '-' && digits[1] == '0') {
        digits[0] = '0';
        length = 1;
    }
    wk_text_append(out, digits, length);
}

static void put_attribute(wk_text *out, const char *name, double value)
{
    wk_text_printf(out, " %s=\"", name);
    put_number(out, value);
    wk_text_puts(out, "\"");
}

// `kind` is fill or stroke. Colours are attributes, which every viewer understands; roles are
// classes as well, so that the style sheet of a page can turn them around on a dark screen.
static void put_colour(wk_text *out, const char *kind, uint32_t colour)
{
    static const char *const roles[] = {"ink", "muted", "faint", "paper"};
    wk_text_printf(out, " %s=\"#%06x\"", kind, (unsigned)wk_colour_on_paper(colour));
    if (colour >= WK_INK)
        wk_text_printf(out, " class=\"%s%s\"", *kind == 's' ? "line " : "", roles[colour - WK_INK]);
}

static void put_paint(wk_text *out, const wk_paint *paint)
{
    if (paint->width > 0) {
        wk_text_puts(out, " fill=\"none\"");
        put_colour(out, "stroke", paint->colour);
        put_attribute(out, "stroke-width", paint->width);
    } else {
        put_colour(out, "fill", paint->colour);
    }
    if (paint->dash > 0) put_attribute(out, "stroke-dasharray", paint->dash);
    if (paint->opacity < 1) put_attribute(out, "opacity", paint->opacity);
}

// A path is the shortest way to write many points: letters instead of tags, no blanks but between.
static void put_path(wk_text *out, const wk_point *points, const wk_mark *mark)
{
    wk_text_puts(out, "<path d=\"M");
    for (size_t i = 0; i < mark->count; i++) {
        if (i) wk_text_puts(out, i == 1 ? "L" : " ");
        put_number(out, points[i].x);
        wk_text_puts(out, " ");
        put_number(out, points[i].y);
    }
    wk_text_puts(out, mark->kind == WK_MARK_POLYGON ? "Z\"" : "\"");
}

static bool is_rectangle(const wk_point *p, const wk_mark *mark)
{
    return mark->kind == WK_MARK_POLYGON && mark->count == 4 && p[0].y == p[1].y &&
           p[1].x == p[2].x && p[2].y == p[3].y && p[3].x == p[0].x && p[1].x >= p[0].x &&
           p[3].y >= p[0].y;
}

static void put_text(wk_text *out, wk_point at, const wk_mark *mark)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    const wk_text_style *style = &mark->style;
    wk_text_puts(out, "<text");
    put_attribute(out, "x", at.x);
    put_attribute(out, "y", at.y);
    put_attribute(out, "font-size", style->size);
    wk_text_puts(out, anchors[style->anchor]);
    if (style->bold) wk_text_puts(out, " font-weight=\"bold\"");
    if (style->upwards) {
        wk_text_puts(out, " transform=\"rotate(-90 ");
        put_number(out, at.x);
        wk_text_puts(out, " ");
        put_number(out, at.y);
        wk_text_puts(out, ")\"");
    }
    put_colour(out, "fill", style->colour);
    wk_text_puts(out, ">");
    wk_xml_escape(mark->text, out);
    wk_text_puts(out, "</text>\n");
}

static void put_mark(wk_text *out, const wk_point *points, const wk_mark *mark)
{
    if (mark->kind == WK_MARK_TEXT) {
        put_text(out, points[0], mark);
        return;
    }
    if (mark->kind == WK_MARK_DISC) {
        wk_text_puts(out, "<circle");
        put_attribute(out, "cx", points[0].x);
        put_attribute(out, "cy", points[0].y);
        put_attribute(out, "r", mark->radius);
    } else if (is_rectangle(points, mark)) {
        wk_text_puts(out, "<rect");
        put_attribute(out, "x", points[0].x);
        put_attribute(out, "y", points[0].y);
        put_attribute(out, "width", points[2].x - points[0].x);
        put_attribute(out, "height", points[2].y - points[0].y);
    } else
        put_path(out, points, mark);
    put_paint(out, &mark->paint);
    wk_text_puts(out, "/>\n");
}

wk_status wk_figure_svg(const wk_figure *figure, wk_text *out, wk_error *err)
{
    static const wk_paint paper = {.colour = WK_PAPER, .opacity = 1};
    if (figure->failed) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    wk_text_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    put_attribute(out, "width", figure->width);
    put_attribute(out, "height", figure->height);
    wk_text_puts(out, " viewBox=\"0 0 ");
    put_number(out, figure->width);
    wk_text_puts(out, " ");
    put_number(out, figure->height);
    wk_text_puts(out, "\" role=\"img\" aria-label=\"");
    wk_xml_escape(figure->label, out);
    wk_text_puts(out, "\" font-family=\"Helvetica, Arial, 'Liberation Sans', Roboto, sans-serif\" "
                      "stroke-linejoin=\"round\">\n<rect width=\"100%\" height=\"100%\"");
    put_paint(out, &paper);
    wk_text_puts(out, "/>\n");
    for (size_t i = 0; i < figure->marks.count; i++) {
        const wk_mark *mark = &figure->marks.items[i];
        put_mark(out, figure->points.items + mark->first, mark);
    }
    wk_text_puts(out, "</svg>\n");
    return out->failed ? wk_fail(err, WK_E_MEMORY, "no memory for a figure") : WK_OK;
}

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

static void draw_line(wk_raster *raster, const wk_point *points, size_t count,
                      const wk_paint *paint, double scale)
{
    double width = paint->width * scale;
    if (paint->dash > 0)
        add_dashes(raster, points, count, width, paint->dash * scale);
    else
        wk_raster_line(raster, points, count, width, false);
}

// `points` has room for one more: a polygon's line returns to its beginning.
static void draw_polygon(wk_raster *raster, wk_point *points, size_t count, const wk_paint *paint,
                         double scale)
{
    if (paint->width == 0) {
        wk_raster_polygon(raster, points, count);
        return;
    }
    points[count] = points[0];
    draw_line(raster, points, count + 1, paint, scale);
    wk_raster_disc(raster, points[0], paint->width * scale / 2);
}

// Adds the outlines of a mark whose points are scaled to pixels.
static void draw_mark(wk_raster *raster, const wk_mark *mark, wk_point *points, double scale)
{
    enum { SIDES = 48 };
    const wk_text_style *style = &mark->style;
    switch (mark->kind) {
    case WK_MARK_LINE:
        draw_line(raster, points, mark->count, &mark->paint, scale);
        break;
    case WK_MARK_POLYGON:
        draw_polygon(raster, points, mark->count, &mark->paint, scale);
        break;
    case WK_MARK_DISC:
        if (mark->paint.width > 0) {
            wk_point circle[SIDES + 1];
            for (int i = 0; i < SIDES; i++) {
                double turn = 2 * M_PI * i / SIDES;
                circle[i] = (wk_point){points[0].x + mark->radius * scale * cos(turn),
                                       points[0].y + mark->radius * scale * sin(turn)};
            }
            draw_polygon(raster, circle, SIDES, &mark->paint, scale);
        } else
            wk_raster_disc(raster, points[0], mark->radius * scale);
        break;
    case WK_MARK_TEXT: {
        double size = style->size * scale;
        double back = wk_stroke_text_width(mark->text, size) * (int)style->anchor / 2;
        wk_point at = {points[0].x - (style->upwards ? 0 : back),
                       points[0].y + (style->upwards ? back : 0)};
        wk_stroke_text(raster, at, mark->text, size, style->bold, style->upwards);
        break;
    }
    }
}

wk_status wk_figure_draw(const wk_figure *figure, double scale, wk_image *out, wk_error *err)
{
    assert(scale > 0);
    if (figure->failed) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    wk_point *scratch = malloc((figure->points.count + 1) * sizeof *scratch);
    if (!scratch) return wk_fail(err, WK_E_MEMORY, "no memory to draw a figure");
    wk_raster raster = {0};
    wk_status status =
        wk_image_create((int)ceil(figure->width * scale), (int)ceil(figure->height * scale),
                        wk_colour_on_paper(WK_PAPER), out, err);
    bool created = status == WK_OK;
    for (size_t i = 0; i < figure->marks.count && status == WK_OK; i++) {
        const wk_mark *mark = &figure->marks.items[i];
        for (size_t p = 0; p < mark->count; p++) {
            wk_point point = figure->points.items[mark->first + p];
            scratch[p] = (wk_point){point.x * scale, point.y * scale};
        }
        draw_mark(&raster, mark, scratch, scale);
        status = wk_raster_fill(&raster, wk_colour_on_paper(mark->paint.colour),
                                mark->paint.opacity, out, err);
    }
    if (created && status != WK_OK) wk_image_free(out);
    wk_raster_free(&raster);
    free(scratch);
    return status;
}

wk_status wk_figure_write(const wk_figure *figure, const char *stem, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_text text = {0};
    wk_image image;
    WK_TRY(wk_path_print(path, err, "%s.svg", stem));
    wk_status status = wk_figure_svg(figure, &text, err);
    if (status == WK_OK) status = wk_file_write_text(NULL, path, &text, err);
    wk_text_free(&text);
    if (status != WK_OK) return status;
    WK_TRY(wk_path_print(path, err, "%s.png", stem));
    WK_TRY(wk_figure_draw(figure, 2, &image, err));
    status = wk_png_write(path, &image, err);
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
