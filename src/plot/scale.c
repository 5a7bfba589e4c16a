#include "plot/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Beyond the first the difference of two values may overflow; below the second it cannot be
// divided.
static const double VALUE_MAX = 1e300, TINY = 1e-290;

bool wk_axis_shows(const wk_plot_axis *axis, double value)
{
    return isfinite(value) && (!axis->log || value > 0);
}

void wk_range_add(wk_range *range, const wk_plot_axis *axis, double value)
{
    if (!wk_axis_shows(axis, value)) return;
    value = fmin(fmax(value, -VALUE_MAX), VALUE_MAX);
    range->min = fmin(range->min, value);
    range->max = fmax(range->max, value);
}

// A number as printf's %e writes it, without needless digits: 1.50e-07 becomes 1.5e-7.
static void format_power(double value, int digits, char out[WK_TICK_LABEL])
{
    char text[WK_TICK_LABEL];
    snprintf(text, sizeof text, "%.*e", digits, value);
    char *e = strchr(text, 'e'), *end = e;
    if (strchr(text, '.'))
        while (end[-1] == '0')
            end--;
    if (end[-1] == '.') end--;
    int power = 0;
    sscanf(e + 1, "%d", &power);
    snprintf(out, WK_TICK_LABEL, "%.*se%d", (int)(end - text), text, power);
}

// The unit that a count is abbreviated with.
static double unit_of(double magnitude, const char **suffix)
{
    static const struct {
        double size;
        const char *suffix;
    } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    *suffix = "";
    if (magnitude < 1e4) return 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (magnitude < units[i].size * (1 - 1e-12)) continue;
        *suffix = units[i].suffix;
        return units[i].size;
    }
    return 1;
}

// Writes enough digits to tell values `step` apart, next to numbers of size `magnitude`.
static void format_step(double value, double step, double magnitude, char out[WK_TICK_LABEL])
{
    const char *suffix;
    double unit = unit_of(magnitude, &suffix);
    int decimals = (int)fmax(0, ceil(-log10(step / unit) - 1e-6));
    if (fabs(value) < step * 1e-6)
        snprintf(out, WK_TICK_LABEL, "0");
    else if (magnitude >= 1e15 || magnitude < 1e-3 || decimals > 9)
        format_power(value, (int)fmin(15, fmax(0, ceil(log10(fabs(value) / step) - 1e-6))), out);
    else
        snprintf(out, WK_TICK_LABEL, "%.*f%s", decimals, value / unit, suffix);
}

// Writes the label of a tick: 1M, not 1.0M.
static void format_tick(double value, double step, double magnitude, char out[WK_TICK_LABEL])
{
    const char *suffix;
    double unit = unit_of(magnitude, &suffix), whole = round(value / unit);
    format_step(value, step, magnitude, out);
    bool plain = magnitude < 1e15 && magnitude >= 1e-3;
    if (plain && whole != 0 && fabs(value - whole * unit) < 1e-6 * step)
        snprintf(out, WK_TICK_LABEL, "%.0f%s", whole, suffix);
}

void wk_scale_format(double value, char out[WK_TICK_LABEL])
{
    double magnitude = fabs(value);
    const char *suffix;
    double unit = unit_of(magnitude, &suffix);
    if (value == 0)
        snprintf(out, WK_TICK_LABEL, "0");
    else if (!isfinite(value))
        snprintf(out, WK_TICK_LABEL, "%s", isnan(value) ? "-" : value > 0 ? "inf" : "-inf");
    else if (magnitude >= 1e15 || magnitude < 1e-3)
        format_power(value, 2, out);
    else
        snprintf(out, WK_TICK_LABEL, "%.3g%s", value / unit, suffix);
    // %.3g writes 1000 to 9999 with an exponent.
    if (magnitude >= 999.5 && magnitude < 1e4) snprintf(out, WK_TICK_LABEL, "%.0f", value);
}

void wk_scale_format_on(const wk_scale *scale, double value, char out[WK_TICK_LABEL])
{
    double magnitude = fmax(fabs(scale->min), fabs(scale->max));
    if (scale->log || !isfinite(value))
        wk_scale_format(value, out);
    else
        format_step(value, (scale->max - scale->min) / 100, magnitude, out);
}

