// A learner restored from a saved run: the run's configuration, its world, and the weights of a
// chosen step, on the configured device or another. Nothing is written, so it is safe while a
// process trains there.
#ifndef WK_RUN_SAVED_LEARNER_H
#define WK_RUN_SAVED_LEARNER_H

#include "base/pool.h"
#include "run/device.h"
#include "run/weights_file.h"
#include "run/world.h"

/// Which weights of which run.
typedef struct wk_saved_learner_config {
    const char *directory;
    wk_weights_kind kind;
    int64_t step;      // or WK_STEP_LAST
    const char *task;  // of a fine-tuned policy, else NULL
    const char *tasks; // NULL: the policies the weights have; else "none", "all" or names of tasks
                       // whose policies begin untrained
    bool adapt;        // the task policies are to be trained
    const uint64_t *seed;       // NULL: the run's
    const char *device;         // NULL: as the run was configured
    int threads;                // 0: as the run was configured
    const wk_run_plugins *code; // of the run's plug-in, for playing in its environments; NULL: the
                                // description that the run keeps will do
} wk_saved_learner_config;

/// Zero-initialise; close it also after a failed open.
typedef struct wk_saved_learner {
    wk_run_config config; // the run's, with tasks, device and threads as opened
    wk_plugin_record record;
    wk_run_world world;
    wk_pool *pool;
    wk_backend *backend;
    wk_device device; // the backend's, and why
    wk_learner *learner;
    int tasks[WK_TASKS_MAX], n_tasks; // the domain's task of each task policy of the learner
    wk_weights_kind kind;
    uint64_t step;                  // of the weights
    char path[WK_WEIGHTS_PATH_MAX]; // the file they come from
} wk_saved_learner;

/// Reads DIRECTORY/config.yaml; says so when the directory holds no run.
wk_status wk_saved_run_read_config(const char *directory, wk_run_config *out, wk_error *err);

wk_status wk_saved_learner_open(const wk_saved_learner_config *config, wk_saved_learner *out,
                                wk_error *err);
void wk_saved_learner_close(wk_saved_learner *saved);

/// The learner's policy for a task of the domain (by its number); the error says which there are.
wk_status wk_saved_learner_policy(const wk_saved_learner *saved, int task, int *policy,
                                  wk_error *err);

#endif
