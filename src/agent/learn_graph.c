// The reward-free graph: the world model's step, then exploration in imagination, then the
// ensemble. It begins with what the world model's graph (model_graph.c) left.
#include "agent/behaviour.h"
#include "agent/learner_parts.h"
#include "agent/networks.h"
#include <assert.h>

wk_scalars wk_scalars_join(wk_graph *g, const wk_tensor *tensors, size_t count)
{
    wk_scalars f = {0};
    wk_tensor parts[WK_SCALARS_MAX];
    assert(count <= WK_SCALARS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!wk_tensor_exists(tensors[i])) continue;
        size_t numbers = wk_shape_count(wk_graph_shape(g, tensors[i]));
        f.item[f.count].x = tensors[i];
        f.item[f.count].offset = f.total;
        f.item[f.count].count = numbers;
        parts[f.count++] = wk_graph_reshape(g, tensors[i], WK_SHAPE((int)numbers));
        f.total += numbers;
    }
    f.joined = wk_graph_concat(g, parts, f.count, 0);
    return f;
}

const float *wk_scalars_at(const wk_scalars *scalars, const float *numbers, wk_tensor x)
{
    for (size_t i = 0; i < scalars->count; i++)
        if (scalars->item[i].x.id == x.id) return numbers + scalars->item[i].offset;
    return NULL;
}

// What the update begins with.
typedef struct beginning {
    wk_starts starts; // of the batch
    wk_tensor number; // of updates before this one
    wk_tensor count;  // and with it
} beginning;

// Imports the handoff of the world model's graph: posterior states, scalars, and the gradients for
// the model's step; and counts the update. Nothing after this touches the handoff or writes the
// model: from here on the world model's graph may run on the next batch, and the task graph on the
// posterior states (weights_ready).
static beginning take_over(wk_learner *learner)
{
    wk_compiled_graph *compiled = &learner->learn;
    wk_graph *g = compiled->graph;
    wk_optimizer *optimizer = learner->optimizers[WK_NETWORK_MODEL];
    wk_handoff handoff = wk_learner_handoff(learner, g);
    wk_starts starts = wk_learner_starts(learner, g);
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_LEARN);
    wk_tensor number = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "update", NULL, 0);
    wk_tensor scalars = wk_graph_persistent(g, WK_F32, wk_graph_shape(g, handoff.scalars),
                                            "model figures", NULL, 0);
    wk_graph_section(g, "optimiser");
    wk_starts_store(g, starts, handoff.starts);
    wk_graph_store(g, scalars, handoff.scalars);
    wk_graph_store(g, number, counter);
    wk_graph_count(g, counter, 1);
    wk_optimizer_import_gradients(optimizer, compiled->scope[WK_NETWORK_MODEL]);
    wk_optimizer_step(optimizer, handoff.nonfinite);
    learner->learn_t.model_scalars = scalars;
    return (beginning){starts, number, counter};
}

