// Sweeps on Slurm: a job array for the tasks of each shape, and after them a job that makes the
// report. What a job does is decided here too, by wk_slurm_task_begin and wk_slurm_task_end, which
// the batch script of every array task calls around its run: the exit code 75 puts exactly that
// array task back into the queue, a failure does so while the task has attempts left, and a node
// that failed twice is excluded.
//
// DIRECTORY/sweep/slurm holds what a sweep remembers of its submissions:
//
//   id              names the jobs of this sweep: waker-ID-N, and waker-ID-N-report
//   options         the options of its jobs (wk_slurm_options)
//   N.tasks         names of the tasks of submission N: line K is array task K
//   N.sbatch        its script
//   logs/           output of the jobs: N-K.log
//   cancelled       no job begins or goes on ('waker sweep cancel')
//   on.TASK         the node on which a process works, or died, on the task
//   failed.NODE.*   one for each failure on a node since a run ended well there: ok.NODE
//
// Which tasks are queued is asked of squeue by the names of the jobs, so nothing is lost or
// submitted twice when the process that submits dies between two calls. Whether a task is done is
// read from its run (state.h); every job may start twice, late or not at all.
#ifndef WK_SWEEP_SLURM_H
#define WK_SWEEP_SLURM_H

#include "base/log.h"
#include "base/text.h"
#include "sweep/launcher.h"

enum {
    WK_SLURM_LINES_MAX = 32,
    WK_SLURM_TASK_MAX = 1000,     // tasks of an array; Slurm's own default limit is 1001
    WK_SLURM_NODE_FAILURES = 2,   // after which a node is excluded
    WK_SLURM_ROUNDS = 20,         // times that the last job submits again what was lost
    WK_SLURM_RESTARTS = 100,      // of an array task
    WK_SLURM_SIGNAL_SECONDS = 120 // between the signal and the time limit
};

/// Options of the jobs; zeros are the defaults, NULL leaves the choice to the cluster.
typedef struct wk_slurm_options {
    const char *partition, *time, *account, *mail, *memory;
    int gpus;                              // of each task
    int cpus;                              // of each task; 0: the cluster's default
    int parallel;                          // tasks of an array that run at a time; 0: no limit
    int restarts;                          // of an array task; 0: WK_SLURM_RESTARTS
    int signal_seconds;                    // 0: WK_SLURM_SIGNAL_SECONDS
    const char *lines[WK_SLURM_LINES_MAX]; // more options of sbatch: "--constraint=a100"
    int n_lines;
} wk_slurm_options;

/// What the code here needs of the system outside, so that a simulation can take its place. Files
/// are those of DIRECTORY/sweep/slurm.
typedef struct wk_slurm_system {
    void *context;
    /// Runs sbatch, squeue, scontrol or scancel: words[0], the last word is followed by NULL.
    /// `output` gets what it printed, errors included; `code` its exit code.
    wk_status (*call)(void *context, const char *const *words, wk_text *output, int *code,
                      wk_error *err);
    wk_status (*read)(void *context, const char *name, wk_text *out, wk_error *err);
    wk_status (*write)(void *context, const char *name, const char *text, wk_error *err);
    wk_status (*remove)(void *context, const char *name, wk_error *err);
    wk_status (*list)(void *context, wk_names *out, wk_error *err);
    /// What a task's directories say.
    wk_status (*phase)(void *context, int task, wk_sweep_task_phase *out, wk_error *err);
    const char *program;   // absolute path of waker
    const char *directory; // absolute path of the sweep
    const wk_sweep_plan *plan;
    wk_log log;
} wk_slurm_system;

/// What is in Slurm's queue of this sweep.
typedef struct wk_slurm_job {
    uint64_t job;   // id, of the array where it is one
    int submission; // N
    int index;      // of the array task; -1: the job of the report
    int task;       // of the plan; -1: none
    bool pending;
} wk_slurm_job;
typedef WK_ARRAY(wk_slurm_job) wk_slurm_jobs;

/// Adds the jobs in the queue; free them with wk_array_free also after a failure.
wk_status wk_slurm_queue(const wk_slurm_system *system, wk_slurm_jobs *out, wk_error *err);

/// Submits every task that is neither done, failed, queued nor worked on, and a job for the report
/// after all that is queued. Options are remembered; NULL takes those of the submission before, or
/// the defaults.
/// `round` counts submissions by wk_slurm_finish, from 0. Calling it again submits nothing twice.
wk_status wk_slurm_submit(const wk_slurm_system *system, const wk_slurm_options *options, int round,
                          int *submitted, wk_error *err);

/// Takes what is pending out of the queue and asks what runs to save and stop.
wk_status wk_slurm_cancel(const wk_slurm_system *system, wk_error *err);

/// What the last job does: true in `report` when no task can get any further, so that the report
/// is to be made. Else what was lost is submitted again, or another last job for later.
wk_status wk_slurm_finish(const wk_slurm_system *system, int round, bool *report, wk_error *err);

/// The array task that a batch script runs as: SLURM_ARRAY_JOB_ID and so on.
typedef struct wk_slurm_self {
    uint64_t array_job;
    int submission, index, restarts;
    const char *node;
} wk_slurm_self;

/// What the script does next.
typedef struct wk_slurm_step {
    bool run; // `task`, and call wk_slurm_task_end; else exit with `code`
    int task;
    int code;
} wk_slurm_step;

wk_status wk_slurm_task_begin(const wk_slurm_system *system, const wk_slurm_self *self,
                              wk_slurm_step *step, wk_error *err);
/// The job received a stop signal: that its process ends now is no failure of the node.
wk_status wk_slurm_task_stopping(const wk_slurm_system *system, int task, wk_error *err);
/// `code` is that of `waker sweep run`.
wk_status wk_slurm_task_end(const wk_slurm_system *system, const wk_slurm_self *self, int task,
                            int code, wk_slurm_step *step, wk_error *err);

/// One GPU for each task, all else left to the cluster.
wk_slurm_options wk_slurm_options_default(void);
/// Checks the options; text that would make a line of its own in a script is refused.
wk_status wk_slurm_options_check(const wk_slurm_options *options, wk_error *err);

#endif
