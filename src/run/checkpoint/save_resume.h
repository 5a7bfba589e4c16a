// Saving a run and resuming it, for the process that trains there: a checkpoint is written from the
// parts of the run, and resuming fills them again. Reading those of any run is in
// run/checkpoint/checkpoint.h.
//
// Resuming deletes nothing: a checkpoint that cannot be resumed, because it or the replay log is
// damaged, is renamed damaged-step-*, and what the log has beyond the checkpoint that is used is
// kept under another name. A damaged checkpoint is distinguished from one that cannot be read at
// the moment: the latter stops the run and changes nothing.
//
// A run that has no checkpoint yet has the file checkpoints/none-yet. Only there may metrics and
// replay be begun anew; without it they belong to checkpoints that are missing.
#ifndef WK_RUN_CHECKPOINT_SAVE_RESUME_H
#define WK_RUN_CHECKPOINT_SAVE_RESUME_H

#include "agent/acting.h"
#include "config/config.h"
#include "run/checkpoint/run_file.h"

/// Everything a run continues from, by the file that holds it. All belong to the caller.
typedef struct wk_checkpoint_parts {
    const wk_run_config *config; // its hash is in run.bin
    wk_run_state state;          // run.bin: counters, episodes, logs, curriculum, environments
    wk_acting *acting;           // run.bin: recurrent states, by way of state.acting; NULL: none
    wk_learner *learner;         // learner.safetensors: weights, optimisers and their counters
    wk_replay **replay;          // its mark is in run.bin; made here, from replay/
    wk_replay_log **replay_log;  // opened here
    wk_pool *pool;               // of the replay; borrowed
    const wk_space *space;       // that the replay's episodes have their θ from
} wk_checkpoint_parts;

/// Zero-initialise; close it also after a failed open.
typedef struct wk_checkpoints {
    const wk_dir *run; // borrowed
    wk_dir *dir;       // run/checkpoints
    wk_checkpoint_parts parts;
    int64_t resumed_from;  // step of the checkpoint that was resumed, or -1 for a new run
    uint64_t engine;       // MuJoCo's version in that checkpoint, 0 without
    char trouble[1024];    // why a newer one was not usable; "" when it was
    wk_run_schedule saved; // as the newest checkpoint has it
} wk_checkpoints;

/// Resumes from the newest checkpoint that is undamaged, its replay data included; in a directory
/// where a run may begin it makes an empty replay with its log and leaves the other parts alone.
/// Nothing is cut or deleted before the checkpoint is loaded.
wk_status wk_checkpoints_open(const wk_dir *run, const wk_checkpoint_parts *parts,
                              wk_checkpoints *out, wk_error *err);

/// Writes a checkpoint of the parts as they are now, durably, and removes those beyond
/// config.checkpoint_keep. One of the same step is brought up to date if more was logged since.
wk_status wk_checkpoints_save(wk_checkpoints *checkpoints, wk_error *err);

void wk_checkpoints_close(wk_checkpoints *checkpoints);

/// Removes what opening made in the directory of a run that did not begin after all.
void wk_checkpoints_retract(const wk_dir *run);

#endif
