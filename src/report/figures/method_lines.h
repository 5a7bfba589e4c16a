// Lines of a figure, one for each method: the mean of the curves of its runs. A run alone has a
// band of its own, several are shaded by their standard deviation.
#ifndef WK_REPORT_FIGURES_METHOD_LINES_H
#define WK_REPORT_FIGURES_METHOD_LINES_H

#include "report/figures/figures.h"

enum { WK_METHOD_LINES_MAX = 32 };

typedef struct wk_method_line {
    const char *method;
    size_t runs, count;
    double x[WK_CURVE_POINTS_MAX], sum[WK_CURVE_POINTS_MAX], squares[WK_CURVE_POINTS_MAX];
    double below[WK_CURVE_POINTS_MAX], above[WK_CURVE_POINTS_MAX];
} wk_method_line;

/// Zero-initialise.
typedef struct wk_method_lines {
    wk_method_line items[WK_METHOD_LINES_MAX];
    size_t count;
    bool several; // a line is of several runs
} wk_method_lines;

/// One run's curve; `low` and `high` are the ends of its band, or NULL. `count` is at most
/// WK_CURVE_POINTS_MAX. A curve of another length than the method's first is left out, and so are
/// methods beyond WK_METHOD_LINES_MAX.
typedef struct wk_method_curve {
    const double *x, *y, *low, *high;
    size_t count;
} wk_method_curve;
void wk_method_lines_add(wk_method_lines *lines, const char *method, const wk_method_curve *curve);

/// Takes the means and gives them as series, [lines->count]. Call it once.
void wk_method_lines_finish(wk_method_lines *lines, const wk_paper *paper,
                            wk_plot_series series[WK_METHOD_LINES_MAX]);

#endif
