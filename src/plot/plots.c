// The kinds of plots: lines with shading, points, horizontal bars with intervals, and maps of
// cells.
#include "plot/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The next run of points that are shown, from *to on: those from *from to before *to.
static bool next_run(const wk_plot_lines *plot, const wk_plot_series *s, size_t *from, size_t *to)
{
    for (*from = *to; *from < s->count && !wk_plot_shows(&plot->x, &plot->y, s, *from);)
        ++*from;
    for (*to = *from; *to < s->count && wk_plot_shows(&plot->x, &plot->y, s, *to);)
        ++*to;
    return *to > *from;
}

static void shade_run(const wk_plot_frame *f, const wk_plot_axis *y, const wk_plot_series *s,
                      size_t from, size_t to, wk_point *scratch)
{
    size_t count = to - from;
    for (size_t i = 0; i < count; i++) {
        scratch[i] = wk_plot_frame_point(f, s->x[from + i], wk_plot_high(s, from + i));
        scratch[2 * count - 1 - i] =
            wk_plot_frame_point(f, s->x[from + i], wk_plot_low(y, s, from + i));
    }
    wk_figure_polygon(f->figure, scratch, 2 * count,
                      (wk_paint){.colour = wk_plot_colour(s->style), .opacity = 0.16});
}

static void draw_run(const wk_plot_frame *f, const wk_plot_series *s, size_t from, size_t to,
                     wk_point *scratch)
{
    enum {
        MARKERS = 8,
        DENSE = 150
    };                              // lines of more points are thinner, or they would run together
    static const double NEAR = 0.1; // points as near to the last one look the same: left out
    size_t count = 0, every = (s->count + MARKERS - 1) / MARKERS;
    for (size_t i = from; i < to; i++) {
        wk_point p = wk_plot_frame_point(f, s->x[i], s->y[i]);
        bool skip = count > 0 && i + 1 < to && fabs(p.x - scratch[count - 1].x) < NEAR &&
                    fabs(p.y - scratch[count - 1].y) < NEAR;
        if (!skip) scratch[count++] = p;
    }
    double width = s->count > DENSE ? 1.2 : 1.8;
    if (count > 1)
        wk_figure_line(f->figure, scratch, count,
                       (wk_paint){.colour = wk_plot_colour(s->style), .width = width});
    // A point alone between gaps always has its marker; others have one here and there.
    for (size_t i = from; i < to; i++)
        if (i % every == every / 2 || to - from == 1)
            wk_plot_marker(f->figure, wk_plot_frame_point(f, s->x[i], s->y[i]), s->style, 3, 0);
}

wk_status wk_plot_lines_draw(const wk_plot_lines *plot, wk_figure **out, wk_error *err)
{
    size_t max = 0, from, to;
    for (size_t k = 0; k < plot->count; k++)
        max = plot->series[k].count > max ? plot->series[k].count : max;
    wk_point *scratch = malloc((2 * max + 1) * sizeof *scratch);
    if (!scratch) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    wk_plot_frame f;
    wk_status status = wk_plot_frame_begin(plot->title, NULL, &plot->x, &plot->y, plot->series,
                                           plot->count, true, &f, err);
    if (status != WK_OK) {
        free(scratch);
        return status;
    }
    // From the bottom to the top: levels, shading, the spread of lone points as bars, lines.
    for (size_t k = 0; k < plot->count; k++) {
        const wk_plot_series *s = &plot->series[k];
        if (!s->level || !wk_axis_shows(&plot->y, *s->level)) continue;
        double y = wk_plot_frame_point(&f, f.x.min, *s->level).y;
        wk_plot_line(f.figure, f.left, y, f.right, y,
                     (wk_paint){.colour = wk_plot_colour(s->style), .width = 1.2, .dash = 4});
    }
    for (size_t k = 0; k < plot->count; k++)
        for (to = 0; plot->series[k].spread && next_run(plot, &plot->series[k], &from, &to);)
            if (to - from > 1) shade_run(&f, &plot->y, &plot->series[k], from, to, scratch);
    for (size_t k = 0; k < plot->count; k++) {
        const wk_plot_series *s = &plot->series[k];
        for (to = 0; s->spread && next_run(plot, s, &from, &to);) {
            if (to - from > 1) continue;
            wk_point low = wk_plot_frame_point(&f, s->x[from], wk_plot_low(&plot->y, s, from));
            wk_point high = wk_plot_frame_point(&f, s->x[from], wk_plot_high(s, from));
            wk_plot_line(f.figure, low.x, low.y, high.x, high.y,
                         (wk_paint){.colour = wk_plot_colour(s->style), .width = 1.2});
        }
    }
    for (size_t k = 0; k < plot->count; k++)
        for (to = 0; next_run(plot, &plot->series[k], &from, &to);)
            draw_run(&f, &plot->series[k], from, to, scratch);
    free(scratch);
    *out = f.figure;
    return WK_OK;
}

