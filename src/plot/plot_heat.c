// Maps: cells coloured by their value, the numbers written where they fit, and a colour scale.
#include "plot/plot_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CELL_MAX = 44,
    BODY_MIN = 90,
    BODY_MAX = 300,
    BAR_WIDTH = 12,
    BAR_GAP = 14,
    BAR_STEPS = 64,
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

static void make_scale(map *m)
{
    const wk_plot_heat *plot = m->plot;
    double unit = plot->percent ? 100 : 1;
    m->axis = (wk_plot_axis){.log = plot->log, .fixed = plot->fixed};
    m->axis.min = plot->min * unit;
    m->axis.max = plot->max * unit;
    wk_range range = WK_RANGE_EMPTY;
    for (size_t i = 0; i < plot->rows * plot->columns; i++)
        wk_range_add(&range, &m->axis, cell_value(plot, i));
    m->scale = wk_scale_make(&m->axis, range, 4, true);
}

static void format_value(const map *m, double value, char out[WK_TICK_LABEL + 1])
{
    wk_scale_format(value, out);
    if (m->plot->percent) snprintf(out + strlen(out), 2, "%%");
}

static double widest_row_label(const wk_plot_heat *plot)
{
    double width = 0;
    for (size_t r = 0; r < plot->rows && plot->row_values; r++) {
        char label[WK_TICK_LABEL];
        wk_scale_format(plot->row_values[r], label);
        width = fmax(width, wk_plot_text_width(label, WK_PLOT_TICK));
    }
    return width;
}

// Cells are about square where that gives a height that can be looked at.
static void lay_out(map *m)
{
    const wk_plot_heat *plot = m->plot;
    double bar = BAR_GAP + BAR_WIDTH + 6 + wk_plot_ticks_width(&m->scale) + 8 +
                 (plot->value_label ? WK_PLOT_LABEL + 6 : 0);
    m->left = WK_PLOT_MARGIN + (plot->row_label ? 18 : 0) + widest_row_label(plot) + 6;
    m->top = WK_PLOT_MARGIN + wk_plot_title_height(plot->title) + 6;
    m->width = WK_PLOT_WIDTH - WK_PLOT_MARGIN - m->left - bar;
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
    format_value(m, value, label);
    if (!shown || height < 15 || wk_plot_text_width(label, 10) > width - 3) return;
    wk_figure_text(
        m->figure, x + width / 2, y + height / 2 + 3.5, label,
        (wk_text_style){.size = 10, .colour = text_colour_on(colour), .anchor = WK_ANCHOR_MIDDLE});
}

static void draw_row_labels(const map *m)
{
    const wk_plot_heat *plot = m->plot;
    double height = m->height / (double)plot->rows, taken = -INFINITY;
    for (size_t r = 0; r < plot->rows && plot->row_values; r++) {
        double y = m->top + height * ((double)r + 0.5);
        char label[WK_TICK_LABEL];
        if (y - 7 < taken) continue;
        wk_scale_format(plot->row_values[r], label);
        wk_figure_text(
            m->figure, m->left - 6, y + 3.8, label,
            (wk_text_style){.size = WK_PLOT_TICK, .colour = WK_INK, .anchor = WK_ANCHOR_END});
        taken = y + 7;
    }
}

static void draw_column_labels(const map *m)
{
    const wk_plot_heat *plot = m->plot;
    double width = m->width / (double)plot->columns, taken = -INFINITY;
    for (size_t c = 0; c < plot->columns && plot->column_values; c++) {
        char label[WK_TICK_LABEL];
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

static void draw_bar(const map *m)
{
    double x = m->left + m->width + BAR_GAP, step = m->height / BAR_STEPS;
    for (int i = 0; i < BAR_STEPS; i++)
        wk_figure_rectangle(m->figure, x, m->top + m->height - (i + 1) * step, BAR_WIDTH,
                            step + (i > 0 ? 0.5 : 0),
                            (wk_paint){.colour = wk_image_ramp((i + 0.5) / BAR_STEPS)});
    for (int i = 0; i < m->scale.count; i++) {
        double y = m->top + m->height * (1 - wk_scale_position(&m->scale, m->scale.ticks[i]));
        char label[WK_TICK_LABEL + 1];
        snprintf(label, sizeof label, "%s%s", m->scale.labels[i], m->plot->percent ? "%" : "");
        wk_plot_line(m->figure, x + BAR_WIDTH, y, x + BAR_WIDTH + 3, y,
                     (wk_paint){.colour = WK_INK, .width = 1});
        wk_figure_text(m->figure, x + BAR_WIDTH + 6, y + 3.8, label,
                       (wk_text_style){.size = WK_PLOT_TICK, .colour = WK_INK});
    }
}

wk_status wk_plot_heat_draw(const wk_plot_heat *plot, wk_figure **out, wk_error *err)
{
    map m = {.plot = plot};
    make_scale(&m);
    lay_out(&m);
    WK_TRY(wk_figure_create(WK_PLOT_WIDTH, ceil(m.top + m.height) + (plot->column_label ? 44 : 26),
                            plot->title, &m.figure, err));
    wk_plot_title(m.figure, plot->title);
    for (size_t r = 0; r < plot->rows; r++)
        for (size_t c = 0; c < plot->columns; c++)
            draw_cell(&m, r, c);
    if (has_cells(plot)) {
        draw_row_labels(&m);
        draw_column_labels(&m);
    } else {
        wk_plot_frame_no_data(&(wk_plot_frame){.figure = m.figure,
                                               .left = m.left,
                                               .right = m.left + m.width,
                                               .top = m.top,
                                               .bottom = m.top + m.height});
    }
    draw_names(&m);
    draw_bar(&m);
    *out = m.figure;
    return WK_OK;
}

wk_plot_heat wk_plot_heat_of_panel(const wk_heat_panel *panel, wk_heat heat, const char *title)
{
    return (wk_plot_heat){
        .title = title ? title : panel->title,
        .row_label = *panel->row_name ? panel->row_name : NULL,
        .column_label = panel->column_name,
        .value_label = panel->names[heat] ? panel->names[heat] : wk_heat_name(heat),
        .rows = (size_t)panel->rows,
        .columns = (size_t)panel->columns,
        .row_values = *panel->row_name ? panel->row_values : NULL,
        .column_values = panel->column_values,
        .cells = panel->cells[heat],
        .percent = panel->kinds[heat] == WK_HEAT_IS_SHARE,
    };
}
