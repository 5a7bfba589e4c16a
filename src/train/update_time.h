// How long an update takes on this machine, measured without a run: the cost of a sweep.
#ifndef WK_TRAIN_UPDATE_TIME_H
#define WK_TRAIN_UPDATE_TIME_H

#include "run/code.h"

typedef struct wk_update_time {
    double seconds;
    uint64_t learner_bytes; // weights with the optimiser, and all temporaries
} wk_update_time;

/// Makes the learner of a run, updates it with noise for about a second (once, where one takes
/// longer) and lets it go.
wk_status wk_update_time_measure(const wk_run_config *config, const wk_run_plugins *code,
                                 wk_update_time *out, wk_error *err);

#endif
