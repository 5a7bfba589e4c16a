// Updates whose numbers are not finite. Such an update changes nothing; a learner that makes no
// others has diverged.
#ifndef WK_TRAIN_FAULTS_H
#define WK_TRAIN_FAULTS_H

#include <stdbool.h>

enum { WK_FAULTS_IN_A_ROW = 100 };

/// Of the updates so far. Zero-initialise.
typedef struct wk_faults {
    const char *metric; // that was not finite last, or NULL
    int in_a_row;       // updates with such a metric, up to the last one
    // Since wk_faults_clear: the first one in a row, and number WK_FAULTS_IN_A_ROW of them.
    bool first, many;
} wk_faults;

static inline void wk_faults_clear(wk_faults *faults)
{
    faults->first = faults->many = false;
}

/// Counts an update; `metric` is one that is not finite, NULL when all are.
static inline void wk_faults_add(wk_faults *faults, const char *metric)
{
    faults->in_a_row = metric ? faults->in_a_row + 1 : 0;
    if (metric) faults->metric = metric;
    faults->first |= faults->in_a_row == 1;
    faults->many |= faults->in_a_row == WK_FAULTS_IN_A_ROW;
}

#endif
