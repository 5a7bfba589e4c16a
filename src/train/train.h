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

#include "base/log.h"
#include "config/config.h"
#include "log/status_line.h"
#include "train/trainer.h"
#include <signal.h>

/// Callbacks and controls of the caller. All zero runs silently to the end.
typedef struct wk_run_control {
    // Called before the first step of a new run, and when all steps are done; NULL: nothing more.
    wk_status (*prepare)(void *context, wk_trainer *trainer, wk_error *err);
    wk_status (*finish)(void *context, wk_trainer *trainer, wk_error *err);
    void *context;                     // of the two
    const volatile sig_atomic_t *stop; // nonzero: finish the iteration, save, return; NULL: never
    wk_log log;                        // messages
    wk_status_line *line;              // shows progress; NULL: none
    const wk_run_plugins *code;        // plug-ins the configuration names; NULL: it names none
} wk_run_control;

/// Why a run ended.
typedef enum wk_run_end {
    WK_RUN_FINISHED,    // all steps are done
    WK_RUN_INTERRUPTED, // *stop was set; saved, can go on
    WK_RUN_OUT_OF_TIME, // config.minutes are over; saved, can go on
} wk_run_end;

/// Trains in `directory`, from the beginning or from its newest checkpoint.
wk_status wk_train(const wk_run_config *config, const char *directory,
                   const wk_run_control *control, wk_run_end *end, wk_error *err);

#endif
