// The inside of a learner, shared by the files that record its graphs. Not for use outside
// src/agent.
#ifndef WK_AGENT_LEARNER_PARTS_H
#define WK_AGENT_LEARNER_PARTS_H

#include "agent/learner.h"
#include "base/array.h"
#include "model/world_model.h"
#include "nn/optimizer.h"
#include "nn/state.h"
#include "tensor/queue.h"

/// The parameter sets. Slow critics have no optimiser.
typedef enum wk_set_id {
    WK_SET_MODEL,
    WK_SET_ENSEMBLE,
    WK_SET_EXPLORE_ACTOR,
    WK_SET_EXPLORE_CRITIC,
    WK_SET_EXPLORE_SLOW,
    WK_SET_REWARD,
    WK_SET_TASK_ACTOR,
    WK_SET_TASK_CRITIC,
    WK_SET_TASK_SLOW,
    WK_SETS
} wk_set_id;

/// Its name, which begins the names of its tensors in files.
const char *wk_set_name(wk_set_id id);

/// A recorded graph with the scopes it uses (NULL where it uses none) and its program.
typedef struct wk_unit {
    wk_graph *graph;
    wk_scope *scope[WK_SETS];
    wk_program *program;
} wk_unit;

/// Small results of a graph, one behind the other so that one download brings all of them.
enum { WK_FIGURES = 24 };
typedef struct wk_figures {
    wk_tensor joined;
    size_t total; // numbers in all
    size_t count;
    struct {
        wk_tensor x;
        size_t offset, count;
    } item[WK_FIGURES];
} wk_figures;

/// Joins those of the tensors that exist.
wk_figures wk_figures_join(wk_graph *g, const wk_tensor *tensors, size_t count);
/// Where the numbers of x are among those that were read; NULL for one that does not exist.
const float *wk_figures_at(const wk_figures *figures, const float *numbers, wk_tensor x);

/// Tensors of the world model's graph.
enum { WK_MODEL_FIGURES = 6 };
typedef struct wk_model_tensors {
    wk_figures figures; // [WK_MODEL_FIGURES]
    wk_batch_tensors batch;
    wk_model_losses losses;
    wk_tensor norm;
} wk_model_tensors;

/// Tensors of the reward-free graph.
typedef struct wk_learn_tensors {
    wk_figures figures;
    wk_tensor action;        // input, as in the batch
    wk_tensor model_figures; // those of the world model's graph, kept
    wk_tensor ensemble_loss, ensemble_norm, reward, delta;
    wk_tensor actor_loss, critic_loss, actor_norm, critic_norm, value, entropy;
} wk_learn_tensors;

/// Tensors of the task graph.
typedef struct wk_task_tensors {
    wk_figures figures;
    wk_tensor reward; // input [tasks,T*B]
    wk_tensor reward_loss, reward_norm;
    wk_tensor actor_loss, critic_loss, actor_norm, critic_norm, value, entropy; // [tasks] each
} wk_task_tensors;

/// A copy of the weights that a graph reads, so that it may run beside an update that changes them.
/// Where nothing runs beside the host there is none, and the graph reads the weights themselves.
typedef struct wk_mirror {
    wk_learner *learner;
    wk_buffer *buffer; // NULL: no copy is needed
    WK_ARRAY(wk_copy) copies;
    wk_event *made; // the copy for those who read while an update runs
    struct wk_mirror *next;
} wk_mirror;

struct wk_learner {
    wk_learner_config config;
    wk_backend *backend;
    wk_params *params[WK_SETS];        // NULL where the config has no such network
    wk_optimizer *optimizers[WK_SETS]; // NULL where nothing is trained
    wk_buffer *latent;                 // posterior states of the last batch: stoch, then deter
    wk_buffer *handed;                 // from the world model's graph to the reward-free one
    wk_buffer *counters;               // u64: reward-free updates, task updates, observations
    wk_unit model, learn, tasks, observe;
    wk_model_tensors model_t;
    wk_learn_tensors learn_t;
    wk_task_tensors task_t;
    wk_batch_tensors observe_t;
    wk_state *state;        // everything that a checkpoint holds
    wk_state *weights;      // the weights alone
    float *scratch;         // host memory for batches in the graph's layout
    float *figures;         // host memory for what one run of each program gives
    wk_buffer *temporary;   // of the programs in turn
    wk_buffer *beside;      // of the task program, where it runs beside another; or NULL
    wk_buffer *before;      // of the world model's program, where it runs ahead; or NULL
    bool tasks_beside;      // task updates run beside updates, else behind them
    bool ahead;             // the world model of a staged batch runs beside the update before
    wk_queue *work;         // updates
    wk_queue *model_work;   // world models, ahead of their updates
    wk_queue *task_work;    // task updates, beside them
    wk_queue *transfers;    // batches on their way to the device
    wk_buffer *incoming[2]; // batches on the device: of the running update, and of the next
    void *outgoing[2];      // the small parts of these batches, in host memory of the backend
    wk_event *staged[2];    // the batch is on the device
    wk_event *taken[2];     // it was copied into the program
    wk_event *done;         // the update that was started last, and its task update
    wk_event *modelled;     // the world model's graph on the batch that was begun last
    wk_event *ready;        // of that update, what the task update and the next world model read
    wk_event *tasks_done;   // that task update
    int side;               // which of them the next wk_learner_start takes
    bool begun;             // its world model was put, on the weights as they are
    bool running;           // an update was started and not waited for
    wk_mirror *mirrors;     // copies of weights that others read while an update runs
};

