// Horizontal bars with intervals: names on the left, numbers on the right.
#include "plot/plot_frame.h"

#include <math.h>
#include <stdio.h>

enum { ROW = 30, BAR = 15, LABEL_MAX = 150, LABEL_LINE = 13, NUMBER_GAP = 10 };

static const char *label_of(const void *bars, size_t i)
{
    const char *label = ((const wk_plot_bar *)bars)[i].label;
    return label ? label : "";
}

static int wrap_label(const wk_plot_bars *plot, size_t i, char lines[WK_WRAP_LINES][WK_WRAP_LENGTH])
{
    return wk_plot_wrap_name(plot->bars, plot->count, label_of, i, WK_PLOT_LABEL, LABEL_MAX,
                             WK_WRAP_LINES, lines);
}

// Rows are as high as the label with most lines.
static double row_height(const wk_plot_bars *plot)
{
    int lines = 0;
    for (size_t i = 0; i < plot->count; i++) {
        char text[WK_WRAP_LINES][WK_WRAP_LENGTH];
        int count = wrap_label(plot, i, text);
        if (count > lines) lines = count;
    }
    return fmax(ROW, LABEL_LINE * lines + 4);
}

static wk_scale make_scale(const wk_plot_bars *plot)
{
    wk_range range = WK_RANGE_EMPTY;
    wk_range_add(&range, &plot->axis, plot->has_reference ? plot->reference : 0);
    for (size_t i = 0; i < plot->count; i++) {
        wk_range_add(&range, &plot->axis, plot->bars[i].value);
        wk_range_add(&range, &plot->axis, plot->bars[i].low);
        wk_range_add(&range, &plot->axis, plot->bars[i].high);
    }
    return wk_scale_make(&plot->axis, range, 4, false);
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

static void draw_label(const wk_plot_frame *f, const wk_plot_bars *plot, size_t bar, double y)
{
    char lines[WK_WRAP_LINES][WK_WRAP_LENGTH];
    int count = wrap_label(plot, bar, lines);
    for (int i = 0; i < count; i++)
        wk_figure_text(
            f->figure, f->left - 8, y + 4.2 + LABEL_LINE * (i - (count - 1) / 2.0), lines[i],
            (wk_text_style){.size = WK_PLOT_LABEL, .colour = WK_INK, .anchor = WK_ANCHOR_END});
}

static void draw_interval(const wk_plot_frame *f, const wk_plot_bar *bar, double y)
{
    const wk_paint ink = {.colour = WK_INK, .width = 1.4};
    double low = place(f, bar->low), high = place(f, bar->high);
    wk_plot_line(f->figure, low, y, high, y, ink);
    wk_plot_line(f->figure, low, y - 4, low, y + 4, ink);
    wk_plot_line(f->figure, high, y - 4, high, y + 4, ink);
}

static void draw_bar(const wk_plot_frame *f, const wk_plot_bars *plot, size_t i, double y)
{
    const wk_plot_bar *bar = &plot->bars[i];
    char numbers[3 * WK_TICK_LABEL + 8];
    double base = place(f, plot->has_reference ? plot->reference : plot->axis.log ? f->x.min : 0);
    draw_label(f, plot, i, y);
    format_bar(&f->x, bar, numbers, sizeof numbers);
    wk_figure_text(f->figure, f->right + NUMBER_GAP, y + 3.8, numbers,
                   (wk_text_style){.size = WK_PLOT_TICK, .colour = WK_INK});
    if (!wk_axis_shows(&plot->axis, bar->value)) return;
    double value = place(f, bar->value);
    wk_figure_rectangle(f->figure, fmin(base, value), y - BAR / 2.0, fabs(value - base), BAR,
                        (wk_paint){.colour = wk_plot_colour(bar->style), .opacity = 0.45});
    if (wk_axis_shows(&plot->axis, bar->low) && wk_axis_shows(&plot->axis, bar->high))
        draw_interval(f, bar, y);
    wk_figure_disc(f->figure, value, y, 3.6, (wk_paint){.colour = wk_plot_colour(bar->style)});
}

static void draw_axis(const wk_plot_frame *f, const wk_plot_bars *plot)
{
    double taken = -INFINITY;
    for (int i = 0; i < f->x.count; i++) {
        double x = place(f, f->x.ticks[i]);
        wk_plot_line(f->figure, x, f->top, x, f->bottom,
                     (wk_paint){.colour = WK_FAINT, .width = 1});
        wk_plot_tick_label(f->figure, x, f->bottom + 15, f->x.labels[i], &taken);
    }
    wk_plot_line(f->figure, f->left, f->bottom, f->right, f->bottom,
                 (wk_paint){.colour = WK_INK, .width = 1});
    wk_text_style style = {.size = WK_PLOT_LABEL, .colour = WK_INK, .anchor = WK_ANCHOR_MIDDLE};
    if (plot->axis.label)
        wk_figure_text(f->figure, (f->left + f->right) / 2, f->bottom + 34, plot->axis.label,
                       style);
}

// The space between the names and the numbers, as much as the longest of both leave.
static void find_sides(const wk_plot_bars *plot, wk_plot_frame *f)
{
    double names = 0, numbers = 0;
    for (size_t i = 0; i < plot->count; i++) {
        char lines[WK_WRAP_LINES][WK_WRAP_LENGTH], text[3 * WK_TICK_LABEL + 8];
        int count = wrap_label(plot, i, lines);
        for (int k = 0; k < count; k++)
            names = fmax(names, wk_plot_text_width(lines[k], WK_PLOT_LABEL));
        format_bar(&f->x, &plot->bars[i], text, sizeof text);
        numbers = fmax(numbers, wk_plot_text_width(text, WK_PLOT_TICK));
    }
    f->left = WK_PLOT_MARGIN + fmin(names, LABEL_MAX) + 8;
    f->right = fmax(f->left + 80, WK_PLOT_WIDTH - WK_PLOT_MARGIN - numbers - NUMBER_GAP);
}

wk_status wk_plot_bars_draw(const wk_plot_bars *plot, wk_figure **out, wk_error *err)
{
    wk_plot_frame f = {.x = make_scale(plot)};
    size_t rows = plot->count ? plot->count : 2;
    double height = row_height(plot);
    find_sides(plot, &f);
    f.top = WK_PLOT_MARGIN + wk_plot_title_height(plot->title) + 4;
    f.bottom = f.top + height * (double)rows + 4;
    WK_TRY(wk_figure_create(WK_PLOT_WIDTH, f.bottom + (plot->axis.label ? 44 : 26), plot->title,
                            &f.figure, err));
    wk_plot_title(f.figure, plot->title);
    draw_axis(&f, plot);
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
