// The internals of a learner, shared by the files that record its graphs. Not for use outside
// src/agent.
#ifndef WK_AGENT_LEARNER_PARTS_H
#define WK_AGENT_LEARNER_PARTS_H

#include "agent/learner.h"
#include "base/memory.h"
#include "model/world_model.h"
#include "nn/optimizer.h"
#include "nn/state.h"
#include "tensor/backend.h"

/// The networks, each with a parameter set of its own. Slow critics have no optimiser.
typedef enum wk_network_id {
    WK_NETWORK_MODEL,
    WK_NETWORK_ENSEMBLE,
    WK_NETWORK_EXPLORE_ACTOR,
    WK_NETWORK_EXPLORE_CRITIC,
    WK_NETWORK_EXPLORE_SLOW,
    WK_NETWORK_REWARD,
    WK_NETWORK_TASK_ACTOR,
    WK_NETWORK_TASK_CRITIC,
    WK_NETWORK_TASK_SLOW,
    WK_NETWORKS
} wk_network_id;

/// Its name, which begins the names of its tensors in files.
const char *wk_network_name(wk_network_id id);

/// A recorded graph with the scopes it uses (NULL where it uses none) and its program.
typedef struct wk_compiled_graph {
    wk_graph *graph;
    wk_scope *scope[WK_NETWORKS];
    wk_program *program;
} wk_compiled_graph;

/// Small results of a graph, contiguous so that one download copies all of them.
enum { WK_SCALARS_MAX = 24 };
typedef struct wk_scalars {
    wk_tensor joined;
    size_t total; // values in all
    size_t count;
    struct {
        wk_tensor x;
        size_t offset, count;
    } item[WK_SCALARS_MAX];
} wk_scalars;

/// Joins those of the tensors that exist.
wk_scalars wk_scalars_join(wk_graph *g, const wk_tensor *tensors, size_t count);
/// Where the values of x are in the downloaded array; NULL for a tensor that does not exist.
const float *wk_scalars_at(const wk_scalars *scalars, const float *values, wk_tensor x);

/// How many scalars the world model's graph exports: the model's metrics that the config has.
int wk_model_scalar_count(const wk_learner_config *config);
/// Tensors of the world model's graph.
typedef struct wk_model_tensors {
    wk_scalars scalars; // [wk_model_scalar_count]
    wk_batch_tensors batch;
    wk_model_losses losses;
    wk_tensor norm;
} wk_model_tensors;

/// Tensors of the update graph.
typedef struct wk_update_tensors {
    wk_scalars scalars;
    wk_tensor action;        // input, as in the batch
    wk_tensor model_scalars; // scalars of the world model's graph, passed on
    wk_tensor ensemble_loss, ensemble_norm, reward, delta;
    wk_tensor actor_loss, critic_loss, actor_norm, critic_norm, value, entropy;
} wk_update_tensors;

/// Tensors of the task graph.
typedef struct wk_task_tensors {
    wk_scalars scalars;
    wk_tensor reward; // input [tasks,T*B]
    wk_tensor reward_loss, reward_norm;
    wk_tensor actor_loss, critic_loss, actor_norm, critic_norm, value, entropy; // [tasks] each
} wk_task_tensors;

/// A snapshot of the weights that a graph reads, so that it may run while an update changes them.
/// On a backend that is not async there is no copy: the graph reads the weights themselves.
typedef struct wk_weight_snapshot {
    wk_learner *learner;
    wk_buffer *buffer; // NULL: no copy is needed
    WK_ARRAY(wk_copy) copies;
    wk_event *ready; // the snapshot is complete
    struct wk_weight_snapshot *next;
} wk_weight_snapshot;

// Queues, events and how far an update is are the leader's.
struct wk_learner {
    wk_learner_config config;
    wk_backend *backend;
    wk_params *params[WK_NETWORKS];        // NULL where the config has no such network
    wk_optimizer *optimizers[WK_NETWORKS]; // NULL where nothing is trained
    wk_buffer *starts;                     // of the last batch: stoch, deter, continues
    wk_buffer *handoff;                    // from the world model's graph to the update graph
    wk_buffer *counters;                   // u64: reward-free updates, task updates, observations
    wk_compiled_graph model, update, tasks, observe;
    wk_model_tensors model_t;
    wk_update_tensors update_t;
    wk_task_tensors task_t;
    wk_batch_tensors observe_t;
    wk_state *state;                   // everything that a checkpoint holds
    wk_state *weights;                 // the weights alone
    float *host_numbers;               // host scratch for a batch in the graph's layout
    float *scalars;                    // pinned host memory for the scalars of each program
    wk_buffer *shared_scratch;         // temporaries of programs that run in sequence
    wk_buffer *task_scratch;           // task program's temporaries where it overlaps; or NULL
    wk_buffer *prefetch_scratch;       // prefetched world model's temporaries; or NULL
    bool tasks_async;                  // task updates overlap updates, else follow them
    bool prefetches;                   // the next batch's world model runs during this update
    wk_queue *update_queue;            // updates
    wk_queue *model_queue;             // prefetched world models
    wk_queue *task_queue;              // task updates that overlap
    wk_queue *transfer_queue;          // copies of batches to the device
    wk_buffer *device_batches[2];      // double buffer on the device: batch in flight, and the next
    void *pinned_batches[2];           // their actions, flags and rewards in pinned memory
    wk_event *batch_ready[2];          // batch copied to the device
    wk_event *batch_consumed[2];       // the update on this batch is done; its slot is free
    wk_event *update_done;             // last started update and its task update
    wk_event *model_done;              // the world model's graph on the last batch
    wk_event *weights_ready;           // the task update and the next world model may read
    wk_event *tasks_done;              // that task update is done
    int next_slot;                     // slot that the next wk_learner_start takes
    bool prefetched;                   // its world model is enqueued, on the current weights
    bool in_flight;                    // an update was started and not yet finished
    bool compact;                      // compact weights were restored
    struct wk_learner *leader;         // of its population: itself where it is alone
    struct wk_learner **members;       // [population], the leader's; the leader is the first
    int population;                    // 1 alone
    wk_tensor update_idle, tasks_idle; // inputs: the update leaves the member as it is
    wk_weight_snapshot *snapshots;     // snapshots that others read while an update is in flight
};

