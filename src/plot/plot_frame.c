// The frame around the data: title, legend, axes; and styles, markers and text that fits.
#include "plot/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MARGIN = WK_PLOT_MARGIN,
    LINE_HEIGHT = 17,
    LINE_KEY = 26,
    MARKER_KEY = 10,
    KEY_GAP = 5,
    ITEM_GAP = 16,
    TICK_LENGTH = 4
};

double wk_plot_text_width(const char *text, double size)
{
    static const double slack = 1.1;
    return slack * wk_figure_text_width(text, size);
}

enum { CORNERS_MAX = 12 };

// Shapes of markers, as corners of a polygon around the centre; the first is a disc. One for each
// style, so that lines are told apart without colours.
static const struct {
    size_t count;
    wk_point corners[CORNERS_MAX];
} shapes[WK_PLOT_STYLES] = {
    {0, {{0, 0}}},
    {4, {{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}}},
    {3, {{0, -1.25}, {1.15, .8}, {-1.15, .8}}},
    {4, {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}}},
    {3, {{0, 1.25}, {1.15, -.8}, {-1.15, -.8}}},
    {12,
     {{-.4, -1.3},
      {.4, -1.3},
      {.4, -.4},
      {1.3, -.4},
      {1.3, .4},
      {.4, .4},
      {.4, 1.3},
      {-.4, 1.3},
      {-.4, .4},
      {-1.3, .4},
      {-1.3, -.4},
      {-.4, -.4}}},
    {3, {{1.25, 0}, {-.8, 1.15}, {-.8, -1.15}}},
    {3, {{-1.25, 0}, {.8, -1.15}, {.8, 1.15}}},
};

static int style_index(int style)
{
    return (style % WK_PLOT_STYLES + WK_PLOT_STYLES) % WK_PLOT_STYLES;
}

// Colours of Okabe and Ito, which colour-blind readers tell apart too; violet replaces their
// yellow, which is hard to see on white paper.
uint32_t wk_plot_colour(int style)
{
    static const uint32_t colours[WK_PLOT_STYLES] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                                     0xe69f00, 0x56b4e9, WK_INK,   0x7755cc};
    return colours[style_index(style)];
}

void wk_plot_marker(wk_figure *figure, wk_point at, int style, double radius, double opacity)
{
    wk_paint paint = {.colour = wk_plot_colour(style), .opacity = opacity};
    int shape = style_index(style);
    wk_point corners[CORNERS_MAX];
    if (shape == 0) {
        wk_figure_disc(figure, at.x, at.y, radius, paint);
        return;
    }
    for (size_t i = 0; i < shapes[shape].count; i++)
        corners[i] = (wk_point){at.x + radius * shapes[shape].corners[i].x,
                                at.y + radius * shapes[shape].corners[i].y};
    wk_figure_polygon(figure, corners, shapes[shape].count, paint);
}

static const char dots[] = "\xe2\x80\xa6"; // an ellipsis

// Shortens a line until it fits, with an ellipsis at its end; never inside a character.
static void shorten(char *line, double size, double width)
{
    size_t length = strlen(line);
    while (length > 0 && wk_plot_text_width(line, size) > width) {
        do
            length--;
        while (length > 0 && ((unsigned char)line[length] & 0xc0) == 0x80);
        memcpy(line + length, dots, sizeof dots);
    }
}

// Bytes of as many whole words as fit; at least one word.
static size_t fitting(const char *text, double size, double width)
{
    size_t best = 0;
    for (size_t end = 0;; end++) {
        if (text[end] && text[end] != ' ') continue;
        char line[WK_WRAP_LENGTH];
        snprintf(line, sizeof line, "%.*s", (int)end, text);
        if (best > 0 && wk_plot_text_width(line, size) > width) break;
        best = end;
        if (!text[end]) break;
    }
    return best;
}

