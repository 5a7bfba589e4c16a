// A long run: the loop that train, adapt and finetune share. A run works in a directory of its own,
// whose lock it holds, one iteration after the other until all is done, a stop is requested or its
// time is over. A wk_long_run_job says what one iteration is, what it logs, what a checkpoint saves
// and what is made at the end; everything around that is here:
//
//   wk_long_run_open      takes the directory and its lock; the job resumes its state then
//   wk_long_run_start     starts the clocks
//   wk_long_run_metrics   opens metrics.jsonl and the event files, cut to where the checkpoint ends
//   wk_long_run_loop        begin  (what is overdue)
//                         until all is done, stopped or out of time:
//                             check the lock, step, measure the speed, record, status line,
//                             save, if a checkpoint is due by steps or time
//                         end    (the last checkpoint, and the results when all is done)
//   wk_long_run_close
//
// The loop takes several runs: one step moves all of them, then each does the rest of its iteration
// by itself. A run that fails or ends leaves the others as they are.
#ifndef WK_TRAIN_LONG_RUN_H
#define WK_TRAIN_LONG_RUN_H

#include "base/log.h"
#include "config/config.h"
#include "log/metrics.h"
#include "log/run_table.h"
#include "log/speed.h"
#include "log/status_line.h"
#include "run/disk.h"
#include "train/trainer.h"
#include "waker/train.h"

/// Called with the progress after every iteration; NULL: no call.
typedef struct wk_progress_sink {
    void (*show)(void *context, const wk_status_values *now);
    void *context;
} wk_progress_sink;

/// Controls of the caller. All zero runs silently to the end.
typedef struct wk_run_control {
    const volatile sig_atomic_t *stop; // nonzero: finish the iteration, save, return; NULL: never
    double lock_wait;     // seconds to wait for another process that is ending in the directory
    wk_log log;           // messages
    wk_status_line *line; // shows progress; NULL: none
    wk_run_table *table;  // shows the progress of runs together; NULL: none
    wk_progress_sink progress;
} wk_run_control;

/// How far a run is, in its unit.
typedef struct wk_run_position {
    uint64_t steps, updates;
    bool prefilling;
} wk_run_position;

/// What is particular to a kind of run.
typedef struct wk_long_run_job {
    wk_run_position (*position)(const void *context);
    wk_status (*begin)(void *context, wk_error *err);  // NULL: nothing
    wk_status (*step)(void *context, wk_error *err);   // one iteration
    wk_status (*record)(void *context, wk_error *err); // logs what it did
    wk_status (*save)(void *context, wk_error *err);   // a checkpoint, by way of wk_long_run_save
    wk_status (*end)(void *context, wk_run_end *end, wk_error *err);
    void (*show)(const void *context, wk_run_row *row); // adds to the status line and the table
} wk_long_run_job;

/// Set the fields before the blank line; zero-initialise the rest. Close it also after a failed
/// open.
typedef struct wk_long_run {
    const wk_run_control *control;
    const wk_long_run_job *job;
    void *context;               // of the job
    const wk_run_config *config; // log.tensorboard, log.timing, checkpoint.every_minutes
    const char *unit;            // "step", "update"
    int64_t total, prefill;      // in units
    int64_t save_every;          // units between checkpoints; 0: by time alone
    double minutes;              // to run at most; 0: no limit
    const char *name;            // among runs that go together

    const char *path;
    wk_dir *dir; // what the path led to when the run began
    bool is_new; // this run has made it
    bool part;   // it is a folder of another run
    wk_lock lock;
    wk_metrics *metrics;
    wk_metrics_mark *mark; // where they end, for the checkpoint
    wk_speed speed;
    double began;
    double saving_seconds, logging_seconds;
    int64_t next_save;
    double next_save_time;
    // It has ended, or failed alone with `status`; the others go on without it.
    bool over;
    wk_run_end end;
    wk_status status;
    wk_error error;
} wk_long_run;

/// Makes the directory where there is none, opens it and takes its lock. The way to it may lead
/// through links; where it is a folder of the run `within` (else NULL), not below that.
wk_status wk_long_run_open(wk_long_run *run, const char *within, const char *path, wk_error *err);

/// Opens the metrics, cut to `mark`, which every checkpoint brings up to date.
wk_status wk_long_run_metrics(wk_long_run *run, wk_metrics_mark *mark, int action_repeat,
                              wk_error *err);

/// Starts the clocks: the time limit, the speed, the first checkpoint within a minute.
void wk_long_run_start(wk_long_run *run);

/// Runs all until each is over; those that are over already are left alone. `step` (NULL: none)
/// makes one iteration of the others, before each job's own step; its failure, which is the status,
/// ends all of them.
wk_status wk_long_run_loop(wk_long_run *const *runs, int count,
                           wk_status (*step)(void *context, wk_error *err), void *context,
                           wk_error *err);

void wk_long_run_close(wk_long_run *run);

/// Saves a checkpoint now; for the job's end.
wk_status wk_long_run_save(wk_long_run *run, wk_error *err);

/// Looks at the updates since the last call and warns of the first whose numbers are not finite;
/// `skipped` ends that sentence ("the step is skipped"). WK_E_DIVERGED, with `advice` at the end of
/// the message, when there were too many in a row.
wk_status wk_long_run_check_updates(const wk_long_run *run, const wk_nonfinite_updates *updates,
                                    const char *skipped, const char *advice, wk_error *err);

/// The first multiple of `every` beyond `steps`; INT64_MAX when every is 0.
int64_t wk_next_multiple(uint64_t steps, int64_t every);

#endif
