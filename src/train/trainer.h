// The training loop: the paper's Algorithm 1 as an object that is stepped.
//
// One iteration steps every environment once while the learner updates on what was collected
// before; the acting policy is the one from before the update. Order and results do not depend on
// threads or timing. A trainer can be saved between any two iterations, and one that was restored
// continues to the same bytes.
//
// Trainers of a population, runs of one domain, are stepped together: their environments are one
// job of one pool. Those whose learners and policies are alike (wk_learner_config_is_alike) form a
// subpopulation, whose learners are updated as one and whose policies act as one. On the CPU each
// run comes to the same bytes as it would alone (docs/learner.md says what a GPU promises). One
// that fails stops alone. A run by itself is a population of one.
#ifndef WK_TRAIN_TRAINER_H
#define WK_TRAIN_TRAINER_H

#include "agent/acting.h"
#include "base/memory.h"
#include "run/checkpoint.h"
#include "run/code.h"
#include "run/world.h"
#include "train/evaluation.h"
#include "train/frames.h"

typedef struct wk_trainer wk_trainer;

enum { WK_NONFINITE_MAX = 100 }; // in a row

/// Updates whose metrics are not finite: in such an update the networks concerned skip their step,
/// and a learner that makes no others has diverged. Zero-initialise.
typedef struct wk_nonfinite_updates {
    const char *metric; // that was not finite last, or NULL
    int in_a_row;       // updates with such a metric, up to the last one
    // Since wk_nonfinite_updates_clear: a row began; a row reached WK_NONFINITE_MAX.
    bool first, too_many;
} wk_nonfinite_updates;

static inline void wk_nonfinite_updates_clear(wk_nonfinite_updates *updates)
{
    updates->first = updates->too_many = false;
}

/// Counts an update; `metric` is one that is not finite, NULL when all are.
static inline void wk_nonfinite_updates_add(wk_nonfinite_updates *updates, const char *metric)
{
    updates->in_a_row = metric ? updates->in_a_row + 1 : 0;
    if (metric) updates->metric = metric;
    updates->first |= updates->in_a_row == 1;
    updates->too_many |= updates->in_a_row == WK_NONFINITE_MAX;
}

/// An episode that ended in the last iteration.
typedef struct wk_episode_end {
    uint64_t episode;
    int env;
    size_t theta_index;  // in the space
    const double *theta; // [n_params]
    int steps;
    bool diverged;
    float returns[WK_TASKS_MAX];          // summed over the episode, per task
    float completion[WK_TASKS_MAX];       // at the end
    double indicators[WK_INDICATORS_MAX]; // NaN: not known
} wk_episode_end;

/// What an iteration did; valid until the next.
typedef struct wk_iteration {
    uint64_t updates;                               // learner updates in it
    wk_learner_metrics learner;                     // of the last one
    wk_task_metrics tasks;                          // of the last one, with task policies
    wk_nonfinite_updates nonfinite, task_nonfinite; // of all updates, cleared at its begin
    int n_ended;
    const wk_episode_end *ended; // [n_ended]
} wk_iteration;

/// Seconds spent in each part since creation. Environment steps that overlap the learner count
/// nowhere; time spent waiting for environments is split in proportion to their CPU time.
typedef struct wk_time_split {
    double act, env_wait, render_wait, sample, learn, store, total;
} wk_time_split;

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

/// One run. Its parts are there to be read, for logging, evaluation and tests; outside of this
/// folder's loop only what is marked (set) is changed.
struct wk_trainer {
    wk_trainer_population *population;
    wk_subpopulation *subpopulation;
    wk_run_config config;
    wk_dir *directory;          // that it saves into
    const wk_run_plugins *code; // of its plug-ins; NULL: everything is built in
    wk_run_world world;
    const wk_domain *domain; // the one of `world`
    wk_space *space;
    wk_curriculum *curriculum;
    wk_vec *vec;
    wk_learner_config learner_config;
    int policy;              // that acts: WK_POLICY_...
    int tasks[WK_TASKS_MAX]; // domain's task number of each learner task
    wk_backend *backend;
    wk_learner *learner;
    wk_acting *acting;  // NULL when actions are random
    void *acting_state; // buffer for its recurrent states, for checkpoints
    wk_replay *replay;
    wk_replay_log *replay_log;
    wk_device_frames *device_frames; // its frames on the device; NULL: batches come from the host
    char frame_placement[400];       // where they are and why: "in GPU memory, ..."
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
    wk_run_schedule schedule;    // what the caller logs when; saved with the rest (set)
    wk_checkpoints checkpoints;  // what it was resumed from

    wk_batch_buffer batch_buffers[2]; // double buffer: batch of the update in flight, and the next
    bool staged;                      // it has a batch in what its subpopulation has staged
    bool updating;                    // and in the update in flight
    uint64_t updates_due;             // in this iteration
    wk_episode_error episode_error;   // where the curriculum needs it
    float *delta;                     // error estimates of a batch, and the θ they are about
    size_t *delta_theta_index;
    double *delta_theta; // [rows, n_params]

    wk_iteration iteration; // the last one
    wk_status status;       // of it: what stopped this run alone, with
    wk_error error;
    // It failed because environments failed at their resets; if it is not stopped, nothing else
    // did: they count as diverged there, the iteration is complete, and the run can be saved.
    bool resets_failed;
    bool stopped; // it takes no part in later iterations: finished, or failed outside of them (set)
    wk_episode_end *ended;
    wk_time_split times;
};

/// Makes all parts of every run: environments, replay with its log under replay/ of the run's
/// directory, learner, curriculum. The newest good checkpoint in the directory is continued;
/// without one the run begins, unless there are results of a run whose checkpoints are missing.
/// Configs, plug-ins (NULL, or those of each, borrowed; a run that names plug-ins is refused
/// without them) and open directories are [count]. The runs are of one domain, device and
/// precision.
wk_status wk_trainer_create_population(const wk_run_config *const *configs,
                                       const wk_run_plugins *const *code,
                                       const wk_dir *const *directories, int count,
                                       wk_trainer **out, wk_error *err);
/// Destroys all of them, without saving; a population is never destroyed in parts. Nothing to do
/// where the first is NULL.
void wk_trainer_destroy_population(wk_trainer *const *trainers, int count);

/// One iteration of every run of the trainer's population that was not stopped. The status is that
/// of what all have in common: the device. How it went for each run is in its status; one that
/// failed is stopped.
wk_status wk_trainer_step_population(wk_trainer *member, wk_error *err);

/// Ends the episodes that run in a resumed trainer whose environments could not save their state:
/// they stay in the replay as far as they were collected, and new ones begin. Says how many.
wk_status wk_trainer_end_episodes(wk_trainer *trainer, int *ended, wk_error *err);

/// How far a run is.
typedef struct wk_progress {
    uint64_t steps;    // agent steps collected, prefill included
    uint64_t episodes; // begun
    uint64_t updates;
    uint64_t ended;    // episodes, of those begun
    uint64_t diverged; // episodes that ended by divergence
    bool prefilling;   // it only collects so far
    bool finished;     // config.steps reached
} wk_progress;
wk_progress wk_trainer_progress(const wk_trainer *trainer);
wk_time_split wk_trainer_times(const wk_trainer *trainer);

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
