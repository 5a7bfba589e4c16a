// Adaptation: reward heads and task policies from a snapshot of a run without rewards, trained in
// imagination on the episodes the run had collected by then. No environment is stepped, and the
// world model is frozen. RUN/adapt/step-000000500000, or step-000000500000.NAME, holds it:
//
//   adapt.yaml               its settings
//   weights.safetensors      the snapshot's world model with the policies, once finished
//   checkpoint.safetensors   state to resume from
//   metrics.jsonl, events*   its metrics
//   lock                     held while a process adapts here
//
// The same call continues what was interrupted, to the same bytes. The run's own files are
// read-only here: it may be training meanwhile.
#ifndef WK_TRAIN_ADAPT_H
#define WK_TRAIN_ADAPT_H

#include "train/train.h"

/// What to adapt and how.
typedef struct wk_adapt_config {
    const char *directory; // of the run
    int64_t
        snapshot; // its step, WK_STEP_LAST, or WK_STEP_ALL: one after the other, the oldest first
    const char *name;     // one of several of a snapshot; NULL: that without a name
    const char *tasks;    // "all", or names with commas between
    int64_t updates;      // 0: as before; at first, one for each train_every agent steps that had
                          // been collected by then
    const uint64_t *seed; // NULL: the run's
    bool all_data;        // everything the run has now, not only what it had at the snapshot
    bool restart;         // discard existing results
    const char *device;   // NULL: as the run was configured
    int threads;          // 0: as the run was configured
} wk_adapt_config;

/// Adapts, from the beginning or where it was interrupted.
wk_status wk_adapt(const wk_adapt_config *config, const wk_run_control *control, wk_run_end *end,
                   wk_error *err);

#endif