wk_status wk_plot_scatter_draw(const wk_plot_scatter *plot, wk_figure **out, wk_error *err)
{
    wk_plot_frame f;
    wk_plot_axis x = plot->x, y = plot->y;
    wk_range xs, ys;
    // One range for both axes, so that the diagonal is where both are equal.
    if (plot->diagonal && wk_plot_extents(&x, &y, plot->series, plot->count, &xs, &ys)) {
        x.fixed = y.fixed = true;
        double low = fmin(xs.min, ys.min), high = fmax(xs.max, ys.max);
        double margin = 0.04 * (high - low);
        x.min = y.min = low - margin;
        x.max = y.max = high + margin;
    }
    WK_TRY(wk_plot_frame_begin(plot->title, plot->note, &x, &y, plot->series, plot->count, false,
                               &f, err));
    if (plot->diagonal) {
        double low = fmax(f.x.min, f.y.min), high = fmin(f.x.max, f.y.max);
        wk_point a = wk_plot_frame_point(&f, low, low), b = wk_plot_frame_point(&f, high, high);
        wk_plot_line(f.figure, a.x, a.y, b.x, b.y,
                     (wk_paint){.colour = WK_MUTED, .width = 1.2, .dash = 4});
    }
    for (size_t k = 0; k < plot->count; k++) {
        const wk_plot_series *s = &plot->series[k];
        for (size_t i = 0; i < s->count; i++)
            if (wk_plot_shows(&plot->x, &plot->y, s, i))
                wk_plot_marker(f.figure, wk_plot_frame_point(&f, s->x[i], s->y[i]), s->style, 3,
                               0.6);
    }
    *out = f.figure;
    return WK_OK;
}

enum { ROW = 30, BAR = 15, LABEL_MAX = 150, LABEL_LINE = 13, NUMBER_GAP = 10 };

static const char *bar_label(const void *bars, size_t i)
{
    const char *label = ((const wk_plot_bar *)bars)[i].label;
    return label ? label : "";
}

static int wrap_label(const wk_plot_bars *plot, size_t i, char lines[WK_WRAP_LINES][WK_WRAP_LENGTH])
{
    return wk_plot_wrap_name(plot->bars, plot->count, bar_label, i, WK_PLOT_LABEL, LABEL_MAX,
                             WK_WRAP_LINES, lines);
}

static void format_bar(const wk_scale *scale, const wk_plot_bar *bar, char *out, size_t size)
{
    char value[WK_TICK_LABEL], low[WK_TICK_LABEL], high[WK_TICK_LABEL];
    wk_scale_format_on(scale, bar->value, value);
    wk_scale_format_on(scale, bar->low, low);
    wk_scale_format_on(scale, bar->high, high);
    if (isfinite(bar->low) && isfinite(bar->high))
        snprintf(out, size, "%s [%s, %s]", value, low, high);
    else
        snprintf(out, size, "%s", value);
}

static double place(const wk_plot_frame *f, double value)
{
    return f->left + wk_scale_position(&f->x, value) * (f->right - f->left);
}

