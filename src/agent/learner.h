// The learner: all networks with their optimisers, and the recorded graphs that train them.
//
// One update runs two graphs (graphs.c): the world model's, which computes gradients, and the
// update graph, which applies them, then trains exploration in the updated model, then the
// ensemble. The first may be prefetched: run on the next batch while this update is still in
// flight. Task policies have a third graph, which reads the updated model and the posterior states
// that the update graph has copied out of the handoff buffer, and draws from its own random
// streams. Results are bit-identical with or without tasks, and whether task updates overlap the
// update or follow it. From a snapshot, the same task graph is fed by a graph that only observes.
//
// Update k on an async device: one line for each queue, time goes to the right; [event] waits for
// the event, *event records it.
//
//   host      start k ─ act† ─ start tasks k ─ environments step ─ stage k+1 ─ finish k†
//
//   update    [model_done k] import the handoff, ─┬─▶ imagination, actor, critic, ensemble ─┐
//                            step of the model    │                    [tasks_done] ◀──────┘
//                                  *weights_ready │                    *update_done
//   task                                          ├─▶ reward heads, task policies *tasks_done
//   model                         [batch_ready]   └─▶ world model of k+1 ─▶ handoff *model_done
//   transfer                      batch k+1 ─▶ *batch_ready
//   acting    encode, posterior, actor, with the weights of update k-1 (wk_weight_snapshot)
//
//   † The host waits: for the actions, and in wk_learner_finish for the update and its tasks; also
//   in wk_learner_stage, while a slot for batches is still being copied.
//
// A device without the memory to overlap runs the same graphs in sequence.
//
// Learners of a population (runs that differ in seed and learning rates) have their own weights,
// batches and results, and are updated together: their leader's queues run the programs of all of
// them as one (wk_program_compile_population). On the CPU each ends in the same bytes as it would
// alone; docs/learner.md says what a GPU promises.
#ifndef WK_AGENT_LEARNER_H
#define WK_AGENT_LEARNER_H

#include "model/config.h"
#include "nn/safetensors.h"
#include "tensor/backend.h"
#include "tensor/program.h"

enum { WK_LEARNER_TASKS_MAX = 16 }; // task policies
enum { WK_POPULATION_MAX = 64 };    // members of a population

typedef struct wk_learner wk_learner;

/// What a learner is for; combined with |. Task updates are possible with either; with neither,
/// weights can only be read, acted with and written.
enum {
    WK_LEARNER_UPDATES = 1,  // wk_learner_stage, _start and _finish
    WK_LEARNER_OBSERVES = 2, // wk_learner_observe
    // With updates: never prefetch the world model of the next batch, even where the device has the
    // memory for it. Less memory, the same results.
    WK_LEARNER_NO_PREFETCH = 4,
};
/// Builds every network on `backend` (borrowed), and the programs of those uses. Fails on a bad
/// config and when memory is short.
wk_status wk_learner_create(unsigned uses, const wk_learner_config *config, wk_backend *backend,
                            wk_learner **out, wk_error *err);
/// Builds a population of `count` learners with configs that are alike
/// (wk_learner_config_is_alike), learner r on backends[r]; all may be the same backend. The first
/// is their leader: what stages, starts and finishes updates takes the leader, and arrays with an
/// element for each member; acting, saving and everything else takes a member.
wk_status wk_learner_create_population(unsigned uses, const wk_learner_config *configs,
                                       wk_backend *const *backends, int count, wk_learner **out,
                                       wk_error *err);
/// NULL is allowed. The leader of a population is destroyed first.
void wk_learner_destroy(wk_learner *learner);
const wk_learner_config *wk_learner_get_config(const wk_learner *learner);

