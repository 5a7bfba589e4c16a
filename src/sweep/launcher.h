// How the tasks of a sweep are started: a vtable with an entry for each --launch. All of them start
// `waker sweep run DIRECTORY NAME...`, which trains and does what follows, holds the task's lock,
// and ends with the exit codes of every command; 75 means: start me again.
#ifndef WK_SWEEP_LAUNCHER_H
#define WK_SWEEP_LAUNCHER_H

#include "base/log.h"
#include "sweep/state.h"
#include <signal.h>

/// Options of the launchers, as the command line gives them; all zero: the defaults.
typedef struct wk_sweep_launch_options {
    int jobs;        // processes at a time; 0: as many as the machine takes
    int per_gpu;     // of them on each GPU; 0: one
    int populations; // runs that are trained in one process at most; 0: one
    int attempts;    // in a row without progress; 0: WK_SWEEP_ATTEMPTS
    int threads;     // of each process; 0: the cores shared out
    bool quiet;
    const struct wk_slurm_options *slurm; // NULL: those of the submission before
} wk_sweep_launch_options;

/// A sweep that is to be started. The sweep's lock is held.
typedef struct wk_sweep_launch {
    const struct wk_sweep_folder *folder; // with the lock
    const char *program;                  // path of the program itself
    const char *directory;                // of the sweep
    const wk_sweep_plan *plan;
    const wk_sweep_launch_options *options;
    const volatile sig_atomic_t *stop; // a signal asked to save and stop; NULL: never
    wk_log log;
    wk_text *output; // gets what is for standard output
    double memory;   // bytes that a process of one run takes, an estimate; 0: not known
} wk_sweep_launch;

/// How it ended.
typedef enum wk_sweep_end {
    WK_SWEEP_FINISHED,  // all tasks and the report are done
    WK_SWEEP_SUBMITTED, // others do the rest: a queue, or who reads what was printed
    WK_SWEEP_SAVED,     // stopped early; the same command continues
    WK_SWEEP_FAILURES,  // some tasks failed, all others are done
    WK_SWEEP_FINDINGS,  // all is done, but the report had to leave something out
} wk_sweep_end;

typedef struct wk_sweep_launcher {
    const char *name; // of --launch
    /// Starts what is not done; returns when all is done, or handed over.
    wk_status (*start)(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err);
    /// Asks the tasks of a sweep that is running to save and stop. Of `launch` program, directory,
    /// plan and log are set; the sweep's lock is not held. NULL: there is nothing to stop.
    wk_status (*cancel)(const wk_sweep_launch *launch, wk_error *err);
    /// Whether a task that no process works on is in the launcher's queue. NULL: there is none.
    wk_status (*queued)(const char *directory, const wk_sweep_plan *plan, bool *out, wk_error *err);
} wk_sweep_launcher;

extern const wk_sweep_launcher wk_sweep_local, wk_sweep_slurm, wk_sweep_print;

#endif
