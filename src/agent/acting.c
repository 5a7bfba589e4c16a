#include "agent/acting.h"

#include "agent/behaviour.h"
#include "agent/learner_parts.h"
#include "base/observation.h"
#include "nn/layers.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct wk_acting {
    wk_learner *learner;
    int count, policy;
    wk_compiled_graph compiled;
    wk_weight_snapshot weights; // the weights it reads
    wk_buffer *memory; // counter (padded to 64 bytes), stoch [N,stoch*classes], deter [N,deter]
    wk_buffer *device_inputs; // images, vectors [N,V], actions [N,A], not_first [N]
    void *pinned_inputs;      // the same in pinned memory
    float *pinned_actions;    // actions [N,A] in pinned memory
    wk_queue *queue;
    wk_event *done;
    wk_tensor image, vector, action, not_first;
    wk_tensor sampled, mode; // [S,N,A]
    bool estimating;
    wk_tensor value, reward;    // [S,N], where it is estimating
    float *estimates;           // value [N], reward [N] in host memory of the backend
    struct wk_acting **members; // [population], the leader's; the leader is the first
    int population;
    void *idle_state; // host memory for the state of a member that does not act; NULL until it is
                      // needed
};

static size_t stoch_bytes(const wk_acting *a)
{
    return (size_t)a->count * (size_t)wk_config_stoch_size(&a->learner->config) * sizeof(float);
}

size_t wk_acting_state_size(const wk_acting *a)
{
    size_t deter = (size_t)a->count * (size_t)a->learner->config.deter * sizeof(float);
    return WK_ACTING_COUNTER_BYTES + stoch_bytes(a) + deter;
}

static size_t action_bytes(const wk_acting *a)
{
    return (size_t)a->count * (size_t)a->learner->config.action_size * sizeof(float);
}

// Of one estimate for every environment.
static size_t estimate_bytes(const wk_acting *a)
{
    return (size_t)a->count * sizeof(float);
}

// Offsets of images, vectors, actions and flags in the input buffer.
typedef struct input_layout {
    size_t vectors, actions, not_first, total; // images come first
} input_layout;

static input_layout input_layout_of(const wk_acting *a)
{
    wk_observation_spec seen = a->learner->config.observation;
    size_t count = (size_t)a->count, vectors = count * wk_observation_image_bytes(seen);
    size_t actions = vectors + count * (size_t)seen.vector * sizeof(float);
    size_t not_first = actions + action_bytes(a);
    return (input_layout){vectors, actions, not_first, not_first + count * sizeof(float)};
}

static bool explores(const wk_acting *a)
{
    return a->policy == WK_POLICY_EXPLORE;
}