/// A batch of B sequences of T steps, time-major, borrowed for the call. One without actions leaves
/// its member of a population idle: the update changes nothing of it.
typedef struct wk_learner_batch {
    const uint8_t *images;     // [T,B,64,64,3]; unused without images
    const float *actions;      // [T,B,A], the one that led to the row
    const uint8_t *first;      // [T,B], nonzero where the state starts from zero
    const float *rewards;      // [T,B,tasks], received on arriving; unused without tasks
    const void *const *frames; // [T,B], device address of each frame; NULL: take `images`
    const uint8_t *ends;       // [T,B], nonzero where the episode ended for good; NULL: nowhere
    const float *vectors;      // [T,B,V]; unused without vectors
} wk_learner_batch;

/// One actor-critic's metrics of an update: actor_loss, entropy, ... of update_metrics.def.
typedef struct wk_policy_metrics {
#define WK_POLICY_METRIC(field, name, checked) float field;
#include "agent/update_metrics.def"
} wk_policy_metrics;

/// Metrics of a reward-free update: model_loss, ensemble_loss, ... of update_metrics.def.
typedef struct wk_learner_metrics {
#define WK_MODEL_METRIC(field, tensor, name, condition, checked) float field;
#define WK_UPDATE_METRIC(field, tensor, name, checked) float field;
#include "agent/update_metrics.def"
    wk_policy_metrics explore; // zero under random exploration
} wk_learner_metrics;

/// Metrics of a task update, per task.
typedef struct wk_task_metrics {
    float reward_loss[WK_LEARNER_TASKS_MAX], reward_norm[WK_LEARNER_TASKS_MAX];
    wk_policy_metrics policy[WK_LEARNER_TASKS_MAX];
} wk_task_metrics;

/// One reward-free update, in three parts so that the host can prepare a batch while the device
/// works on the previous one. Stage copies a batch to the device; start enqueues the update on the
/// batch staged last; finish waits for it. Between start and finish only staging and acting are
/// allowed.
///
/// `delta` gets the error estimate of every start, [T,B]: the disagreement averaged over the
/// imagined steps. Either result may be NULL. For a population: batch[r], metrics[r], and delta
/// [R,T,B]. Optimiser steps with non-finite gradients are skipped (see wk_learner_counts) and the
/// metrics show the values as they are; the calls themselves succeed.
///
/// An async device with enough memory prefetches: it runs the world model on a staged batch as soon
/// as the previous update has made its model's step. That changes when work is done, never the
/// results. Frames in pinned memory (wk_pinned_create) are copied asynchronously: they must stay
/// valid until their update is finished or another batch is staged. Frames on the device must stay
/// valid as long; later work in the transfer queue may overwrite them.
wk_status wk_learner_stage(wk_learner *learner, const wk_learner_batch *batch, wk_error *err);
wk_status wk_learner_start(wk_learner *learner, wk_error *err);
wk_status wk_learner_finish(wk_learner *learner, wk_learner_metrics *metrics, float *delta,
                            wk_error *err);

/// Between start and finish: enqueues the task update (if there are tasks) for the rewards of the
/// batch in flight. It starts when the world model has made its step and overlaps the exploration
/// where the device has the memory; the results are the same as in sequence. wk_learner_finish then
/// waits for both. wk_learner_read_tasks gives the metrics of that task update.
wk_status wk_learner_start_tasks(wk_learner *learner, wk_error *err);
void wk_learner_read_tasks(const wk_learner *learner, wk_task_metrics *metrics);

/// The queue in which batches are copied to the device, and frames that later batches refer to.
wk_queue *wk_learner_transfer_queue(wk_learner *learner);

/// Trains reward heads and task policies on the states of the last update or
/// wk_learner_observe, with the batch's rewards.
wk_status wk_learner_update_tasks(wk_learner *learner, const wk_learner_batch *batch,
                                  wk_task_metrics *metrics, wk_error *err);

/// Computes the posterior states of a batch without training anything, for task policies from a
/// snapshot.
wk_status wk_learner_observe(wk_learner *learner, const wk_learner_batch *batch, wk_error *err);

