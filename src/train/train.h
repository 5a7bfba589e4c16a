// A training run: the loop with configuration, logs, checkpoints, snapshots and evaluation. One
// directory holds it:
//
//   config.yaml            its configuration, merged
//   plugin.json            its plug-ins: files, hashes and what they describe; where it has any
//   metrics.jsonl, events* its metrics
//   checkpoints/, replay/  state to resume from
//   snapshots/             weights along the way, for later evaluation
//   lock                   held while a process trains here
//
// The directory may be reached through a link, or moved while the run goes on: it is written to
// where it was when the lock was taken. What lies in it may be no link (docs/reliability.md).
//
// Starting again with the same directory continues where the newest checkpoint left off; the
// results are the same bytes as of a run that was never interrupted.
#ifndef WK_TRAIN_TRAIN_H
#define WK_TRAIN_TRAIN_H

#include "train/long_run.h"

/// What a run may have besides its configuration; all zero: nothing.
typedef struct wk_train_extras {
    const wk_run_plugins *code; // plug-ins the configuration names
    const char *within; // the run that the directory is a folder of: RUN in RUN/finetune/NAME
    // Called before the first step of a new run, and when all steps are done.
    wk_status (*prepare)(void *context, wk_trainer *trainer, wk_error *err);
    wk_status (*finish)(void *context, wk_trainer *trainer, wk_error *err);
    // Whether what `finish` makes of these steps is there already; set with it.
    wk_status (*is_finished)(void *context, wk_trainer *trainer, bool *out, wk_error *err);
    void *context; // of the three
} wk_train_extras;

/// Trains in `directory`, from the beginning or from its newest checkpoint. `extras` may be NULL. A
/// run that has done all it was to do is left as it is.
wk_status wk_train(const wk_run_config *config, const char *directory,
                   const wk_train_extras *extras, const wk_run_control *control, wk_run_end *end,
                   wk_error *err);

/// One run of a population, and how it ended.
typedef struct wk_train_member {
    const wk_run_config *config;
    const char *directory;
    const char *name;              // in the table and in messages: "waker-m-seed3"
    const wk_train_extras *extras; // may be NULL
    wk_run_end end;                // where the status is WK_OK
    wk_status status;              // of this run alone: the others go on when it fails
    wk_error error;
} wk_train_member;

/// Trains runs of one domain together, each in its own directory and to the same results as by
/// wk_train. Runs that are finished stay as they are. The status is that of what stops all of them,
/// and of what keeps one from beginning: then none begins.
wk_status wk_train_population(wk_train_member *members, int count, const wk_run_control *control,
                              wk_error *err);

#endif
