// The internals of a trainer, shared by trainer.c (creation, checkpoints), iteration.c and
// frames.c. Not for use outside src/train.
//
// Trainers of a population share threads and the device. Those whose learners and policies are
// alike form a subpopulation, whose learners are updated as one and whose policies act as one.
#ifndef WK_TRAIN_TRAINER_PARTS_H
#define WK_TRAIN_TRAINER_PARTS_H

#include "agent/acting.h"
#include "base/memory.h"
#include "run/checkpoint.h"
#include "run/world.h"
#include "train/evaluation.h"
#include "train/frames.h"
#include "train/trainer.h"

/// Trainers of a population that are updated together. A member that has no batch in an update is
/// idle in it.
typedef struct wk_subpopulation {
    wk_trainer *members[WK_POPULATION_MAX];
    int count;
    wk_learner *leader;
    wk_acting *acting; // of the leader; NULL when actions are random
    int next_slot;     // of the next batches, in wk_trainer.batch_buffers
    bool staged;       // they are filled and on the device, for the members that say so
    bool in_flight;    // an update is
    wk_learner_metrics metrics[WK_POPULATION_MAX];
    float *delta; // [count,T,B] of the update that finished
} wk_subpopulation;

/// What the trainers of a population have in common.
typedef struct wk_trainer_population {
    wk_trainer *members[WK_POPULATION_MAX];
    wk_backend *backends[WK_POPULATION_MAX]; // those of a subpopulation are adjacent
    wk_pool *pool;
    wk_device device; // what the backends are, and why
    int count, n_subpopulations;
    wk_subpopulation *subpopulations[WK_POPULATION_MAX]; // each of its first member's arena
} wk_trainer_population;

struct wk_trainer {
    wk_trainer_population *population;
    wk_subpopulation *subpopulation;
    bool stopped;       // takes no part in iterations any more
    bool resets_failed; // in this iteration, which was completed nevertheless
    wk_run_config config;
    wk_dir *directory;
    const wk_run_plugins *code; // of its plug-ins; NULL: everything is built in
    wk_run_world world;
    const wk_domain *domain; // the one of `world`
    wk_space *space;
    wk_curriculum *curriculum;
    wk_vec *vec;
    wk_backend *backend;
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
    uint8_t *images;             // [count,64,64,3] current, or nothing without images
    float *vectors;              // [count,V] current
    uint8_t *first;              // [count] the current image begins an episode
    wk_replay_row *rows;         // [count] to be appended to the replay
    wk_run_schedule schedule;    // of the caller
    wk_checkpoints checkpoints;

    wk_batch_buffer batch_buffers[2]; // double buffer: batch of the update in flight, and the next
    bool staged;                      // it has a batch in what its subpopulation has staged
    bool updating;                    // and in the update in flight
    uint64_t updates_due;             // in this iteration
    wk_episode_error episode_error;   // where the curriculum needs it
    float *delta;                     // error estimates of a batch, and the θ they are about
    size_t *delta_theta_index;
    double *delta_theta; // [rows, n_params]

    int tasks[WK_TASKS_MAX]; // domain's task number of each learner task
    wk_iteration iteration;
    wk_status status; // of the iteration: what stopped this run alone
    wk_error error;
    wk_episode_end *ended;
    wk_time_split times;
};

/// Whether it only collects so far.
static inline bool wk_trainer_is_prefilling(const wk_trainer *t)
{
    return t->counters.steps < (uint64_t)t->config.prefill;
}

/// Decides by config.replay_resident and the device's memory whether the replay's frames go to the
/// device. WK_E_MEMORY where they must and do not fit.
wk_status wk_trainer_choose_frame_placement(wk_trainer *trainer, bool *upload, wk_error *err);
/// Copies them to the device and keeps them there; if memory runs out after all they stay on the
/// host, unless the device is required.
wk_status wk_trainer_upload_frames(wk_trainer *trainer, wk_error *err);
/// Falls back to frames from the host when the device is full.
void wk_trainer_check_device_frames(wk_trainer *trainer);

#endif
