// A figure as SVG. Colours are attributes, which every viewer understands; roles are classes as
// well, so that the style sheet of a page can turn them around on a dark screen.
#include "plot/figure_parts.h"
#include "plot/xml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

// `kind` is fill or stroke.
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
    put_paint(out, &mark->paint);
    wk_text_puts(out, "/>\n");
}

static bool is_rectangle(const wk_point *p, const wk_mark *mark)
{
    return mark->kind == WK_MARK_POLYGON && mark->count == 4 && p[0].y == p[1].y &&
           p[1].x == p[2].x && p[2].y == p[3].y && p[3].x == p[0].x && p[1].x >= p[0].x &&
           p[3].y >= p[0].y;
}

static void put_rectangle(wk_text *out, const wk_point *points, const wk_mark *mark)
{
    wk_text_puts(out, "<rect");
    put_attribute(out, "x", points[0].x);
    put_attribute(out, "y", points[0].y);
    put_attribute(out, "width", points[2].x - points[0].x);
    put_attribute(out, "height", points[2].y - points[0].y);
    put_paint(out, &mark->paint);
    wk_text_puts(out, "/>\n");
}

static void put_disc(wk_text *out, wk_point centre, const wk_mark *mark)
{
    wk_text_puts(out, "<circle");
    put_attribute(out, "cx", centre.x);
    put_attribute(out, "cy", centre.y);
    put_attribute(out, "r", mark->radius);
    put_paint(out, &mark->paint);
    wk_text_puts(out, "/>\n");
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
    if (mark->kind == WK_MARK_TEXT)
        put_text(out, points[0], mark);
    else if (mark->kind == WK_MARK_DISC)
        put_disc(out, points[0], mark);
    else if (is_rectangle(points, mark))
        put_rectangle(out, points, mark);
    else
        put_path(out, points, mark);
}

static void put_opening(const wk_figure *figure, wk_text *out)
{
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
                      "stroke-linejoin=\"round\">\n");
}

wk_status wk_figure_svg(const wk_figure *figure, wk_text *out, wk_error *err)
{
    static const wk_paint paper = {.colour = WK_PAPER, .opacity = 1};
    if (!figure->failed) {
        put_opening(figure, out);
        wk_text_puts(out, "<rect width=\"100%\" height=\"100%\"");
        put_paint(out, &paper);
        wk_text_puts(out, "/>\n");
        for (size_t i = 0; i < figure->marks.count; i++) {
            const wk_mark *mark = &figure->marks.items[i];
            put_mark(out, figure->points.items + mark->first, mark);
        }
        wk_text_puts(out, "</svg>\n");
    }
    if (figure->failed || out->failed) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    return WK_OK;
}
