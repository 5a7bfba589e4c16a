// How long an update takes on this machine, measured before a run begins: the prefill makes none,
// and people want to know before it is over.
#ifndef WK_TRAIN_UPDATE_TIME_H
#define WK_TRAIN_UPDATE_TIME_H

#include "run/code.h"

typedef struct wk_update_time {
    double seconds;
    bool overlaps;                         // environments step while an update runs
    uint64_t weights_bytes, learner_bytes; // with the optimiser; with all temporaries
} wk_update_time;

/// Makes the learner of the run, updates it with noise for about a second (once, where one takes
/// longer) and lets it go. Nothing of the run is touched.
wk_status wk_update_time_measure(const wk_run_config *config, const wk_run_plugins *code,
                                 wk_update_time *out, wk_error *err);

#endif