static wk_status record(wk_acting *a, wk_error *err)
{
    static const wk_network_id exploring[] = {WK_NETWORK_MODEL, WK_NETWORK_EXPLORE_ACTOR,
                                              WK_NETWORK_EXPLORE_CRITIC};
    static const wk_network_id doing[] = {WK_NETWORK_MODEL, WK_NETWORK_TASK_ACTOR,
                                          WK_NETWORK_TASK_CRITIC, WK_NETWORK_REWARD};
    const wk_network_id *networks = explores(a) ? exploring : doing;
    const wk_learner_config *c = &a->learner->config;
    const int n = a->count, stoch_size = wk_config_stoch_size(c);
    const size_t count = !a->estimating ? 2 : explores(a) ? 3 : 4;
    WK_TRY(wk_compiled_graph_begin(&a->compiled, a->learner, networks, count, err));
    wk_graph *g = a->compiled.graph;
    wk_scope **scope = a->compiled.scope;

    // What it reads: counter and states, then the observation.
    wk_tensor counter = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "counter", a->memory, 0);
    input_layout at = input_layout_of(a);
    if (!c->observation.no_image)
        a->image =
            wk_graph_persistent(g, WK_U8, WK_SHAPE(n, 64, 64, 3), "image", a->device_inputs, 0);
    if (c->observation.vector > 0)
        a->vector = wk_graph_persistent(g, WK_F32, WK_SHAPE(n, c->observation.vector), "vector",
                                        a->device_inputs, at.vectors);
    a->action = wk_graph_persistent(g, WK_F32, WK_SHAPE(n, c->action_size), "action",
                                    a->device_inputs, at.actions);
    a->not_first =
        wk_graph_persistent(g, WK_F32, WK_SHAPE(n), "not_first", a->device_inputs, at.not_first);
    wk_latent stored = {wk_graph_persistent(g, WK_F32, WK_SHAPE(n, stoch_size), "stoch", a->memory,
                                            WK_ACTING_COUNTER_BYTES),
                        wk_graph_persistent(g, WK_F32, WK_SHAPE(n, c->deter), "deter", a->memory,
                                            WK_ACTING_COUNTER_BYTES + stoch_bytes(a))};

    // The states move on by one observation.
    wk_rssm rssm = wk_rssm_use(scope[WK_NETWORK_MODEL], c);
    wk_latent now = wk_latent_observe(&rssm, stored, a->action, a->not_first, a->image, a->vector,
                                      wk_nn_random(counter, c->seed, "act/observe", a->policy));
    wk_graph_store(g, stored.stoch, now.stoch);
    wk_graph_store(g, stored.deter, now.deter);

    // Actions, and what critic and reward head say about the states.
    wk_tensor features =
        wk_graph_reshape(g, wk_rssm_features(&rssm, now), WK_SHAPE(1, n, wk_config_features(c)));
    wk_tensor raw = wk_actor_head(scope[networks[1]], c, features);
    a->sampled =
        wk_actor_sample(g, c, raw, wk_nn_random(counter, c->seed, "act/action", a->policy));
    a->mode = wk_actor_mode(g, c, raw);
    wk_graph_output(g, a->sampled);
    wk_graph_output(g, a->mode);
    if (a->estimating) {
        a->value = wk_scalar_head(scope[networks[2]], c, features);
        wk_graph_output(g, a->value);
    }
    if (a->estimating && !explores(a)) {
        a->reward = wk_scalar_head(scope[WK_NETWORK_REWARD], c, features);
        wk_graph_output(g, a->reward);
    }
    wk_graph_count(g, counter, 1);

    WK_TRY(wk_compiled_graph_bind(&a->compiled, a->learner, err));
    WK_TRY(wk_weight_snapshot_open(&a->weights, a->learner, &a->compiled, err));
    WK_TRY(wk_program_plan(g, a->learner->backend, &a->compiled.program, err));
    wk_program_set_priority(a->compiled.program, WK_PRIORITY_HIGH);
    return WK_OK;
}

// A member up to its planned program; the queue is the leader's.
static wk_status prepare(wk_acting *a, wk_error *err)
{
    const wk_learner_config *c = &a->learner->config;
    wk_network_id actor = explores(a) ? WK_NETWORK_EXPLORE_ACTOR : WK_NETWORK_TASK_ACTOR;
    if (!a->learner->params[actor] || a->policy >= c->tasks)
        return wk_fail(err, WK_E_INPUT,
                       explores(a)
                           ? "this learner explores by random actions and has no policy to act"
                           : "this learner has no policy for task %d (it has %d)",
                       a->policy, c->tasks);
    wk_backend *backend = a->learner->backend;
    WK_TRY(wk_buffer_create(backend, wk_acting_state_size(a), &a->memory, err));
    WK_TRY(wk_buffer_create(backend, input_layout_of(a).total, &a->device_inputs, err));
    WK_TRY(wk_pinned_create(backend, input_layout_of(a).total, &a->pinned_inputs, err));
    WK_TRY(wk_pinned_create(backend, action_bytes(a), (void **)&a->pinned_actions, err));
    if (a->estimating)
        WK_TRY(wk_pinned_create(backend, 2 * estimate_bytes(a), (void **)&a->estimates, err));
    return record(a, err);
}