static void draw_bar(const wk_plot_frame *f, const wk_plot_bars *plot, size_t i, double y)
{
    const wk_plot_bar *bar = &plot->bars[i];
    const wk_paint ink = {.colour = WK_INK, .width = 1.4};
    char lines[WK_WRAP_LINES][WK_WRAP_LENGTH], numbers[3 * WK_TICK_LABEL + 8];
    int count = wrap_label(plot, i, lines);
    for (int k = 0; k < count; k++)
        wk_figure_text(
            f->figure, f->left - 8, y + 4.2 + LABEL_LINE * (k - (count - 1) / 2.0), lines[k],
            (wk_text_style){.size = WK_PLOT_LABEL, .colour = WK_INK, .anchor = WK_ANCHOR_END});
    format_bar(&f->x, bar, numbers, sizeof numbers);
    wk_plot_text(f->figure, f->right + NUMBER_GAP, y + 3.8, numbers, WK_PLOT_TICK, WK_ANCHOR_START);
    if (!wk_axis_shows(&plot->axis, bar->value)) return;
    double base = place(f, plot->has_reference ? plot->reference : plot->axis.log ? f->x.min : 0);
    double value = place(f, bar->value);
    wk_figure_rectangle(f->figure, fmin(base, value), y - BAR / 2.0, fabs(value - base), BAR,
                        (wk_paint){.colour = wk_plot_colour(bar->style), .opacity = 0.45});
    if (wk_axis_shows(&plot->axis, bar->low) && wk_axis_shows(&plot->axis, bar->high)) {
        double low = place(f, bar->low), high = place(f, bar->high);
        wk_plot_line(f->figure, low, y, high, y, ink);
        wk_plot_line(f->figure, low, y - 4, low, y + 4, ink);
        wk_plot_line(f->figure, high, y - 4, high, y + 4, ink);
    }
    wk_figure_disc(f->figure, value, y, 3.6, (wk_paint){.colour = wk_plot_colour(bar->style)});
}

// The scale, and the space between the names and the numbers, as much as the longest of both leave;
// returns the height of a row, which has room for the label with most lines.
static double lay_out_bars(const wk_plot_bars *plot, wk_plot_frame *f)
{
    double names = 0, numbers = 0;
    int most = 0;
    wk_range range = WK_RANGE_EMPTY;
    wk_range_add(&range, &plot->axis, plot->has_reference ? plot->reference : 0);
    for (size_t i = 0; i < plot->count; i++) {
        wk_range_add(&range, &plot->axis, plot->bars[i].value);
        wk_range_add(&range, &plot->axis, plot->bars[i].low);
        wk_range_add(&range, &plot->axis, plot->bars[i].high);
    }
    f->x = wk_scale_make(&plot->axis, range, 4, false);
    for (size_t i = 0; i < plot->count; i++) {
        char lines[WK_WRAP_LINES][WK_WRAP_LENGTH], text[3 * WK_TICK_LABEL + 8];
        int count = wrap_label(plot, i, lines);
        most = count > most ? count : most;
        for (int k = 0; k < count; k++)
            names = fmax(names, wk_plot_text_width(lines[k], WK_PLOT_LABEL));
        format_bar(&f->x, &plot->bars[i], text, sizeof text);
        numbers = fmax(numbers, wk_plot_text_width(text, WK_PLOT_TICK));
    }
    f->left = WK_PLOT_MARGIN + fmin(names, LABEL_MAX) + 8;
    f->right = fmax(f->left + 80, WK_PLOT_WIDTH - WK_PLOT_MARGIN - numbers - NUMBER_GAP);
    return fmax(ROW, LABEL_LINE * most + 4);
}

wk_status wk_plot_bars_draw(const wk_plot_bars *plot, wk_figure **out, wk_error *err)
{
    wk_plot_frame f = {0};
    size_t rows = plot->count ? plot->count : 2;
    double height = lay_out_bars(plot, &f), taken = -INFINITY;
    f.top = WK_PLOT_MARGIN + wk_plot_title_height(plot->title) + 4;
    f.bottom = f.top + height * (double)rows + 4;
    WK_TRY(wk_figure_create(WK_PLOT_WIDTH, f.bottom + (plot->axis.label ? 44 : 26), plot->title,
                            &f.figure, err));
    wk_plot_title(f.figure, plot->title);
    for (int i = 0; i < f.x.count; i++) {
        double x = place(&f, f.x.ticks[i]);
        wk_plot_line(f.figure, x, f.top, x, f.bottom, (wk_paint){.colour = WK_FAINT, .width = 1});
        wk_plot_tick_label(f.figure, x, f.bottom + 15, f.x.labels[i], &taken);
    }
    wk_plot_line(f.figure, f.left, f.bottom, f.right, f.bottom,
                 (wk_paint){.colour = WK_INK, .width = 1});
    if (plot->axis.label)
        wk_plot_text(f.figure, (f.left + f.right) / 2, f.bottom + 34, plot->axis.label,
                     WK_PLOT_LABEL, WK_ANCHOR_MIDDLE);
    for (size_t i = 0; i < plot->count; i++)
        draw_bar(&f, plot, i, f.top + height * ((double)i + 0.5) + 2);
    if (plot->has_reference && wk_axis_shows(&plot->axis, plot->reference)) {
        double x = place(&f, plot->reference);
        wk_plot_line(f.figure, x, f.top, x, f.bottom,
                     (wk_paint){.colour = WK_INK, .width = 1.2, .dash = 4});
    }
    if (plot->count == 0) wk_plot_frame_no_data(&f);
    *out = f.figure;
    return WK_OK;
}

