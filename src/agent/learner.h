// The learner: all networks with their optimisers, and the recorded graphs that train them.
//
// One update is a run of the world model's graph, which gives gradients, and one of the reward-free
// graph: the model's step, then exploration in the updated model, then the ensemble. The first may
// run ahead, on the next batch beside this update. Task policies have a graph that reads the model
// and the posterior states it left behind, with random streams of their own: with or without tasks,
// and with tasks beside the exploration or behind it, the reward-free run is the same to the bit.
// From a snapshot, the same task graph is fed by a graph that only observes.
#ifndef WK_AGENT_LEARNER_H
#define WK_AGENT_LEARNER_H

#include "model/config.h"
#include "nn/safetensors.h"
#include "tensor/backend.h"
#include "tensor/program.h"

enum { WK_LEARNER_TASKS_MAX = 16 }; // most task policies

typedef struct wk_learner wk_learner;

/// Builds every network and graph on `backend` (borrowed). Fails on a bad config and when memory is
/// short.
wk_status wk_learner_create(const wk_learner_config *config, wk_backend *backend, wk_learner **out,
                            wk_error *err);
/// What a learner is for; combined with |. Task updates go with either, and without any of them
/// weights are read, played and written.
enum {
    WK_LEARNER_UPDATES = 1,  // wk_learner_update, in parts too
    WK_LEARNER_OBSERVES = 2, // wk_learner_observe
    // With updates: the world model of a batch runs when its update is started, even where the
    // device has the room to run it ahead. Less memory, the same results.
    WK_LEARNER_NO_PREFETCH = 4,
};
/// The same with programs, and memory for them, only for that.
wk_status wk_learner_create_for(unsigned uses, const wk_learner_config *config, wk_backend *backend,
                                wk_learner **out, wk_error *err);
/// NULL is allowed.
void wk_learner_destroy(wk_learner *learner);
const wk_learner_config *wk_learner_get_config(const wk_learner *learner);

/// A batch of B sequences of T steps, time-major, borrowed for the call.
typedef struct wk_learner_batch {
    const uint8_t *images;     // [T,B,64,64,3]
    const float *actions;      // [T,B,A], the one that led to the row
    const uint8_t *first;      // [T,B], nonzero where the state starts from zero
    const float *rewards;      // [T,B,tasks], received on arriving; unused without tasks
    const void *const *frames; // [T,B], where each picture is on the device; NULL: take `images`
} wk_learner_batch;

/// One actor-critic's figures of an update.
typedef struct wk_policy_metrics {
    float actor_loss, critic_loss, actor_norm, critic_norm, value, entropy;
} wk_policy_metrics;

/// Figures of a reward-free update.
typedef struct wk_learner_metrics {
    float model_loss, image_loss, kl, prior_entropy, post_entropy, model_norm;
    float ensemble_loss, ensemble_norm; // means over the members
    float disagreement;                 // mean over starts and steps: the exploration reward
    wk_policy_metrics explore;          // zero under random exploration
} wk_learner_metrics;

/// Figures of a task update, per task.
typedef struct wk_task_metrics {
    float reward_loss[WK_LEARNER_TASKS_MAX], reward_norm[WK_LEARNER_TASKS_MAX];
    wk_policy_metrics policy[WK_LEARNER_TASKS_MAX];
} wk_task_metrics;

/// One reward-free update. `delta` gets the error estimate of every start, [T,B]: the disagreement
/// averaged over the imagined steps. Numbers that are not finite skip the steps they would spoil
/// (see wk_learner_skipped) and appear in the metrics as they are; the call itself succeeds.
wk_status wk_learner_update(wk_learner *learner, const wk_learner_batch *batch,
                            wk_learner_metrics *metrics, float *delta, wk_error *err);

/// The same in three parts, so that the host can prepare a batch while the device works on the one
/// before. Staging brings a batch to the device; starting begins the update on the batch that was
/// staged last; finishing waits for it. Between the last two only staging and acting are allowed.
/// A device that works beside the host, and has the room, runs the world model on a batch from when
/// it is staged and the update before has made its model's step; that changes nothing but when
/// things are done.
/// Pictures in memory of wk_pinned_create are copied while the host goes on: they must stay until
/// their update is finished, or others are staged. Frames on the device must stay as long; work in
/// the transfers' queue may replace them behind that. Either result may be NULL.
wk_status wk_learner_stage(wk_learner *learner, const wk_learner_batch *batch, wk_error *err);
wk_status wk_learner_start(wk_learner *learner, wk_error *err);
wk_status wk_learner_finish(wk_learner *learner, wk_learner_metrics *metrics, float *delta,
                            wk_error *err);