int wk_plot_wrap(const char *text, double size, double width, int max,
                 char lines[WK_WRAP_LINES][WK_WRAP_LENGTH])
{
    int count = 0;
    char all[WK_WRAP_LENGTH - 4];
    snprintf(all, sizeof all, "%s", text);
    for (const char *rest = all; *rest && count < max; count++) {
        size_t length = count + 1 < max ? fitting(rest, size, width) : strlen(rest);
        snprintf(lines[count], WK_WRAP_LENGTH, "%.*s", (int)length, rest);
        shorten(lines[count], size, width);
        rest += length;
        while (*rest == ' ')
            rest++;
    }
    return count;
}

int wk_plot_wrap_name(const void *items, size_t count, wk_plot_name_of *name, size_t i, double size,
                      double width, int max, char lines[WK_WRAP_LINES][WK_WRAP_LENGTH])
{
    const char *own = name(items, i);
    size_t before = 0, alike = 0;
    int n = wk_plot_wrap(own, size, width, max, lines);
    bool cut = false;
    for (int line = 0; line < n; line++)
        cut |= strstr(lines[line], dots) != NULL;
    for (size_t k = 0; k < count && cut; k++) {
        char other[WK_WRAP_LINES][WK_WRAP_LENGTH];
        const char *theirs = name(items, k);
        if (*own != *theirs || strcmp(own, theirs) == 0) continue;
        bool same = wk_plot_wrap(theirs, size, width, max, other) == n;
        for (int line = 0; line < n && same; line++)
            same = strcmp(lines[line], other[line]) == 0;
        alike += same;
        before += same && k < i;
    }
    if (alike == 0 || n == 0) return n;
    char number[24], *last = lines[n - 1];
    snprintf(number, sizeof number, " (%zu)", before + 1);
    shorten(last, size, width - wk_plot_text_width(number, size));
    snprintf(last + strlen(last), WK_WRAP_LENGTH - strlen(last), "%s", number);
    return n;
}

// Bold letters are wider.
static int wrap_title(const char *title, char lines[WK_WRAP_LINES][WK_WRAP_LENGTH])
{
    enum { TITLE_LINES = 3 };
    static const double bold = 1.17;
    return wk_plot_wrap(title ? title : "", WK_PLOT_TITLE * bold, WK_PLOT_WIDTH - 2 * MARGIN,
                        TITLE_LINES, lines);
}

double wk_plot_title_height(const char *title)
{
    char lines[WK_WRAP_LINES][WK_WRAP_LENGTH];
    int count = wrap_title(title, lines);
    return count ? LINE_HEIGHT * count + 6 : 0;
}

void wk_plot_title(wk_figure *figure, const char *title)
{
    char lines[WK_WRAP_LINES][WK_WRAP_LENGTH];
    int count = wrap_title(title, lines);
    for (int i = 0; i < count; i++)
        wk_figure_text(figure, MARGIN, MARGIN + 10 + i * LINE_HEIGHT, lines[i],
                       (wk_text_style){.size = WK_PLOT_TITLE, .colour = WK_INK, .bold = true});
}

static const char *series_name(const void *series, size_t i)
{
    const char *name = ((const wk_plot_series *)series)[i].name;
    return name ? name : "";
}

// Places the legend's items in rows and draws them if there is a figure; returns the height.
static double lay_legend(const wk_plot_series *series, size_t count, bool lines, double top,
                         wk_figure *figure)
{
    double x = MARGIN, y = top + LINE_HEIGHT / 2.0, max = WK_PLOT_WIDTH - MARGIN;
    double key = lines ? LINE_KEY : MARKER_KEY;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        char name[WK_WRAP_LINES][WK_WRAP_LENGTH] = {""};
        if (!*series_name(series, i)) continue;
        any = true;
        wk_plot_wrap_name(series, count, series_name, i, WK_PLOT_LABEL,
                          max - MARGIN - key - KEY_GAP, 1, name);
        double width = key + KEY_GAP + wk_plot_text_width(name[0], WK_PLOT_LABEL);
        if (x > MARGIN && x + width > max) {
            x = MARGIN;
            y += LINE_HEIGHT;
        }
        if (figure && lines)
            wk_plot_line(figure, x, y, x + key, y,
                         (wk_paint){.colour = wk_plot_colour(series[i].style), .width = 2});
        if (figure) {
            wk_plot_marker(figure, (wk_point){x + key / 2, y}, series[i].style, 3.6, 0);
            wk_plot_text(figure, x + key + KEY_GAP, y + 4.2, name[0], WK_PLOT_LABEL,
                         WK_ANCHOR_START);
        }
        x += width + ITEM_GAP;
    }
    return any ? y + LINE_HEIGHT / 2.0 + 5 - top : 0;
}