/// Which counter a graph advances.
typedef enum wk_counter_id {
    WK_COUNT_LEARN,
    WK_COUNT_TASKS,
    WK_COUNT_OBSERVE,
    WK_COUNTERS
} wk_counter_id;

/// Starts a unit: an empty graph and scopes of the given sets.
wk_status wk_unit_begin(wk_unit *unit, const wk_learner *learner, const wk_set_id *sets,
                        size_t count, wk_error *err);
/// All units of a learner, for going over them.
enum { WK_UNITS = 4 };
const wk_unit *wk_learner_unit(const wk_learner *learner, int i);
/// Binds weights and optimisers to their memory; and makes the program.
wk_status wk_unit_bind(wk_unit *unit, const wk_learner *learner, wk_error *err);
wk_status wk_unit_finish(wk_unit *unit, const wk_learner *learner, wk_error *err);
void wk_unit_free(wk_unit *unit);

/// Binds the unit's weights to a copy of them, after wk_unit_bind. Until it is freed, updates leave
/// the weights of the last finished one in the copy while they run.
wk_status wk_mirror_open(wk_mirror *mirror, wk_learner *learner, wk_unit *unit, wk_error *err);
void wk_mirror_close(wk_mirror *mirror);
/// Makes what is put into `queue` next read the weights of the last finished update.
wk_status wk_mirror_read(const wk_mirror *mirror, wk_queue *queue, wk_error *err);
/// Before an update is put into the learner's queue: keeps the weights as they are.
wk_status wk_mirrors_keep(const wk_learner *learner, wk_error *err);

/// Queues, events and memory for batches.
wk_status wk_learner_make_queues(wk_learner *learner, wk_error *err);
/// Where the figures of the task program are on the host: behind those of the other.
float *wk_learner_task_figures(const wk_learner *learner);
/// The figures of the update that was waited for.
void wk_learner_fill_metrics(const wk_learner *learner, wk_learner_metrics *metrics);
/// Makes nothing that was begun with the weights as they are be used any more; before they are
/// changed by anything but updates.
wk_status wk_learner_forget(wk_learner *learner, wk_error *err);

/// Records that the flag (u64 [1]) says whether a loss is not finite.
void wk_learner_check(wk_unit *unit, wk_tensor loss, wk_tensor flag);
/// Records a training step of the set on an objective [1], or [S] for a stack, in the section
/// "optimiser". A loss that is not finite skips the step; it mostly is the objective. Gives the
/// gradient's norm.
wk_tensor wk_learner_train(const wk_learner *learner, wk_unit *unit, wk_set_id set, wk_tensor loss,
                           wk_tensor objective);
/// The same in two parts, between which the weights may be read. Gives the gradient's norm, and
/// what the second part needs.
typedef struct wk_prepared {
    wk_tensor norm, flag;
} wk_prepared;
wk_prepared wk_learner_prepare(const wk_learner *learner, wk_unit *unit, wk_set_id set,
                               wk_tensor loss, wk_tensor objective);
void wk_learner_step(const wk_learner *learner, wk_unit *unit, wk_set_id set, wk_prepared prepared);

/// Branches of the graphs: what runs beside the imagination, forward and backward.
enum { WK_BRANCH_MAIN, WK_BRANCH_HEADS, WK_BRANCH_CRITIC, WK_BRANCH_DETER };

/// The counter as a tensor of the unit's graph.
wk_tensor wk_learner_counter(const wk_learner *learner, wk_graph *g, wk_counter_id which);
/// The stored posterior states [T*B,..] as persistent tensors of a graph.
wk_latent wk_learner_latent(const wk_learner *learner, wk_graph *g);
/// What the world model's graph leaves for the reward-free one beside gradients, in either.
typedef struct wk_handed {
    wk_latent latent;  // posterior states, as wk_learner_latent
    wk_tensor figures; // [WK_MODEL_FIGURES]
    wk_tensor flag;    // u64 [1]: the loss is not finite
} wk_handed;
wk_handed wk_learner_handed(const wk_learner *learner, wk_graph *g);
size_t wk_learner_handed_bytes(const wk_learner_config *config);

/// Record the graphs and bind them; the world model's comes before the reward-free one.
wk_status wk_learner_record_model(wk_learner *learner, wk_error *err);
wk_status wk_learner_record_learn(wk_learner *learner, wk_error *err);
wk_status wk_learner_record_tasks(wk_learner *learner, wk_error *err);
wk_status wk_learner_record_observe(wk_learner *learner, wk_error *err);

#endif
