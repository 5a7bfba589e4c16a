// An indicator along one episode: what its steps add up to.
#ifndef WK_ENV_INDICATOR_H
#define WK_ENV_INDICATOR_H

#include "waker/env.h"

/// Plain data, saved as it is. All zero: no step yet.
typedef struct wk_indicator_total {
    uint64_t count; // steps that had a value
    uint64_t cells; // bit i: cell i was visited
    double sum, min, max;
} wk_indicator_total;

/// Takes in the value of a step; NaN is none, and neither is a cell that does not exist.
void wk_indicator_total_add(wk_indicator_total *total, const wk_indicator *indicator, float value);

/// The indicator of the episode; NaN when no step had a value.
double wk_indicator_total_value(const wk_indicator_total *total, const wk_indicator *indicator);

#endif
