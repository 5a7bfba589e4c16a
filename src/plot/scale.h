// From values to positions: the range of an axis, its ticks at round numbers and their labels.
#ifndef WK_PLOT_SCALE_H
#define WK_PLOT_SCALE_H

#include "plot/plot.h"

/// Minimum and maximum of some values; empty while min > max.
typedef struct wk_range {
    double min, max;
} wk_range;

#define WK_RANGE_EMPTY ((wk_range){INFINITY, -INFINITY})

/// Whether an axis can show a value: finite, and above 0 on a logarithmic one.
bool wk_axis_shows(const wk_plot_axis *axis, double value);
/// Extends the range to a value the axis can show; others are ignored.
void wk_range_add(wk_range *range, const wk_plot_axis *axis, double value);

enum { WK_TICKS_MAX = 24, WK_TICK_LABEL = 32 };

typedef struct wk_scale {
    double min, max; // min < max
    bool log;
    int count;
    double ticks[WK_TICKS_MAX]; // ascending, within min to max
    char labels[WK_TICKS_MAX][WK_TICK_LABEL];
} wk_scale;

/// The scale of an axis for values of `range`, with about `wanted` ticks. `tight` lets the
/// outermost values touch the ends, else there is a margin, and 0 is shown when it is near.
wk_scale wk_scale_make(const wk_plot_axis *axis, wk_range range, int wanted, bool tight);

/// The position of a value on the axis, 0 at its beginning and 1 at its end; clamped.
double wk_scale_position(const wk_scale *scale, double value);

/// Writes a value in few characters: 0.25, 50k, 2e-7.
void wk_scale_format(double value, char out[WK_TICK_LABEL]);

/// Writes a value with the digits that tell hundredths of a linear scale apart.
void wk_scale_format_on(const wk_scale *scale, double value, char out[WK_TICK_LABEL]);

#endif
