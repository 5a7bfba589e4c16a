// What all plots with two axes share: background, title, legend, axes with ticks and grid, and the
// mapping from values to positions. Data is drawn after wk_plot_frame_begin.
#ifndef WK_PLOT_PLOT_FRAME_H
#define WK_PLOT_PLOT_FRAME_H

#include "plot/scale.h"

/// Sizes of letters, margins and the plot, in points. A figure is as wide as a phone is, so that it
/// stays readable there; wide screens show several side by side.
enum {
    WK_PLOT_WIDTH = 440,
    WK_PLOT_BODY = 230, // height between the axes
    WK_PLOT_MARGIN = 12,
    WK_PLOT_TITLE = 13,
    WK_PLOT_LABEL = 12,
    WK_PLOT_TICK = 11,
};

/// Where the data goes.
typedef struct wk_plot_frame {
    wk_figure *figure;
    double left, right, top, bottom;
    wk_scale x, y;
} wk_plot_frame;

/// A line of the legend.
typedef struct wk_plot_legend {
    const char *name;
    int style;
    bool line; // a line with a marker, else the marker alone
} wk_plot_legend;

/// What is drawn around the data.
typedef struct wk_plot_frame_spec {
    const char *title, *note; // or NULL
    const wk_plot_axis *x, *y;
    const wk_scale *x_scale, *y_scale;
    const wk_plot_legend *legend;
    size_t legend_count;
} wk_plot_frame_spec;

wk_status wk_plot_frame_begin(const wk_plot_frame_spec *spec, wk_plot_frame *out, wk_error *err);

/// The position in the figure of values that both axes can show.
wk_point wk_plot_frame_point(const wk_plot_frame *frame, double x, double y);

/// Writes in the middle of the plot that there is no data.
void wk_plot_frame_no_data(const wk_plot_frame *frame);

/// Draws the marker of a style.
void wk_plot_marker(wk_figure *figure, wk_point at, int style, double radius, double opacity);

/// How wide a text may come out; fonts of SVG viewers may be wider than ours.
double wk_plot_text_width(const char *text, double size);
/// The width of the widest label of a scale's ticks.
double wk_plot_ticks_width(const wk_scale *scale);
void wk_plot_line(wk_figure *figure, double x0, double y0, double x1, double y1, wk_paint paint);

/// Writes the label of a tick around `x`, moved if it would leave the figure and omitted if it
/// would touch the previous one, whose end is kept in `taken` (-INFINITY at first).
void wk_plot_tick_label(wk_figure *figure, double x, double y, const char *label, double *taken);

enum { WK_WRAP_LINES = 6, WK_WRAP_LENGTH = 256 };

/// Breaks a text into lines that fit a width; what does not fit the last line ends in an ellipsis.
/// Returns the number of lines.
int wk_plot_wrap(const char *text, double size, double width, int max,
                 char lines[WK_WRAP_LINES][WK_WRAP_LENGTH]);

/// The i-th of the names of a figure.
typedef const char *wk_plot_name_of(const void *items, size_t i);
/// As wk_plot_wrap, for the i-th of `count` names: those that are cut and would look like another
/// one end in their number among these.
int wk_plot_wrap_name(const void *items, size_t count, wk_plot_name_of *name, size_t i, double size,
                      double width, int max, char lines[WK_WRAP_LINES][WK_WRAP_LENGTH]);

/// Draws the title of a figure, which may be NULL; and how high it is.
void wk_plot_title(wk_figure *figure, const char *title);
double wk_plot_title_height(const char *title);

#endif