// The nearest to a size, in ratio, of 1, 2 and 5 times the powers of ten.
static double round_step(double size)
{
    double power = pow(10, floor(log10(size))), part = size / power;
    return (part < sqrt(2) ? 1 : part < sqrt(10) ? 2 : part < sqrt(50) ? 5 : 10) * power;
}

static void add_linear_ticks(wk_scale *s, int wanted)
{
    double step = round_step((s->max - s->min) / wanted), slack = 1e-6 * step;
    double magnitude = fmax(fabs(s->min), fabs(s->max));
    double first = ceil((s->min - slack) / step);
    for (int i = 0; i < WK_TICKS_MAX; i++) {
        double tick = (first + i) * step;
        if (tick > s->max + slack) break;
        s->ticks[s->count] = fmin(fmax(tick, s->min), s->max);
        format_tick(s->ticks[s->count], step, magnitude, s->labels[s->count]);
        s->count++;
    }
}

// Number 3 k, 3 k + 1 and 3 k + 2 of the series are 1, 2 and 5 times 10^k.
static double series_value(int number)
{
    static const double parts[] = {1, 2, 5};
    int power = number >= 0 ? number / 3 : -((2 - number) / 3);
    return parts[number - 3 * power] * pow(10, power);
}

// The number of the last value of the series at or below `value`.
static int series_below(double value)
{
    int number = 3 * (int)floor(log10(value)) - 1;
    while (series_value(number + 1) <= value * (1 + 1e-9))
        number++;
    return number;
}

// Ticks at powers of ten; over few of them also at 2 and 5, over very many only at some.
static void add_log_ticks(wk_scale *s, int wanted)
{
    int first = series_below(s->min), last = series_below(s->max);
    if (series_value(last) < s->max * (1 - 1e-9)) last++;
    s->min = series_value(first);
    s->max = series_value(last);
    int stride = last - first <= 2 * wanted ? 1 : 3 * ((last - first) / (3 * 2 * wanted) + 1);
    if (stride > 1) first = first >= 0 ? (first + 2) / 3 * 3 : first / 3 * 3;
    for (int n = first; n <= last && s->count < WK_TICKS_MAX; n += stride) {
        s->ticks[s->count] = series_value(n);
        wk_scale_format(s->ticks[s->count], s->labels[s->count]);
        s->count++;
    }
}

wk_scale wk_scale_make(const wk_plot_axis *axis, wk_range range, int wanted, bool tight)
{
    wk_scale s = {.log = axis->log};
    if (axis->fixed) {
        wk_range_add(&range, axis, axis->min);
        wk_range_add(&range, axis, axis->max);
    }
    bool empty = range.min > range.max;
    s.min = empty ? (s.log ? 1 : 0) : range.min;
    s.max = empty ? (s.log ? 10 : 1) : range.max;
    if (s.log) {
        s.min = fmax(s.min, 1e-300);
        s.max = fmax(s.max, s.min * (1 + 1e-6));
        add_log_ticks(&s, wanted);
        return s;
    }
    // Ends that are too close for ticks between them are moved apart; others get a margin.
    double size = fmax(fabs(s.min), fabs(s.max));
    if (s.max - s.min <= fmax(1e-9 * size, TINY)) {
        double room = size > 0 ? fmax(0.05 * size, 1e-289) : 1;
        s.min -= room;
        s.max += room;
    } else if (!tight && !axis->fixed) {
        double room = 0.04 * (s.max - s.min);
        bool from_zero = s.min >= 0 && s.min < 0.35 * s.max;
        bool to_zero = s.max <= 0 && s.max > 0.35 * s.min;
        s.min = from_zero ? 0 : s.min - room;
        s.max = to_zero ? 0 : s.max + room;
    }
    add_linear_ticks(&s, wanted);
    return s;
}

double wk_scale_position(const wk_scale *scale, double value)
{
    double min = scale->min, max = scale->max;
    if (scale->log) {
        value = log(fmax(value, min));
        min = log(min);
        max = log(max);
    }
    return fmin(fmax((value - min) / (max - min), 0), 1);
}
