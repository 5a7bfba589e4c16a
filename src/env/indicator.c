#include "env/indicator.h"

#include <math.h>

static bool has_value(const wk_indicator *indicator, double value)
{
    if (indicator->kind != WK_INDICATOR_CELLS) return isfinite(value);
    return value >= 0 && value < indicator->cells;
}

void wk_indicator_total_add(wk_indicator_total *t, const wk_indicator *indicator, float step)
{
    double value = (double)step;
    if (!has_value(indicator, value)) return;
    bool first = t->count == 0;
    t->min = first ? value : fmin(t->min, value);
    t->max = first ? value : fmax(t->max, value);
    t->sum += value;
    t->count++;
    if (indicator->kind == WK_INDICATOR_CELLS) t->cells |= (uint64_t)1 << (int)value;
}

double wk_indicator_total_value(const wk_indicator_total *t, const wk_indicator *indicator)
{
    if (t->count == 0) return NAN;
    switch (indicator->kind) {
    case WK_INDICATOR_SUM:
        return t->sum;
    case WK_INDICATOR_RANGE:
        return t->max - t->min;
    case WK_INDICATOR_CELLS:
        return __builtin_popcountll(t->cells) / (double)indicator->cells;
    default:
        return t->sum / (double)t->count;
    }
}
