// Rewards after the fact (waker/relabel.h): simulates the episodes in a run's replay once more,
// physics alone, and keeps the numbers of a reward as a task of the run (run/setup/reward_file.h).
//
// An episode is a function of (θ, seed, its number, actions), so nothing but the reward is new; the
// stored rewards and completions of the domain's own tasks are compared bit for bit, and the first
// difference is an error. Nothing of the run is changed but that one file, at the end and at once:
// a process that is killed leaves the run as it was. The run's lock is held meanwhile.
#ifndef WK_RUN_RELABEL_H
#define WK_RUN_RELABEL_H

#include "base/log.h"
#include "log/status_line.h"
#include "waker/relabel.h"

/// As wk_relabel_run. `log` and `progress`, which counts episodes, may be NULL: silent.
wk_status wk_relabel(const wk_relabel_config *config, const wk_log *log, wk_progress_line *progress,
                     wk_relabel_result *out, wk_error *err);

#endif
