// The kinds of plots of the report, each a plain struct turned into a figure. Values that are not
// finite are left out and make gaps in lines; a plot without values says so. Strings and arrays are
// copied: they may be freed once the figure is made.
#ifndef WK_PLOT_PLOT_H
#define WK_PLOT_PLOT_H

#include "plot/figure.h"
#include "plot/heatmap.h"

/// One direction of a plot.
typedef struct wk_plot_axis {
    const char *label; // with its unit, for example "agent steps"; NULL for none
    bool log;          // logarithmic; values of 0 and below are left out
    bool fixed;        // shows at least the range min to max, and more if the values need it
    double min, max;   // used when fixed
} wk_plot_axis;

/// Named points. `style` picks colour and marker; use the same one for a thing everywhere.
typedef struct wk_plot_series {
    const char *name;
    size_t count;
    const double *x, *y;
    const double *spread; // height of the shading below and above y, such as the s.d.; NULL: none
    int style;            // any number from 0; styles repeat after WK_PLOT_STYLES
    const double *above;  // height of the shading above y where it differs; NULL: as `spread`
    const double *level;  // of lines: *level is the height of a dashed reference line; NULL: none
} wk_plot_series;

enum { WK_PLOT_STYLES = 8 };

/// The colour of a style, 0xRRGGBB or a role.
uint32_t wk_plot_colour(int style);

/// Learning curves, parameters over time: lines with shading.
typedef struct wk_plot_lines {
    const char *title;
    wk_plot_axis x, y;
    const wk_plot_series *series;
    size_t count;
} wk_plot_lines;

wk_status wk_plot_lines_draw(const wk_plot_lines *plot, wk_figure **out, wk_error *err);

/// Points of two quantities against each other, for example error estimate and true error.
typedef struct wk_plot_scatter {
    const char *title;
    wk_plot_axis x, y;
    const wk_plot_series *series; // `spread` is not used
    size_t count;
    const char *note; // a line inside the plot, for example "rank correlation 0.81"; or NULL
    bool diagonal;    // a dashed line where both are equal; axes, not log, show the same range
} wk_plot_scatter;

wk_status wk_plot_scatter_draw(const wk_plot_scatter *plot, wk_figure **out, wk_error *err);

/// One horizontal bar with its interval.
typedef struct wk_plot_bar {
    const char *label;
    double value, low, high; // low, high: the ends of the interval; NaN: none
    int style;
} wk_plot_bar;

/// Bars below each other, for example probabilities of improvement with reference 0.5.
typedef struct wk_plot_bars {
    const char *title;
    wk_plot_axis axis;
    const wk_plot_bar *bars;
    size_t count;
    bool has_reference; // a dashed line at `reference`; bars grow from there, else from 0
    double reference;
} wk_plot_bars;

wk_status wk_plot_bars_draw(const wk_plot_bars *plot, wk_figure **out, wk_error *err);

/// A map of values in cells, the first row on top, columns to the right, with a colour scale.
typedef struct wk_plot_heat {
    const char *title, *row_label, *column_label, *value_label; // labels may be NULL
    size_t rows, columns;
    const double *row_values, *column_values; // written along the sides; NULL: none
    const double *cells;                      // [rows,columns]; NaN is left grey
    bool percent;                             // the values are shares, written in per cent
    bool log;                                 // colours by the logarithm
    bool fixed;                               // colours from min to max instead of those
    double min, max;                          // of the cells: for maps to be compared
} wk_plot_heat;

wk_status wk_plot_heat_draw(const wk_plot_heat *plot, wk_figure **out, wk_error *err);

/// One layer of a panel as a plot; `title` may be NULL for the panel's own.
wk_plot_heat wk_plot_heat_of_panel(const wk_heat_panel *panel, wk_heat heat, const char *title);

#endif
