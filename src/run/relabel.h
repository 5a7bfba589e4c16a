// Rewards after the fact: simulates the episodes in a run's replay once more, physics alone, with a
// user's reward (waker/reward.h), and keeps its numbers as a task of the run (run/reward_file.h).
//
// An episode is a function of (θ, seed, its number, actions), so nothing but the reward is new; the
// stored rewards and completions of the domain's own tasks are compared bit for bit, and the first
// difference is an error. Nothing of the run is changed but that one file, at the end and at once:
// a process that is killed leaves the run as it was. The run's lock is held meanwhile.
#ifndef WK_RUN_RELABEL_H
#define WK_RUN_RELABEL_H

#include "base/log.h"
#include "log/progress.h"
#include "run/plugins.h"

typedef struct wk_relabel_config {
    const char *directory; // of the run
    const char *reward;    // the plug-in's file, as the caller names it
    const char *plugin;    // that of the run's domain; NULL: as wk_run_plugins_open_saved says
    bool restart;          // replace a reward of that name that other code has made
    int threads;           // 0: one per core
    const wk_log *log;
    wk_progress_line *progress; // counts episodes; NULL: silent
} wk_relabel_config;

/// What was done.
typedef struct wk_relabel_result {
    char name[64];             // of the task
    uint64_t episodes, rows;   // that the task has now
    uint64_t simulated, steps; // of them, episodes simulated by this call; and agent steps
    double seconds;            // simulating took
    double mean_return;        // of the task, over the finished episodes
    int threads;
} wk_relabel_result;

/// Adds the task, or brings it up to date with the replay; what is there already is left as it is.
wk_status wk_relabel(const wk_relabel_config *config, wk_relabel_result *out, wk_error *err);

#endif
