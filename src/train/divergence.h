// Episodes that nothing is learned from: those that diverge (the simulation broke down, or a reward
// was no finite number) and those that end before a sequence is full. They are counted; a run in
// which all episodes are such stops with advice.
#ifndef WK_TRAIN_DIVERGENCE_H
#define WK_TRAIN_DIVERGENCE_H

#include "base/log.h"
#include "env/plugins/plugin_python.h"
#include "train/trainer.h"

/// Zero-initialise, one for each run.
typedef struct wk_divergence {
    int diverged_in_a_row, empty_in_a_row, short_in_a_row; // episodes
    int longest;                                           // rows of those too short
    bool warned, warned_short;
    char why[WK_PYTHON_WHY_MAX]; // the last failure of an environment, where its plug-in knows it
} wk_divergence;

/// Looks at the episodes that ended in an iteration: warns at the first that diverged and at the
/// first that is shorter than a sequence, and fails when so many in a row diverged, were too short,
/// or ended without a step, that all will.
wk_status wk_divergence_check(wk_divergence *divergence, const wk_run_config *config,
                              const wk_iteration *done, const wk_log *log, wk_error *err);

/// Fails when every episode of a finished run diverged, or when none was long enough to learn from.
wk_status wk_divergence_finish(const wk_divergence *divergence, const wk_run_config *config,
                               const wk_progress *now, wk_error *err);

#endif
