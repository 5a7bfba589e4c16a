// A saved run, opened read-only and as deep as is needed: its configuration, the world it names,
// its newest checkpoint with the curriculum, a learner with the weights of a chosen step. Nothing
// is written, so it is safe while a process trains there, and no code is loaded unless the caller
// asks for it: the run keeps a description of its plug-ins.
#ifndef WK_RUN_SAVED_RUN_H
#define WK_RUN_SAVED_RUN_H

#include "base/pool.h"
#include "run/checkpoint.h"
#include "run/rewards.h"
#include "run/weights.h"
#include "run/world.h"

/// How much is opened; each has what the ones before it have.
typedef enum wk_saved_depth {
    WK_SAVED_CONFIG,     // config.yaml
    WK_SAVED_WORLD,      // the domain and its options
    WK_SAVED_CHECKPOINT, // the summary of the newest checkpoint, and the θ the run chooses from;
                         // WK_E_NOT_FOUND when it has no checkpoint
    WK_SAVED_CURRICULUM, // the curriculum of that checkpoint
} wk_saved_depth;

/// Which weights, and what the learner that gets them is for.
typedef struct wk_weights_choice {
    wk_weights_kind kind;
    int64_t step;      // or WK_STEP_LAST
    const char *task;  // of a fine-tuned policy, else NULL
    const char *name;  // of the adaptation or fine-tuning; NULL: that without one
    const char *tasks; // NULL: the policies the weights have; else "none", "all" or names of tasks
                       // whose policies begin untrained
    bool adapt;        // the task policies are to be trained
    bool compact;      // the learner acts and imagines alone: compact weights will do
    const uint64_t *seed; // NULL: the run's
    const char *device;   // NULL: as the run was configured
    int threads;          // 0: as the run was configured
} wk_weights_choice;

typedef struct wk_saved_run_options {
    wk_saved_depth depth;
    const wk_weights_choice *weights; // the world, and a learner with them; NULL: no learner
    // For playing in the environments of a plug-in: its code is loaded, from the files named here
    // or those the run was made with. NULL: the description that the run keeps will do.
    const wk_named_plugins *plugins;
    bool rule;         // load the curriculum's plug-in too
    bool own_tasks;    // the world has the tasks of the domain, without rewards added later
    const wk_log *log; // gets a warning for plug-ins that changed; NULL: silent
} wk_saved_run_options;

/// A learner with weights of the run.
typedef struct wk_saved_weights {
    wk_run_config config; // the run's, with seed, tasks, device and threads as chosen
    wk_pool *pool;
    wk_backend *backend;
    wk_device device;                 // the backend's, and why
    wk_learner *learner;              // NULL: none was opened
    int tasks[WK_TASKS_MAX], n_tasks; // the domain's task of each task policy of the learner
    wk_weights_kind kind;
    uint64_t step;
    char path[WK_PATH_MAX]; // the file they come from
} wk_saved_weights;

/// Zero-initialise; close it also after a failed open.
typedef struct wk_saved_run {
    const char *directory; // borrowed
    wk_run_config config;
    wk_run_plugins code;
    wk_plugin_record record;
    wk_run_world world;
    const wk_domain *replay_domain; // with the tasks that the replay has: world.domain may have
                                    // rewards that were added later after them
    wk_run_rewards rewards;         // those
    uint64_t step;                  // of the newest checkpoint
    wk_checkpoint_summary summary;  // of it
    wk_space *space;
    wk_curriculum *curriculum;
    wk_saved_weights weights;
} wk_saved_run;

wk_status wk_saved_run_open(const char *directory, const wk_saved_run_options *options,
                            wk_saved_run *out, wk_error *err);
void wk_saved_run_close(wk_saved_run *run);

/// Makes the learner of a run whose world is open; one that it had is closed.
wk_status wk_saved_run_load(wk_saved_run *run, const wk_weights_choice *choice, wk_error *err);

/// Whether a task can be played: of a reward that was added later, the code must be loaded. The
/// error says how it would be.
wk_status wk_saved_run_playable(const wk_saved_run *run, int task, wk_error *err);

/// The learner's policy for a task of the domain (by its number); the error says which there are.
wk_status wk_saved_run_policy(const wk_saved_run *run, int task, int *policy, wk_error *err);

/// Rebuilds the replay of a run whose world is open, as of its newest checkpoint now. `pool` is
/// borrowed for sampling.
wk_status wk_saved_run_open_replay(const wk_saved_run *run, wk_pool *pool, wk_replay **out,
                                   wk_error *err);

#endif