/// Which counter a graph advances.
typedef enum wk_counter_id {
    WK_COUNT_UPDATES,
    WK_COUNT_TASKS,
    WK_COUNT_OBSERVE,
    WK_COUNTERS
} wk_counter_id;

/// Begins with an empty graph and scopes of these networks.
wk_status wk_compiled_graph_begin(wk_compiled_graph *compiled, const wk_learner *learner,
                                  const wk_network_id *networks, size_t count, wk_error *err);
/// All graphs of a learner, for iteration.
enum { WK_GRAPH_MODEL, WK_GRAPH_UPDATE, WK_GRAPH_TASKS, WK_GRAPH_OBSERVE, WK_COMPILED_GRAPHS };
const wk_compiled_graph *wk_learner_compiled_graph(const wk_learner *learner, int i);
/// Binds weights and optimisers to their memory; and makes the program.
wk_status wk_compiled_graph_bind(wk_compiled_graph *compiled, const wk_learner *learner,
                                 wk_error *err);
wk_status wk_compiled_graph_finish(wk_compiled_graph *compiled, const wk_learner *learner,
                                   wk_error *err);
void wk_compiled_graph_free(wk_compiled_graph *compiled);

/// Binds the graph's weights to a snapshot, after wk_compiled_graph_bind. Until it is closed, every
/// update first copies the weights of the last finished update there.
wk_status wk_weight_snapshot_open(wk_weight_snapshot *snapshot, wk_learner *learner,
                                  wk_compiled_graph *compiled, wk_error *err);
void wk_weight_snapshot_close(wk_weight_snapshot *snapshot);
/// Makes work enqueued next in `queue` read the weights of the last finished update.
wk_status wk_weight_snapshot_read(const wk_weight_snapshot *snapshot, wk_queue *queue,
                                  wk_error *err);
/// Before an update is enqueued: copies the current weights into all snapshots.
wk_status wk_weight_snapshots_take(const wk_learner *learner, wk_error *err);

/// Copies a batch without rewards to the inputs of a program; `scratch` has room for a number of
/// every row.
wk_status wk_batch_upload(wk_program *program, const wk_learner_config *config,
                          const wk_batch_tensors *inputs, const wk_learner_batch *batch,
                          float *scratch, wk_error *err);

/// Queues and events of a leader; and a member's memory for batches.
wk_status wk_learner_create_queues(wk_learner *leader, wk_error *err);
wk_status wk_learner_create_batches(wk_learner *learner, wk_error *err);
/// Where the scalars of the task program are on the host: after those of the update.
float *wk_learner_task_scalars(const wk_learner *learner);
/// Whether an update of its population is in flight.
static inline bool wk_learner_is_in_flight(const wk_learner *learner)
{
    return learner->leader->in_flight;
}
/// The metrics of the finished update.
void wk_learner_fill_metrics(const wk_learner *learner, wk_learner_metrics *metrics);
/// Discards prefetched gradients; before the weights are changed by anything but updates.
wk_status wk_learner_discard_prefetch(wk_learner *learner, wk_error *err);

/// Makes a member's buffers for counters and between graphs; records its graphs and binds them.
wk_status wk_learner_create_buffers(wk_learner *learner, wk_error *err);
wk_status wk_learner_record(wk_learner *learner, wk_error *err);

/// An estimate of a learner's device memory, made after its graphs are planned and before anything
/// large is allocated, so that a learner that is too large is refused with the full amount. Bytes.
/// Scratch memory of single kernels is known only after compilation and not included.
typedef struct wk_memory_estimate {
    size_t state;   // weights and optimiser
    size_t planned; // temporaries, inputs, batches, handoff buffers
    size_t copies;  // bf16 copies of weights
    size_t working; // workspace of matrix products
    size_t early;   // of the planned memory, what is there before the programs are compiled
} wk_memory_estimate;

/// Bytes of temporaries: shared by the programs that run in sequence (the largest counts), of the
/// task program where it overlaps the update, and of the world model's program where it is
/// prefetched.
typedef struct wk_temporaries {
    size_t shared, tasks, prefetch;
} wk_temporaries;
wk_temporaries wk_learner_temporaries(const wk_learner *learner);

wk_memory_estimate wk_learner_estimate_memory(const wk_learner *learner);
static inline size_t wk_memory_estimate_total(wk_memory_estimate estimate)
{
    return estimate.state + estimate.planned + estimate.copies + estimate.working;
}
/// Whether the device has enough free memory for what is not allocated yet; and WK_E_MEMORY, with
/// the whole estimate, where it has not.
bool wk_learner_fits(const wk_learner *learner);
wk_status wk_learner_check_memory(const wk_learner *learner, wk_error *err);

#endif
