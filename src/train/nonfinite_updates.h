// Updates whose metrics are not finite. In such an update the networks concerned skip their step; a
// learner that makes no others has diverged.
#ifndef WK_TRAIN_NONFINITE_UPDATES_H
#define WK_TRAIN_NONFINITE_UPDATES_H

#include <stdbool.h>

enum { WK_NONFINITE_MAX = 100 }; // in a row

/// Of the updates so far. Zero-initialise.
typedef struct wk_nonfinite_updates {
    const char *metric; // that was not finite last, or NULL
    int in_a_row;       // updates with such a metric, up to the last one
    // Since wk_nonfinite_updates_clear: a row began; a row reached WK_NONFINITE_MAX.
    bool first, too_many;
} wk_nonfinite_updates;

static inline void wk_nonfinite_updates_clear(wk_nonfinite_updates *updates)
{
    updates->first = updates->too_many = false;
}

/// Counts an update; `metric` is one that is not finite, NULL when all are.
static inline void wk_nonfinite_updates_add(wk_nonfinite_updates *updates, const char *metric)
{
    updates->in_a_row = metric ? updates->in_a_row + 1 : 0;
    if (metric) updates->metric = metric;
    updates->first |= updates->in_a_row == 1;
    updates->too_many |= updates->in_a_row == WK_NONFINITE_MAX;
}

#endif
