// How far a run is, read from its directory alone: the configuration, the lock, the last lines of
// metrics.jsonl, and when those and the checkpoints were written. Nothing is written and little is
// read, so that a thousand runs, also on a file system of several machines, can be looked at often.
#ifndef WK_RUN_RUN_PROGRESS_H
#define WK_RUN_RUN_PROGRESS_H

#include "base/dir.h"

typedef enum wk_run_phase {
    WK_RUN_PHASE_STOPPED, // begun, and no process trains there
    WK_RUN_PHASE_RUNNING,
    WK_RUN_PHASE_DONE,
} wk_run_phase;

/// A moment of a run: how far it was, and when, in seconds since 1970 by the file system's clock.
typedef struct wk_run_moment {
    uint64_t steps;
    double time; // 0: not known
} wk_run_moment;

typedef struct wk_run_progress {
    wk_run_phase phase;
    uint64_t total, prefill; // agent steps
    int train_every;
    wk_run_moment now; // the last line of the log, or the newest checkpoint
    // The newest checkpoint and the one before it. If an earlier process wrote the newest, its time
    // is when this process resumed.
    wk_run_moment saved, older;
    double model_loss, mean_error; // of the last lines; NaN: not in them
} wk_run_progress;

/// Reads it. A run whose configuration cannot be read is an error.
wk_status wk_run_progress_read(const char *directory, wk_run_progress *out, wk_error *err);

/// As wk_run_progress_read, of an open directory, for callers that know its configuration: `out`
/// has total and prefill.
wk_status wk_run_progress_read_in(const wk_dir *run, wk_run_progress *out, wk_error *err);

/// Agent steps a second between two moments; NaN where that is not known, or the first of them lies
/// in the prefill, which is faster than learning.
double wk_run_rate(const wk_run_progress *progress, const wk_run_moment *before,
                   const wk_run_moment *after);
/// As wk_run_rate, by the files alone: the log since the newest checkpoint, or the two newest
/// checkpoints.
double wk_run_rate_by_files(const wk_run_progress *progress);
/// Seconds left at that rate; NaN where nothing is left.
double wk_run_seconds_left(const wk_run_progress *progress, double rate);

#endif
