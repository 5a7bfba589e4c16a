// The internals of a trainer, shared by the loop and the placement of frames. Not for use outside
// src/train.
#ifndef WK_TRAIN_TRAINER_PARTS_H
#define WK_TRAIN_TRAINER_PARTS_H

#include "agent/acting.h"
#include "base/arena.h"
#include "run/device.h"
#include "run/save_resume.h"
#include "run/world.h"
#include "train/samples.h"
#include "train/trainer.h"

struct wk_trainer {
    wk_run_config config;
    wk_dir *directory;
    const wk_run_plugins *code; // of its plug-ins; NULL: everything is built in
    wk_run_world world;
    const wk_domain *domain; // the one of `world`
    wk_space *space;
    wk_curriculum *curriculum;
    wk_vec *vec;
    wk_pool *pool;
    wk_backend *backend;
    wk_device device; // what the backend is, and why
    wk_learner *learner;
    wk_acting *acting;  // NULL when actions are random
    void *acting_state; // buffer for its recurrent states, for checkpoints
    wk_replay *replay;
    wk_replay_log *replay_log;
    wk_device_frames *device_frames; // its frames on the device; NULL: batches come from the host
    char frame_placement[400];       // where they are and why, as a message
    bool device_full;                // the device ran out of memory for them
    int count;                       // environments
    wk_arena arena;                  // of the arrays below

    wk_trainer_counters counters;
    wk_running_episode *running; // [count]
    float *actions;              // [count,A] that led to the current images
    uint8_t *images;             // [count,64,64,3] current
    uint8_t *first;              // [count] the current image begins an episode
    wk_replay_row *rows;         // [count] to be appended to the replay
    wk_run_schedule schedule;    // of the caller
    wk_checkpoints checkpoints;

    wk_samples samples[2]; // double buffer: batch of the update in flight, and the next
    int next_slot;         // slot of the next batch
    bool staged;           // it is filled and on the device
    bool open;             // an update is in flight
    float *delta;          // error estimates of a batch, and the θ they are about
    size_t *delta_space;

    int tasks[WK_TASKS_MAX]; // domain's task number of each learner task
    wk_iteration iteration;
    wk_episode_end *ended;
    wk_time_split times;
    wk_watchdog *watchdog; // the caller's; NULL: none
};

/// Decides by config.replay_resident and the device's memory whether the replay's frames go to the
/// device. WK_E_MEMORY where they must and do not fit.
wk_status wk_trainer_choose_frame_placement(wk_trainer *trainer, bool *upload, wk_error *err);
/// Copies them to the device and keeps them there; if memory runs out after all they stay on the
/// host, unless the device is required.
wk_status wk_trainer_upload_frames(wk_trainer *trainer, wk_error *err);
/// Falls back to frames from the host when the device is full.
void wk_trainer_check_device_frames(wk_trainer *trainer);

#endif