double wk_plot_low(const wk_plot_axis *y, const wk_plot_series *s, size_t i)
{
    double spread = s->spread && isfinite(s->spread[i]) ? fabs(s->spread[i]) : 0;
    double low = s->y[i] - spread;
    return y->log ? fmax(low, s->y[i] / 4) : low;
}

double wk_plot_high(const wk_plot_series *s, size_t i)
{
    const double *above = s->above ? s->above : s->spread;
    return s->y[i] + (above && isfinite(above[i]) ? fabs(above[i]) : 0);
}

bool wk_plot_shows(const wk_plot_axis *x, const wk_plot_axis *y, const wk_plot_series *s, size_t i)
{
    return wk_axis_shows(x, s->x[i]) && wk_axis_shows(y, s->y[i]);
}

bool wk_plot_extents(const wk_plot_axis *x, const wk_plot_axis *y, const wk_plot_series *series,
                     size_t count, wk_range *xs, wk_range *ys)
{
    *xs = *ys = WK_RANGE_EMPTY;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < series[k].count; i++) {
            if (!wk_plot_shows(x, y, &series[k], i)) continue;
            wk_range_add(xs, x, series[k].x[i]);
            wk_range_add(ys, y, wk_plot_low(y, &series[k], i));
            wk_range_add(ys, y, wk_plot_high(&series[k], i));
        }
        if (series[k].level) wk_range_add(ys, y, *series[k].level);
    }
    return xs->min <= xs->max;
}

double wk_plot_ticks_width(const wk_scale *scale)
{
    double width = 0;
    for (int i = 0; i < scale->count; i++)
        width = fmax(width, wk_plot_text_width(scale->labels[i], WK_PLOT_TICK));
    return width;
}

wk_point wk_plot_frame_point(const wk_plot_frame *frame, double x, double y)
{
    return (wk_point){frame->left + wk_scale_position(&frame->x, x) * (frame->right - frame->left),
                      frame->bottom -
                          wk_scale_position(&frame->y, y) * (frame->bottom - frame->top)};
}

void wk_plot_line(wk_figure *figure, double x0, double y0, double x1, double y1, wk_paint paint)
{
    wk_point ends[2] = {{x0, y0}, {x1, y1}};
    wk_figure_line(figure, ends, 2, paint);
}

void wk_plot_text(wk_figure *figure, double x, double y, const char *text, double size,
                  wk_anchor anchor)
{
    wk_figure_text(figure, x, y, text,
                   (wk_text_style){.size = size, .colour = WK_INK, .anchor = anchor});
}

void wk_plot_tick_label(wk_figure *figure, double x, double y, const char *label, double *taken)
{
    double half = wk_plot_text_width(label, WK_PLOT_TICK) / 2;
    double middle = fmax(half, fmin(x, WK_PLOT_WIDTH - half));
    if (middle - half < *taken) return;
    wk_plot_text(figure, middle, y, label, WK_PLOT_TICK, WK_ANCHOR_MIDDLE);
    *taken = middle + half + 5;
}