/// A metric under its name in the logs.
typedef struct wk_named_metric {
    const char *name; // static; that of a policy's ends where the policy's begins: "actor_loss_"
    double value;
} wk_named_metric;
/// Lists the metrics that a learner with this config has, without those of the exploration policy;
/// and those of a policy. Both return how many.
enum { WK_NAMED_METRICS_MAX = 32 };
size_t wk_learner_metrics_list(const wk_learner_config *config, const wk_learner_metrics *metrics,
                               wk_named_metric out[WK_NAMED_METRICS_MAX]);
size_t wk_policy_metrics_list(const wk_policy_metrics *metrics,
                              wk_named_metric out[WK_NAMED_METRICS_MAX]);

/// Name of the first metric that is not finite ("model_loss"), or NULL when all are finite.
const char *wk_learner_metrics_nonfinite(const wk_learner_metrics *metrics);
/// As wk_learner_metrics_nonfinite, for the first `tasks` tasks ("reward_loss").
const char *wk_task_metrics_nonfinite(const wk_task_metrics *metrics, int tasks);

/// Updates done, and optimiser steps skipped because of non-finite numbers, over all networks.
wk_status wk_learner_counts(const wk_learner *learner, uint64_t *updates, uint64_t *skipped,
                            wk_error *err);

/// Bytes of device memory: weights and optimiser state, the planned temporaries and inputs of the
/// graphs, and the total in use on the device (0 where the backend does not count).
typedef struct wk_learner_memory {
    size_t state, planned, allocated;
} wk_learner_memory;
wk_learner_memory wk_learner_get_memory(const wk_learner *learner);

/// The programs of the world model, of the rest of the reward-free update and of the task update
/// (NULL without tasks), for timing by section.
wk_program *wk_learner_model_program(wk_learner *learner);
wk_program *wk_learner_update_program(wk_learner *learner);
wk_program *wk_learner_task_program(wk_learner *learner);

/// Metadata of a weights file ("domain", "tasks", "step"), for people and for messages; copied into
/// the file.
typedef wk_safetensors_pair wk_weights_label;

/// Writes all weights, optimiser state and counters to a safetensors file with labels, or reads
/// them back. The file is in a directory (base/file.h), NULL for a path of its own. A failed
/// restore leaves the learner as it was.
wk_status wk_learner_save(const wk_learner *learner, const wk_dir *in, const char *path,
                          const wk_weights_label *labels, size_t count, wk_error *err);

wk_status wk_learner_restore(wk_learner *learner, const wk_dir *in, const char *name,
                             wk_error *err);

/// Writes the weights alone, without optimiser state: a snapshot to evaluate or adapt later.
wk_status wk_learner_save_weights(const wk_learner *learner, const wk_dir *in, const char *path,
                                  const wk_weights_label *labels, size_t count, wk_error *err);

/// Writes what acting and imagining need of a file of weights as compact weights, with its labels:
/// the world model, the reward heads and the actors of the tasks, without the ensemble, exploration
/// and critics. Weights are in 16 bits, those of decoder and reward heads, which only show what is
/// imagined, in 8 (nn/packed.h).
wk_status wk_weights_write_compact(const char *from, const char *to, wk_error *err);

/// Parts of the weights that can be restored by themselves; combined with |.
enum {
    WK_WEIGHTS_WORLD = 1,   // world model, ensemble, exploration policy
    WK_WEIGHTS_TASKS = 2,   // reward heads and task policies
    WK_WEIGHTS_COMPACT = 4, // compact weights will do; without it they are refused
};

/// Whether compact weights were restored: what they lack is as it was initialised.
bool wk_learner_is_compact(const wk_learner *learner);

/// Reads parts of the weights from a snapshot or from a checkpoint's learner; the other part of the
/// file, optimisers and counters are ignored. A mismatch names the tensors and the file's own
/// metadata. A failed restore leaves the learner as it was.
wk_status wk_learner_restore_weights(wk_learner *learner, const char *path, unsigned parts,
                                     wk_error *err);

/// Gives the only task of a learner the reward head and policy of the file's task number `task`. A
/// failed restore leaves the learner as it was.
wk_status wk_learner_restore_task(wk_learner *learner, const char *path, int task, wk_error *err);

#endif
