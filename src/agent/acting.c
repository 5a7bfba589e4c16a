#include "agent/acting.h"

#include "agent/learner_parts.h"
#include "agent/networks.h"
#include "model/vision.h"
#include "nn/losses.h"
#include <stdlib.h>

struct wk_acting {
    wk_learner *learner;
    int count, policy;
    wk_unit unit;
    wk_buffer *memory; // counter (padded to 64 bytes), stoch [N,flat], deter [N,deter]
    wk_tensor image, action, keep;
    wk_tensor sampled, mode; // [S,N,A]
    int stack;
    float *scratch; // [S,N,A]
};

enum { COUNTER_BYTES = 64 };

static size_t stoch_bytes(const wk_acting *a)
{
    return (size_t)a->count * (size_t)wk_config_flat(&a->learner->config) * sizeof(float);
}

size_t wk_acting_state_size(const wk_acting *a)
{
    size_t deter = (size_t)a->count * (size_t)a->learner->config.deter * sizeof(float);
    return COUNTER_BYTES + stoch_bytes(a) + deter;
}

// Moves the states on by one image; gives features [1,N,F].
static wk_tensor record_state(wk_acting *a, wk_tensor counter)
{
    const wk_learner_config *c = &a->learner->config;
    wk_graph *g = a->unit.graph;
    wk_scope *model = a->unit.scope[WK_SET_MODEL];
    int n = a->count, flat = wk_config_flat(c);
    wk_latent kept = {
        wk_graph_persistent(g, WK_F32, WK_SHAPE(n, flat), "stoch", a->memory, COUNTER_BYTES),
        wk_graph_persistent(g, WK_F32, WK_SHAPE(n, c->deter), "deter", a->memory,
                            COUNTER_BYTES + stoch_bytes(a))};
    wk_latent before = {wk_graph_scale_rows(g, kept.stoch, a->keep),
                        wk_graph_scale_rows(g, kept.deter, a->keep)};
    wk_rssm rssm = wk_rssm_use(model, c);
    wk_tensor action = wk_rssm_action(&rssm, wk_graph_scale_rows(g, a->action, a->keep));
    wk_tensor deter = wk_rssm_advance(&rssm, before, action);
    wk_tensor embed = wk_encode(model, c, wk_graph_image(g, a->image));
    wk_tensor logits = wk_rssm_posterior(&rssm, deter, wk_rssm_embed(&rssm, embed));
    wk_random random = wk_nn_random(counter, c->seed, "act/observe", a->policy);
    wk_latent now = {wk_nn_sample_categorical(g, logits, c->classes, random), deter};
    wk_graph_store(g, kept.stoch, now.stoch);
    wk_graph_store(g, kept.deter, now.deter);
    return wk_graph_reshape(g, wk_rssm_features(&rssm, now), WK_SHAPE(1, n, wk_config_features(c)));
}

static wk_status record(wk_acting *a, wk_set_id actor, wk_error *err)
{
    const wk_learner_config *c = &a->learner->config;
    WK_TRY(wk_unit_begin(&a->unit, a->learner, (const wk_set_id[]){WK_SET_MODEL, actor}, 2, err));
    wk_graph *g = a->unit.graph;
    wk_tensor counter = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "counter", a->memory, 0);
    a->image = wk_graph_input(g, WK_U8, WK_SHAPE(a->count, 64, 64, 3), "image");
    a->action = wk_graph_input(g, WK_F32, WK_SHAPE(a->count, c->action_size), "action");
    a->keep = wk_graph_input(g, WK_F32, WK_SHAPE(a->count), "keep");
    wk_tensor features = record_state(a, counter);
    wk_tensor raw = wk_actor_head(a->unit.scope[actor], c, features);
    a->stack = wk_graph_shape(g, raw).dim[0];
    a->sampled = wk_graph_truncated_normal_sample(
        g, raw, wk_nn_random(counter, c->seed, "act/action", a->policy));
    a->mode = wk_graph_truncated_normal_mode(g, raw);
    wk_graph_output(g, a->sampled);
    wk_graph_output(g, a->mode);
    wk_graph_count(g, counter, 1);
    return wk_unit_finish(&a->unit, a->learner, err);
}

static wk_status build(wk_acting *a, wk_error *err)
{
    const wk_learner_config *c = &a->learner->config;
    bool explore = a->policy == WK_POLICY_EXPLORE;
    wk_set_id actor = explore ? WK_SET_EXPLORE_ACTOR : WK_SET_TASK_ACTOR;
    if (!a->learner->params[actor] || a->policy >= c->tasks)
        return wk_fail(err, WK_E_INPUT,
                       explore ? "this learner explores by random actions and has no policy to act"
                               : "this learner has no policy for task %d (it has %d)",
                       a->policy, c->tasks);
    size_t stack = explore ? 1 : (size_t)c->tasks;
    size_t numbers = stack * (size_t)a->count * (size_t)c->action_size;
    a->scratch = malloc(numbers * sizeof(float));
    if (!a->scratch) return wk_fail(err, WK_E_MEMORY, "no memory for %zu actions", numbers);
    WK_TRY(wk_buffer_create(a->learner->backend, wk_acting_state_size(a), &a->memory, err));
    return record(a, actor, err);
}

wk_status wk_acting_create(wk_learner *learner, int policy, int count, wk_acting **out,
                           wk_error *err)
{
    wk_acting *a = calloc(1, sizeof *a);
    if (!a) return wk_fail(err, WK_E_MEMORY, "no memory for an acting policy");
    a->learner = learner;
    a->policy = policy;
    a->count = count;
    wk_status status = build(a, err);
    if (status != WK_OK) {
        wk_acting_destroy(a);
        return status;
    }
    *out = a;
    return WK_OK;
}

void wk_acting_destroy(wk_acting *a)
{
    if (!a) return;
    wk_unit_free(&a->unit);
    wk_buffer_destroy(a->memory);
    free(a->scratch);
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

wk_status wk_acting_step(wk_acting *a, const uint8_t *images, const float *previous,
                         const uint8_t *first, wk_act_mode mode, float *actions, wk_error *err)
{
    wk_program *program = a->unit.program;
    size_t n = (size_t)a->count, width = (size_t)a->learner->config.action_size;
    for (size_t i = 0; i < n; i++)
        a->scratch[i] = first[i] ? 0.0f : 1.0f;
    WK_TRY(wk_program_upload(program, a->keep, a->scratch, n * sizeof(float), err));
    WK_TRY(wk_program_upload(program, a->image, images, n * 64 * 64 * 3, err));
    WK_TRY(wk_program_upload(program, a->action, previous, n * width * sizeof(float), err));
    WK_TRY(wk_program_run(program, err));
    WK_TRY(wk_program_download(program, mode == WK_ACT_MODE ? a->mode : a->sampled, a->scratch,
                               (size_t)a->stack * n * width * sizeof(float), err));
    size_t member = a->policy < 0 ? 0 : (size_t)a->policy;
    for (size_t i = 0; i < n * width; i++)
        actions[i] = a->scratch[member * n * width + i];
    return WK_OK;
}

wk_status wk_acting_save(const wk_acting *a, void *bytes, wk_error *err)
{
    return wk_buffer_download(a->memory, 0, bytes, wk_acting_state_size(a), err);
}

wk_status wk_acting_load(wk_acting *a, const void *bytes, wk_error *err)
{
    return wk_buffer_upload(a->memory, 0, bytes, wk_acting_state_size(a), err);
}