/// Between start and finish: adds the task update (if there are tasks) for the rewards of the batch
/// that is being learned from. It begins when the world model has made its step, beside the
/// exploration where the device has the room; the results are those of one behind the other.
/// wk_learner_finish then waits for both. And the figures of that task update.
wk_status wk_learner_start_tasks(wk_learner *learner, wk_error *err);
void wk_learner_read_tasks(const wk_learner *learner, wk_task_metrics *metrics);

/// The queue in which batches come to the device; pictures that later batches refer to are brought
/// there in it.
wk_queue *wk_learner_transfer_queue(wk_learner *learner);

/// Trains reward heads and task policies on the states of the last wk_learner_update or
/// wk_learner_observe, with the batch's rewards.
wk_status wk_learner_update_tasks(wk_learner *learner, const wk_learner_batch *batch,
                                  wk_task_metrics *metrics, wk_error *err);

/// Computes the posterior states of a batch without training anything, for task policies from a
/// snapshot.
wk_status wk_learner_observe(wk_learner *learner, const wk_learner_batch *batch, wk_error *err);

/// Name of the first figure that is not finite ("model_loss"), or NULL when all are.
const char *wk_learner_metrics_nonfinite(const wk_learner_metrics *metrics);
/// The same for the first `tasks` tasks ("reward_loss").
const char *wk_task_metrics_nonfinite(const wk_task_metrics *metrics, int tasks);

/// Updates done, and optimiser steps skipped because of numbers that were not finite, over all
/// networks.
wk_status wk_learner_counts(const wk_learner *learner, uint64_t *updates, uint64_t *skipped,
                            wk_error *err);

/// Bytes of device memory: weights and optimiser state, the planned temporaries and inputs of the
/// graphs, and all that is in use on the device, whoever made it (0 where nobody counts).
typedef struct wk_learner_memory {
    size_t state, planned, allocated;
} wk_learner_memory;
wk_learner_memory wk_learner_get_memory(const wk_learner *learner);

/// The programs of the world model, of the rest of the reward-free update and of the task update
/// (NULL without tasks), for timing by section.
wk_program *wk_learner_model_program(wk_learner *learner);
wk_program *wk_learner_program(wk_learner *learner);
wk_program *wk_learner_task_program(wk_learner *learner);

/// Writes all weights, optimiser state and counters to a safetensors file / reads them back. A
/// failed restore leaves the learner as it was.
wk_status wk_learner_save(const wk_learner *learner, const char *path, wk_error *err);
wk_status wk_learner_restore(wk_learner *learner, const char *path, wk_error *err);
wk_status wk_learner_restore_in(wk_learner *learner, const wk_dir *in, const char *name,
                                wk_error *err);

/// What a file of weights says about itself ("domain", "tasks", "step"), for people and for
/// messages; copied into the file.
typedef wk_safetensors_pair wk_weights_label;

/// The same in a directory (base/file.h), with labels on the file.
wk_status wk_learner_save_labelled(const wk_learner *learner, const wk_dir *in, const char *path,
                                   const wk_weights_label *labels, size_t count, wk_error *err);

/// Writes the weights alone, without optimiser state: a snapshot to evaluate or adapt later.
wk_status wk_learner_save_weights(const wk_learner *learner, const wk_dir *in, const char *path,
                                  const wk_weights_label *labels, size_t count, wk_error *err);

/// Parts of the weights that can be restored by themselves; combined with |.
enum {
    WK_WEIGHTS_WORLD = 1, // world model, ensemble, exploration policy
    WK_WEIGHTS_TASKS = 2, // reward heads and task policies
};

/// Reads parts of the weights from a snapshot or from a checkpoint's learner; the other part of the
/// file, optimisers and counters are left alone. A misfit names tensors and what the file says it
/// belongs to. A failed restore leaves the learner as it was.
wk_status wk_learner_restore_weights(wk_learner *learner, const char *path, unsigned parts,
                                     wk_error *err);

/// Gives the only task of a learner the reward head and policy of the file's task number `task`. A
/// failed restore leaves the learner as it was.
wk_status wk_learner_restore_task(wk_learner *learner, const char *path, int task, wk_error *err);

#endif