enum {
    CELL_MAX = 44,
    BODY_MIN = 90,
    BODY_MAX = 300,
    KEY_WIDTH = 12,
    KEY_GAP = 14,
    KEY_STEPS = 64,
};

// Where the cells and the colour scale go.
typedef struct map {
    const wk_plot_heat *plot;
    wk_figure *figure;
    wk_scale scale;
    wk_plot_axis axis; // of the values
    double left, top, width, height;
} map;

static double cell_value(const wk_plot_heat *plot, size_t i)
{
    return plot->cells[i] * (plot->percent ? 100 : 1);
}

static bool has_cells(const wk_plot_heat *plot)
{
    return plot->rows > 0 && plot->columns > 0;
}

// Scale and places. Cells are about square where that gives a height that can be looked at.
static void lay_out_map(map *m)
{
    const wk_plot_heat *plot = m->plot;
    double unit = plot->percent ? 100 : 1, rows = 0;
    m->axis = (wk_plot_axis){.log = plot->log, .fixed = plot->fixed};
    m->axis.min = plot->min * unit;
    m->axis.max = plot->max * unit;
    wk_range range = WK_RANGE_EMPTY;
    for (size_t i = 0; i < plot->rows * plot->columns; i++)
        wk_range_add(&range, &m->axis, cell_value(plot, i));
    m->scale = wk_scale_make(&m->axis, range, 4, true);
    for (size_t r = 0; r < plot->rows && plot->row_values; r++) {
        char label[WK_TICK_LABEL];
        wk_scale_format(plot->row_values[r], label);
        rows = fmax(rows, wk_plot_text_width(label, WK_PLOT_TICK));
    }
    double key = KEY_GAP + KEY_WIDTH + 6 + wk_plot_ticks_width(&m->scale) + 8 +
                 (plot->value_label ? WK_PLOT_LABEL + 6 : 0);
    m->left = WK_PLOT_MARGIN + (plot->row_label ? 18 : 0) + rows + 6;
    m->top = WK_PLOT_MARGIN + wk_plot_title_height(plot->title) + 6;
    m->width = WK_PLOT_WIDTH - WK_PLOT_MARGIN - m->left - key;
    m->height = BODY_MIN;
    if (!has_cells(plot)) return;
    double side = fmin(CELL_MAX, m->width / (double)plot->columns);
    m->height = fmin(fmax(side * (double)plot->rows, BODY_MIN), BODY_MAX);
}

// Black or white, whichever is easier to read on a colour.
static uint32_t text_colour_on(uint32_t colour)
{
    double light =
        0.299 * (colour >> 16 & 0xff) + 0.587 * (colour >> 8 & 0xff) + 0.114 * (colour & 0xff);
    return light > 140 ? 0x000000 : 0xffffff;
}

static void draw_cell(const map *m, size_t row, size_t column)
{
    const wk_plot_heat *plot = m->plot;
    double width = m->width / (double)plot->columns, height = m->height / (double)plot->rows;
    double x = m->left + width * (double)column, y = m->top + height * (double)row;
    double value = cell_value(plot, row * plot->columns + column);
    bool shown = wk_axis_shows(&m->axis, value);
    uint32_t colour = shown ? wk_image_ramp(wk_scale_position(&m->scale, value)) : WK_FAINT;
    // Wide cells are set apart; narrow ones overlap by a pixel, else the seams would show.
    double gap_x = width > 18 ? -0.75 : 0.5, gap_y = height > 18 ? -0.75 : 0.5;
    wk_figure_rectangle(m->figure, x - gap_x, y - gap_y, width + 2 * gap_x, height + 2 * gap_y,
                        (wk_paint){.colour = colour});
    char label[WK_TICK_LABEL + 1];
    wk_scale_format(value, label);
    if (plot->percent) snprintf(label + strlen(label), 2, "%%");
    if (!shown || height < 15 || wk_plot_text_width(label, 10) > width - 3) return;
    wk_figure_text(
        m->figure, x + width / 2, y + height / 2 + 3.5, label,
        (wk_text_style){.size = 10, .colour = text_colour_on(colour), .anchor = WK_ANCHOR_MIDDLE});
}