static void record_exploration(wk_learner *learner, beginning at)
{
    const wk_learner_config *c = &learner->config;
    wk_compiled_graph *compiled = &learner->learn;
    wk_learn_tensors *t = &learner->learn_t;
    wk_graph *g = compiled->graph;
    wk_scope *actor = compiled->scope[WK_NETWORK_EXPLORE_ACTOR];

    wk_graph_section(g, "imagination");
    wk_rssm rssm = wk_rssm_use(compiled->scope[WK_NETWORK_MODEL], c);
    wk_rollout rollout = wk_rollout_imagine(&rssm, actor, at.starts.latent, "explore", at.number);
    if (c->discount_head)
        wk_rollout_discounts(&rollout, compiled->scope[WK_NETWORK_MODEL], c, at.starts.continues);
    wk_graph_section(g, "ensemble reward");
    wk_tensor by_start = wk_rollout_disagreement(&rollout, compiled->scope[WK_NETWORK_ENSEMBLE], c);
    t->delta = wk_graph_mean(g, by_start, 0);
    // The policy's rewards are those of its steps.
    if (c->ensemble_states == WK_STATES_ALL)
        by_start = wk_graph_slice(g, by_start, 0, 1, c->horizon);
    wk_tensor reward = wk_graph_reshape(g, by_start, WK_SHAPE(1, c->horizon, rollout.starts));
    t->reward = wk_graph_mean_all(g, reward);
    if (!actor) return;

    wk_graph_section(g, "policy");
    wk_policy_scopes policy = {actor, compiled->scope[WK_NETWORK_EXPLORE_CRITIC],
                               compiled->scope[WK_NETWORK_EXPLORE_SLOW]};
    wk_behaviour b = wk_behaviour_record(&policy, c, &rollout, reward);
    if (c->saturation_scale > 0 && !c->discrete) wk_behaviour_add_saturation(g, c, &b);
    t->actor_loss = b.actor_loss;
    t->entropy = b.entropy;

    t->critic_loss = wk_critic_loss(policy.critic, c, &rollout, b.returns, &t->value);
    t->critic_norm = wk_learner_record_step(learner, compiled, WK_NETWORK_EXPLORE_CRITIC,
                                            t->critic_loss, t->critic_loss);

    wk_graph_section(g, "policy");
    wk_tensor objective = wk_actor_objective(g, c, &rollout, &b);
    t->actor_norm = wk_learner_record_step(learner, compiled, WK_NETWORK_EXPLORE_ACTOR,
                                           b.actor_loss, objective);
}

// Every member of the ensemble predicts the next state from state and action. Exploration was
// rewarded by the ensemble as it was before this step.
static void record_ensemble(wk_learner *learner, wk_latent latent)
{
    const wk_learner_config *c = &learner->config;
    wk_compiled_graph *compiled = &learner->learn;
    wk_learn_tensors *t = &learner->learn_t;
    wk_graph *g = compiled->graph;
    wk_graph_section(g, "ensemble");
    wk_tensor features = wk_graph_concat(g, (wk_tensor[]){latent.stoch, latent.deter}, 2, 1);
    features = wk_graph_reshape(g, features, WK_SHAPE(c->length, c->batch, wk_config_features(c)));
    t->ensemble_loss =
        wk_ensemble_loss(compiled->scope[WK_NETWORK_ENSEMBLE], c, features, t->action);
    t->ensemble_norm = wk_learner_record_step(learner, compiled, WK_NETWORK_ENSEMBLE,
                                              t->ensemble_loss, t->ensemble_loss);
}

wk_status wk_learner_record_learn(wk_learner *learner, wk_error *err)
{
    static const wk_network_id networks[] = {WK_NETWORK_MODEL, WK_NETWORK_ENSEMBLE,
                                             WK_NETWORK_EXPLORE_ACTOR, WK_NETWORK_EXPLORE_CRITIC,
                                             WK_NETWORK_EXPLORE_SLOW};
    wk_compiled_graph *compiled = &learner->learn;
    wk_learn_tensors *t = &learner->learn_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, networks, sizeof networks / sizeof *networks,
                                   err));
    wk_graph *g = compiled->graph;
    const wk_learner_config *c = &learner->config;
    learner->learn_idle = wk_learner_idle_input(learner, g);
    t->action = wk_graph_input(g, WK_F32, WK_SHAPE(c->length, c->batch, c->action_size), "action");
    beginning at = take_over(learner);
    record_exploration(learner, at);
    record_ensemble(learner, at.starts.latent);
    if (compiled->scope[WK_NETWORK_EXPLORE_SLOW])
        wk_scope_copy_every(compiled->scope[WK_NETWORK_EXPLORE_SLOW],
                            compiled->scope[WK_NETWORK_EXPLORE_CRITIC], at.count,
                            (uint64_t)c->slow_period);
    const wk_tensor read[] = {t->model_scalars, t->ensemble_loss, t->ensemble_norm, t->reward,
                              t->delta,         t->actor_loss,    t->critic_loss,   t->actor_norm,
                              t->critic_norm,   t->value,         t->entropy};
    t->scalars = wk_scalars_join(g, read, sizeof read / sizeof *read);
    wk_graph_output(g, t->scalars.joined);
    return wk_compiled_graph_bind(compiled, learner, err);
}