// Ticks with grid lines, their labels, the two axes and their names.
static void draw_axes(const wk_plot_frame *f, const char *x_label, const char *y_label)
{
    const wk_paint grid = {.colour = WK_FAINT, .width = 1}, ink = {.colour = WK_INK, .width = 1};
    double taken = -INFINITY;
    for (int i = 0; i < f->x.count; i++) {
        double x = f->left + wk_scale_position(&f->x, f->x.ticks[i]) * (f->right - f->left);
        wk_plot_line(f->figure, x, f->top, x, f->bottom, grid);
        wk_plot_line(f->figure, x, f->bottom, x, f->bottom + TICK_LENGTH, ink);
        wk_plot_tick_label(f->figure, x, f->bottom + TICK_LENGTH + 12, f->x.labels[i], &taken);
    }
    for (int i = 0; i < f->y.count; i++) {
        double y = f->bottom - wk_scale_position(&f->y, f->y.ticks[i]) * (f->bottom - f->top);
        wk_plot_line(f->figure, f->left, y, f->right, y, grid);
        wk_plot_text(f->figure, f->left - TICK_LENGTH - 2, y + 3.8, f->y.labels[i], WK_PLOT_TICK,
                     WK_ANCHOR_END);
    }
    wk_plot_line(f->figure, f->left, f->top, f->left, f->bottom + 0.5, ink);
    wk_plot_line(f->figure, f->left - 0.5, f->bottom, f->right, f->bottom, ink);
    char lines[WK_WRAP_LINES][WK_WRAP_LENGTH];
    wk_text_style style = {.size = WK_PLOT_LABEL, .colour = WK_INK, .anchor = WK_ANCHOR_MIDDLE};
    if (x_label && wk_plot_wrap(x_label, style.size, f->right - f->left, 1, lines))
        wk_figure_text(f->figure, (f->left + f->right) / 2, f->bottom + 34, lines[0], style);
    style.upwards = true;
    if (y_label && wk_plot_wrap(y_label, style.size, f->bottom - f->top + 20, 1, lines))
        wk_figure_text(f->figure, MARGIN + 10, (f->top + f->bottom) / 2, lines[0], style);
}

wk_status wk_plot_frame_begin(const char *title, const char *note, const wk_plot_axis *x,
                              const wk_plot_axis *y, const wk_plot_series *series, size_t count,
                              bool lines, wk_plot_frame *out, wk_error *err)
{
    wk_range xs, ys;
    bool any = wk_plot_extents(x, y, series, count, &xs, &ys);
    wk_plot_frame f = {.x = wk_scale_make(x, xs, 5, lines), .y = wk_scale_make(y, ys, 5, false)};
    double top = MARGIN + wk_plot_title_height(title);
    double legend = top + lay_legend(series, count, lines, top, NULL);
    f.top = legend + (note ? LINE_HEIGHT : 0) + 4;
    f.bottom = f.top + WK_PLOT_BODY;
    f.left = MARGIN + (y->label ? LINE_HEIGHT : 0) + wk_plot_ticks_width(&f.y) + TICK_LENGTH + 4;
    f.right = WK_PLOT_WIDTH - MARGIN - 8;
    WK_TRY(wk_figure_create(WK_PLOT_WIDTH, f.bottom + (x->label ? 44 : 28), title, &f.figure, err));
    wk_plot_title(f.figure, title);
    lay_legend(series, count, lines, top, f.figure);
    if (note)
        wk_figure_text(f.figure, MARGIN, legend + 12, note,
                       (wk_text_style){.size = WK_PLOT_LABEL, .colour = WK_MUTED});
    draw_axes(&f, x->label, y->label);
    if (!any) wk_plot_frame_no_data(&f);
    *out = f;
    return WK_OK;
}

void wk_plot_frame_no_data(const wk_plot_frame *frame)
{
    wk_figure_text(
        frame->figure, (frame->left + frame->right) / 2, (frame->top + frame->bottom) / 2 + 4,
        "no data yet",
        (wk_text_style){.size = WK_PLOT_LABEL, .colour = WK_MUTED, .anchor = WK_ANCHOR_MIDDLE});
}
