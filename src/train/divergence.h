// Episodes that diverge: the simulation broke down, or a reward was no finite number. Some do and
// are counted; a run in which all do, or in which no episode ever takes a step, collects nothing.
#ifndef WK_TRAIN_DIVERGENCE_H
#define WK_TRAIN_DIVERGENCE_H

#include "base/log.h"
#include "train/trainer.h"

/// Zero-initialise, one for each run.
typedef struct wk_divergence {
    int diverged_in_a_row, empty_in_a_row; // episodes
    bool warned;
} wk_divergence;

/// Looks at the episodes that ended in an iteration: warns at the first that diverged, and fails
/// with WK_E_DIVERGED when so many in a row diverged, or ended without a step, that all will.
wk_status wk_divergence_watch(wk_divergence *watch, int environments, const wk_iteration *done,
                              const wk_log *log, wk_error *err);

/// WK_E_DIVERGED when every episode of a finished run diverged.
wk_status wk_divergence_finish(const wk_progress *now, wk_error *err);

#endif