// The queue, and one program for all members.
static wk_status compile(wk_acting *leader, wk_error *err)
{
    wk_program *programs[WK_POPULATION_MAX];
    wk_buffer *temporaries[WK_POPULATION_MAX] = {0};
    for (int r = 0; r < leader->population; r++)
        programs[r] = leader->members[r]->compiled.program;
    WK_TRY(wk_queue_create(leader->learner->backend, true, &leader->queue, err));
    WK_TRY(wk_event_create(leader->learner->backend, &leader->done, err));
    return wk_program_compile_population(programs, temporaries, leader->population, err);
}

static wk_status build(wk_acting *const *members, int count, wk_error *err)
{
    wk_acting *leader = members[0];
    leader->population = count;
    leader->members = malloc((size_t)count * sizeof *members);
    if (!leader->members) return wk_fail(err, WK_E_MEMORY, "no memory for an acting policy");
    memcpy(leader->members, members, (size_t)count * sizeof *members);
    for (int r = 0; r < count; r++)
        WK_TRY(prepare(members[r], err));
    return compile(leader, err);
}

static wk_status create(const wk_acting *with, wk_learner *const *learners, int count,
                        wk_acting **out, wk_error *err)
{
    wk_acting *members[WK_POPULATION_MAX] = {0};
    wk_status status = WK_OK;
    assert(count <= WK_POPULATION_MAX);
    for (int r = 0; status == WK_OK && r < count; r++) {
        members[r] = malloc(sizeof **members);
        if (!members[r]) {
            status = wk_fail(err, WK_E_MEMORY, "no memory for an acting policy");
            break;
        }
        *members[r] = *with;
        members[r]->learner = learners[r];
    }
    if (status == WK_OK) status = build(members, count, err);
    for (int r = 0; r < count; r++) {
        if (status == WK_OK)
            out[r] = members[r];
        else
            wk_acting_destroy(members[r]);
    }
    return status;
}

wk_status wk_acting_create(wk_learner *learner, int policy, int count, wk_acting **out,
                           wk_error *err)
{
    return wk_acting_create_population(&learner, 1, policy, count, out, err);
}

wk_status wk_acting_create_population(wk_learner *const *learners, int members, int policy,
                                      int count, wk_acting **out, wk_error *err)
{
    wk_acting with = {.policy = policy, .count = count};
    return create(&with, learners, members, out, err);
}

wk_status wk_acting_create_estimating(wk_learner *learner, int policy, int count, wk_acting **out,
                                      wk_error *err)
{
    wk_acting with = {.policy = policy, .count = count, .estimating = true};
    return create(&with, &learner, 1, out, err);
}

void wk_acting_destroy(wk_acting *a)
{
    if (!a) return;
    free(a->members);
    free(a->idle_state);
    wk_queue_destroy(a->queue);
    wk_compiled_graph_free(&a->compiled);
    wk_weight_snapshot_close(&a->weights);
    wk_buffer_destroy(a->memory);
    wk_buffer_destroy(a->device_inputs);
    wk_pinned_destroy(a->learner->backend, a->pinned_inputs);
    wk_pinned_destroy(a->learner->backend, a->pinned_actions);
    wk_pinned_destroy(a->learner->backend, a->estimates);
    wk_event_destroy(a->done);
    free(a);
}

wk_status wk_acting_begin(wk_acting *a, uint64_t counter, wk_error *err)
{
    uint64_t *state = calloc(1, wk_acting_state_size(a));
    if (!state) return wk_fail(err, WK_E_MEMORY, "no memory for %d recurrent states", a->count);
    state[0] = counter;
    wk_status status = wk_acting_load(a, state, err);
    free(state);
    return status;
}

static void fill_inputs(wk_acting *a, const wk_acting_rows *rows)
{
    input_layout at = input_layout_of(a);
    char *bytes = a->pinned_inputs;
    float *not_first = (float *)(void *)(bytes + at.not_first);
    if (at.vectors > 0) memcpy(bytes, rows->images, at.vectors);
    if (at.actions > at.vectors) memcpy(bytes + at.vectors, rows->vectors, at.actions - at.vectors);
    memcpy(bytes + at.actions, rows->previous, at.not_first - at.actions);
    for (int i = 0; i < a->count; i++)
        not_first[i] = rows->first[i] ? 0.0f : 1.0f;
}