static void draw_cell_labels(const map *m)
{
    const wk_plot_heat *plot = m->plot;
    double height = m->height / (double)plot->rows, width = m->width / (double)plot->columns;
    double taken = -INFINITY;
    char label[WK_TICK_LABEL];
    for (size_t r = 0; r < plot->rows && plot->row_values; r++) {
        double y = m->top + height * ((double)r + 0.5);
        if (y - 7 < taken) continue;
        wk_scale_format(plot->row_values[r], label);
        wk_plot_text(m->figure, m->left - 6, y + 3.8, label, WK_PLOT_TICK, WK_ANCHOR_END);
        taken = y + 7;
    }
    taken = -INFINITY;
    for (size_t c = 0; c < plot->columns && plot->column_values; c++) {
        wk_scale_format(plot->column_values[c], label);
        wk_plot_tick_label(m->figure, m->left + width * ((double)c + 0.5), m->top + m->height + 15,
                           label, &taken);
    }
}

static void draw_names(const map *m)
{
    char lines[WK_WRAP_LINES][WK_WRAP_LENGTH];
    wk_text_style style = {.size = WK_PLOT_LABEL, .colour = WK_INK, .anchor = WK_ANCHOR_MIDDLE};
    double middle = m->top + m->height / 2;
    if (m->plot->column_label &&
        wk_plot_wrap(m->plot->column_label, style.size, m->width, 1, lines))
        wk_figure_text(m->figure, m->left + m->width / 2, m->top + m->height + 34, lines[0], style);
    style.upwards = true;
    if (m->plot->row_label &&
        wk_plot_wrap(m->plot->row_label, style.size, m->height + 20, 1, lines))
        wk_figure_text(m->figure, WK_PLOT_MARGIN + 10, middle, lines[0], style);
    if (m->plot->value_label &&
        wk_plot_wrap(m->plot->value_label, style.size, m->height + 20, 1, lines))
        wk_figure_text(m->figure, WK_PLOT_WIDTH - WK_PLOT_MARGIN, middle, lines[0], style);
}

static void draw_key(const map *m)
{
    double x = m->left + m->width + KEY_GAP, step = m->height / KEY_STEPS;
    for (int i = 0; i < KEY_STEPS; i++)
        wk_figure_rectangle(m->figure, x, m->top + m->height - (i + 1) * step, KEY_WIDTH,
                            step + (i > 0 ? 0.5 : 0),
                            (wk_paint){.colour = wk_image_ramp((i + 0.5) / KEY_STEPS)});
    for (int i = 0; i < m->scale.count; i++) {
        double y = m->top + m->height * (1 - wk_scale_position(&m->scale, m->scale.ticks[i]));
        char label[WK_TICK_LABEL + 1];
        snprintf(label, sizeof label, "%s%s", m->scale.labels[i], m->plot->percent ? "%" : "");
        wk_plot_line(m->figure, x + KEY_WIDTH, y, x + KEY_WIDTH + 3, y,
                     (wk_paint){.colour = WK_INK, .width = 1});
        wk_plot_text(m->figure, x + KEY_WIDTH + 6, y + 3.8, label, WK_PLOT_TICK, WK_ANCHOR_START);
    }
}

wk_status wk_plot_heat_draw(const wk_plot_heat *plot, wk_figure **out, wk_error *err)
{
    map m = {.plot = plot};
    lay_out_map(&m);
    WK_TRY(wk_figure_create(WK_PLOT_WIDTH, ceil(m.top + m.height) + (plot->column_label ? 44 : 26),
                            plot->title, &m.figure, err));
    wk_plot_title(m.figure, plot->title);
    for (size_t r = 0; r < plot->rows; r++)
        for (size_t c = 0; c < plot->columns; c++)
            draw_cell(&m, r, c);
    if (has_cells(plot))
        draw_cell_labels(&m);
    else
        wk_plot_frame_no_data(&(wk_plot_frame){.figure = m.figure,
                                               .left = m.left,
                                               .right = m.left + m.width,
                                               .top = m.top,
                                               .bottom = m.top + m.height});
    draw_names(&m);
    draw_key(&m);
    *out = m.figure;
    return WK_OK;
}
