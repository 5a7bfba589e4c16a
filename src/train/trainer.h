// The training loop: the paper's Algorithm 1 as an object that is stepped.
//
// One iteration steps every environment once while the learner updates on what was collected
// before; the acting policy is the one from before the update. Order and results do not depend on
// threads or timing. A trainer can be saved between any two iterations, and one that was restored
// continues to the same bytes.
//
// Trainers of a population, runs of one domain, are stepped together: their environments are one
// job of one pool, and learners that are alike (wk_learner_config_is_alike) are updated as one.
// On the CPU each run comes to the same bytes as it would alone (docs/tensor.md says what a GPU
// promises). One that fails stops alone. A run by itself
// is a population of one.
#ifndef WK_TRAIN_TRAINER_H
#define WK_TRAIN_TRAINER_H

#include "agent/learner.h"
#include "base/file.h"
#include "config/config.h"
#include "run/checkpoint.h"
#include "run/code.h"
#include "run/world.h"
#include "waker/curriculum.h"

typedef struct wk_trainer wk_trainer;

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

/// One iteration of every run of the trainer's population that was not stopped. The status is that
/// of what all have in common: the device. wk_trainer_result says how it went for each run; one
/// that failed is stopped.
wk_status wk_trainer_step_population(wk_trainer *member, wk_error *err);
wk_status wk_trainer_result(const wk_trainer *trainer, const wk_iteration **done, wk_error *err);
/// Whether the iteration failed because environments failed at their resets, and nothing else did:
/// they count as diverged there, the iteration is complete, and the run can be saved.
bool wk_trainer_resets_failed(const wk_trainer *trainer);
/// Leaves a run out of later iterations: it is finished, or failed outside of them. It can still be
/// saved, evaluated and asked.
void wk_trainer_stop(wk_trainer *trainer);

/// How far a run is.
typedef struct wk_progress {
    uint64_t steps;    // agent steps collected, prefill included
    uint64_t frames;   // steps times action_repeat
    uint64_t episodes; // begun
    uint64_t updates;
    uint64_t ended;    // episodes, of those begun
    uint64_t diverged; // episodes that ended by divergence
    bool prefilling;
    bool finished; // config.steps reached
} wk_progress;
wk_progress wk_trainer_progress(const wk_trainer *trainer);

/// Seconds spent in each part since creation. Environment steps that overlap the learner count
/// nowhere; time spent waiting for environments is split in proportion to their CPU time.
typedef struct wk_time_split {
    double act, env_wait, render_wait, sample, learn, store, total;
} wk_time_split;
wk_time_split wk_trainer_times(const wk_trainer *trainer);

/// The directory it saves into.
const wk_dir *wk_trainer_directory(const wk_trainer *trainer);

/// The parts, for logging, evaluation and tests; owned by the trainer.
const wk_domain *wk_trainer_domain(const wk_trainer *trainer);
const wk_space *wk_trainer_space(const wk_trainer *trainer);
wk_curriculum *wk_trainer_curriculum(wk_trainer *trainer);
wk_learner *wk_trainer_learner(wk_trainer *trainer);
wk_replay *wk_trainer_replay(wk_trainer *trainer);
const wk_run_config *wk_trainer_config(const wk_trainer *trainer);

/// What it computes on: "cpu", "cuda:0 (NVIDIA H200, bf16)".
const wk_device *wk_trainer_device(const wk_trainer *trainer);

/// Where batches take their frames from, and why: "in GPU memory, ...". It changes once, to the
/// host, when the device runs out of memory (`device_full`, may be NULL).
const char *wk_trainer_frame_placement(const wk_trainer *trainer, bool *device_full);

/// The domain's name of the learner's task k.
const char *wk_trainer_task_name(const wk_trainer *trainer, int k);

/// What the caller logs when; saved and resumed with the rest.
wk_run_schedule *wk_trainer_schedule(wk_trainer *trainer);

/// Ends the episodes that run in a resumed trainer whose environments could not save their state:
/// they stay in the replay as far as they were collected, and new ones begin. Says how many.
wk_status wk_trainer_end_episodes(wk_trainer *trainer, int *ended, wk_error *err);

/// Writes a checkpoint under checkpoints/ of the run's directory, durably, and removes those beyond
/// config.checkpoint_keep.
wk_status wk_trainer_save(wk_trainer *trainer, wk_error *err);

/// The step of the checkpoint this trainer was resumed from, or -1 for a new run; and why a newer
/// one was not usable ("" when it was).
int64_t wk_trainer_resumed_from(const wk_trainer *trainer);
/// MuJoCo's version that it was made with (wk_domain_engine).
uint64_t wk_trainer_resumed_engine(const wk_trainer *trainer);
const char *wk_trainer_resume_trouble(const wk_trainer *trainer);

#endif