// Brings what policy `policy` of a result [S,..] of `bytes` a policy has to the host.
static wk_status fetch(wk_queue *queue, const wk_acting *a, wk_tensor x, size_t bytes, void *to,
                       wk_error *err)
{
    wk_location at = wk_program_locate(a->compiled.program, x);
    size_t policy = explores(a) ? 0 : (size_t)a->policy;
    return wk_queue_download(queue, at.buffer, at.offset + policy * bytes, to, bytes, err);
}

static wk_status send(wk_queue *queue, wk_acting *a, const wk_acting_rows *rows, wk_error *err)
{
    fill_inputs(a, rows);
    return wk_queue_upload(queue, a->device_inputs, 0, a->pinned_inputs, input_layout_of(a).total,
                           err);
}

static wk_status receive(wk_queue *queue, wk_acting *a, wk_act_mode mode, wk_error *err)
{
    WK_TRY(fetch(queue, a, mode == WK_ACT_MODE ? a->mode : a->sampled, action_bytes(a),
                 a->pinned_actions, err));
    if (!a->estimating) return WK_OK;
    WK_TRY(fetch(queue, a, a->value, estimate_bytes(a), a->estimates, err));
    if (explores(a)) return WK_OK;
    return fetch(queue, a, a->reward, estimate_bytes(a), a->estimates + a->count, err);
}

// The program moves the states of all members on; those that do not act get theirs back.
static wk_status keep_states(wk_acting *a, wk_error *err)
{
    if (!a->idle_state) a->idle_state = malloc(wk_acting_state_size(a));
    if (!a->idle_state)
        return wk_fail(err, WK_E_MEMORY, "no memory for %d recurrent states", a->count);
    return wk_acting_save(a, a->idle_state, err);
}

wk_status wk_acting_step_population(wk_acting *leader, const wk_acting_rows *rows, wk_act_mode mode,
                                    wk_error *err)
{
    wk_queue *queue = leader->queue;
    for (int r = 0; r < leader->population; r++) {
        wk_acting *a = leader->members[r];
        WK_TRY(rows[r].actions ? send(queue, a, &rows[r], err) : keep_states(a, err));
        WK_TRY(wk_weight_snapshot_read(&a->weights, queue, err));
    }
    WK_TRY(wk_program_enqueue(leader->compiled.program, queue, err));
    for (int r = 0; r < leader->population; r++)
        if (rows[r].actions) WK_TRY(receive(queue, leader->members[r], mode, err));
    WK_TRY(wk_queue_record_event(queue, leader->done, err));
    WK_TRY(wk_event_wait(leader->done, err));
    for (int r = 0; r < leader->population; r++) {
        wk_acting *a = leader->members[r];
        if (rows[r].actions)
            memcpy(rows[r].actions, a->pinned_actions, action_bytes(a));
        else
            WK_TRY(wk_acting_load(a, a->idle_state, err));
    }
    return WK_OK;
}

wk_status wk_acting_step(wk_acting *a, const wk_acting_rows *rows, wk_act_mode mode, wk_error *err)
{
    assert(a->population == 1);
    return wk_acting_step_population(a, rows, mode, err);
}

wk_estimates wk_acting_estimates(const wk_acting *a)
{
    assert(a->estimating);
    return (wk_estimates){a->estimates, explores(a) ? NULL : a->estimates + a->count};
}

wk_status wk_acting_save(const wk_acting *a, void *bytes, wk_error *err)
{
    return wk_buffer_download(a->memory, 0, bytes, wk_acting_state_size(a), err);
}

wk_status wk_acting_load(wk_acting *a, const void *bytes, wk_error *err)
{
    return wk_buffer_upload(a->memory, 0, bytes, wk_acting_state_size(a), err);
}
