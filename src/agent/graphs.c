// The graphs that a learner records once and runs for every update, in the order in which they run:
// the world model's on a batch; the update's (the model's step, exploration in imagination, the
// ensemble); the tasks' (reward heads on the posterior states, then one actor-critic per task, all
// side by side on the stack axis). And the one that only observes a batch.
//
// The world model's graph changes nothing that others read: it exports gradients, posterior states
// and scalars to a handoff buffer, from which the update graph makes the step. learner.h shows why.
#include "agent/behaviour.h"
#include "agent/learner_parts.h"

// [T,B,D] as [T*B,D].
static wk_tensor as_rows(wk_graph *g, wk_tensor x)
{
    wk_shape s = wk_graph_shape(g, x);
    return wk_graph_reshape(g, x, WK_SHAPE(s.dim[0] * s.dim[1], s.dim[2]));
}

// Stores the posterior states of a batch as rows, for imagination to start from.
static void keep_starts(wk_graph *g, wk_starts place, wk_latent latent,
                        const wk_batch_tensors *batch)
{
    latent.stoch = as_rows(g, wk_graph_stop_gradient(g, latent.stoch));
    latent.deter = as_rows(g, wk_graph_stop_gradient(g, latent.deter));
    wk_starts_store(g, place, (wk_starts){latent, batch->continues});
}

wk_status wk_learner_record_model(wk_learner *learner, wk_error *err)
{
    wk_compiled_graph *compiled = &learner->model;
    wk_model_tensors *t = &learner->model_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, (const wk_network_id[]){WK_NETWORK_MODEL}, 1,
                                   err));
    wk_graph *g = compiled->graph;
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_UPDATES);
    wk_handoff handoff = wk_learner_handoff(learner, g);
    t->batch = wk_batch_inputs(g, &learner->config);
    t->losses =
        wk_model_record(compiled->scope[WK_NETWORK_MODEL], &learner->config, &t->batch, counter);
    wk_learner_record_finite_check(compiled, t->losses.total, handoff.nonfinite);
    t->norm = wk_optimizer_export_gradients(learner->optimizers[WK_NETWORK_MODEL],
                                            compiled->scope[WK_NETWORK_MODEL], t->losses.total);
    keep_starts(g, handoff.starts, t->losses.latent, &t->batch);
    const wk_tensor metrics[] = {
#define WK_MODEL_METRIC(field, tensor, name, condition, checked) t->tensor,
#include "agent/update_metrics.def"
    };
    t->scalars = wk_scalars_join(g, metrics, sizeof metrics / sizeof *metrics);
    wk_graph_store(g, handoff.scalars, t->scalars.joined);
    return wk_compiled_graph_bind(compiled, learner, err);
}

wk_status wk_learner_record_observe(wk_learner *learner, wk_error *err)
{
    wk_compiled_graph *compiled = &learner->observe;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, (const wk_network_id[]){WK_NETWORK_MODEL}, 1,
                                   err));
    wk_graph *g = compiled->graph;
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_OBSERVE);
    learner->observe_t = wk_batch_inputs(g, &learner->config);
    wk_model_losses seen = wk_model_record(compiled->scope[WK_NETWORK_MODEL], &learner->config,
                                           &learner->observe_t, counter);
    keep_starts(g, wk_learner_starts(learner, g), seen.latent, &learner->observe_t);
    wk_graph_count(g, counter, 1);
    return wk_compiled_graph_bind(compiled, learner, err);
}

// What the update starts from.
typedef struct update_start {
    wk_starts starts; // of the batch
    wk_tensor number; // of updates before this one
    wk_tensor count;  // and with it
} update_start;

// Imports the handoff of the world model's graph: posterior states, scalars, and the gradients for
// the model's step; and counts the update. Nothing after this touches the handoff or writes the
// model, so others may read it from here on (weights_ready in learner.h).
static update_start import_model_update(wk_learner *learner)
{
    wk_compiled_graph *compiled = &learner->update;
    wk_graph *g = compiled->graph;
    wk_optimizer *optimizer = learner->optimizers[WK_NETWORK_MODEL];
    wk_handoff handoff = wk_learner_handoff(learner, g);
    wk_starts starts = wk_learner_starts(learner, g);
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_UPDATES);
    wk_tensor number = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "update", NULL, 0);
    wk_tensor scalars = wk_graph_persistent(g, WK_F32, wk_graph_shape(g, handoff.scalars),
                                            "model scalars", NULL, 0);
    wk_graph_section(g, "optimiser");
    wk_starts_store(g, starts, handoff.starts);
    wk_graph_store(g, scalars, handoff.scalars);
    wk_graph_store(g, number, counter);
    wk_graph_count(g, counter, 1);
    wk_optimizer_import_gradients(optimizer, compiled->scope[WK_NETWORK_MODEL]);
    wk_optimizer_step(optimizer, handoff.nonfinite);
    learner->update_t.model_scalars = scalars;
    return (update_start){starts, number, counter};
}

static void record_exploration(wk_learner *learner, update_start at)
{
    const wk_learner_config *c = &learner->config;
    wk_compiled_graph *compiled = &learner->update;
    wk_update_tensors *t = &learner->update_t;
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
    wk_compiled_graph *compiled = &learner->update;
    wk_update_tensors *t = &learner->update_t;
    wk_graph *g = compiled->graph;
    wk_graph_section(g, "ensemble");
    wk_tensor features = wk_graph_concat(g, (wk_tensor[]){latent.stoch, latent.deter}, 2, 1);
    features = wk_graph_reshape(g, features, WK_SHAPE(c->length, c->batch, wk_config_features(c)));
    t->ensemble_loss =
        wk_ensemble_loss(compiled->scope[WK_NETWORK_ENSEMBLE], c, features, t->action);
    t->ensemble_norm = wk_learner_record_step(learner, compiled, WK_NETWORK_ENSEMBLE,
                                              t->ensemble_loss, t->ensemble_loss);
}

wk_status wk_learner_record_update(wk_learner *learner, wk_error *err)
{
    static const wk_network_id networks[] = {WK_NETWORK_MODEL, WK_NETWORK_ENSEMBLE,
                                             WK_NETWORK_EXPLORE_ACTOR, WK_NETWORK_EXPLORE_CRITIC,
                                             WK_NETWORK_EXPLORE_SLOW};
    wk_compiled_graph *compiled = &learner->update;
    wk_update_tensors *t = &learner->update_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, networks, sizeof networks / sizeof *networks,
                                   err));
    wk_graph *g = compiled->graph;
    const wk_learner_config *c = &learner->config;
    learner->update_idle = wk_learner_idle_input(learner, g);
    t->action = wk_graph_input(g, WK_F32, WK_SHAPE(c->length, c->batch, c->action_size), "action");
    update_start at = import_model_update(learner);
    record_exploration(learner, at);
    record_ensemble(learner, at.starts.latent);
    if (compiled->scope[WK_NETWORK_EXPLORE_SLOW])
        wk_scope_copy_every(compiled->scope[WK_NETWORK_EXPLORE_SLOW],
                            compiled->scope[WK_NETWORK_EXPLORE_CRITIC], at.count,
                            (uint64_t)c->slow_period);
    const wk_tensor results[] = {
        t->model_scalars,
        t->delta,
#define WK_UPDATE_METRIC(field, tensor, name, checked) t->tensor,
#define WK_POLICY_METRIC(field, name, checked) t->field,
#include "agent/update_metrics.def"
    };
    t->scalars = wk_scalars_join(g, results, sizeof results / sizeof *results);
    wk_graph_output(g, t->scalars.joined);
    return wk_compiled_graph_bind(compiled, learner, err);
}

// Reward heads: loss per task of predicting rewards [tasks,N] at features [1,N,F].
static void record_reward_heads(wk_learner *learner, wk_tensor features)
{
    wk_compiled_graph *compiled = &learner->tasks;
    wk_task_tensors *t = &learner->task_t;
    wk_graph *g = compiled->graph;
    wk_scope *heads = compiled->scope[WK_NETWORK_REWARD];
    wk_shape single = WK_SHAPE(learner->config.tasks, wk_config_rows(&learner->config), 1);
    wk_tensor predicted =
        wk_graph_reshape(g, wk_scalar_head(heads, &learner->config, features), single);
    wk_tensor target = wk_graph_reshape(g, t->reward, single);
    t->reward_loss = wk_graph_mean(g, wk_graph_half_squared_error(g, predicted, target, 1), 1);
    wk_graph_section(g, "optimiser");
    // Tasks stand alone: a bad number in one skips the step of that one, by its own gradient.
    t->reward_norm = wk_optimizer_record(learner->optimizers[WK_NETWORK_REWARD], heads,
                                         wk_graph_sum_all(g, t->reward_loss), (wk_tensor){0});
}

static void record_policies(wk_learner *learner, wk_starts start, wk_tensor counter)
{
    const wk_learner_config *c = &learner->config;
    wk_compiled_graph *compiled = &learner->tasks;
    wk_task_tensors *t = &learner->task_t;
    wk_graph *g = compiled->graph;
    wk_policy_scopes policy = {compiled->scope[WK_NETWORK_TASK_ACTOR],
                               compiled->scope[WK_NETWORK_TASK_CRITIC],
                               compiled->scope[WK_NETWORK_TASK_SLOW]};

    wk_graph_section(g, "imagination");
    wk_rssm rssm = wk_rssm_use(compiled->scope[WK_NETWORK_MODEL], c);
    wk_rollout rollout = wk_rollout_imagine(&rssm, policy.actor, start.latent, "task", counter);
    if (c->discount_head)
        wk_rollout_discounts(&rollout, compiled->scope[WK_NETWORK_MODEL], c, start.continues);
    wk_graph_section(g, "policy");
    // Rewards are those received on arriving: the head reads the state after the step.
    wk_tensor reward = wk_rollout_reward(&rollout, compiled->scope[WK_NETWORK_REWARD], c);
    wk_behaviour b = wk_behaviour_record(&policy, c, &rollout, reward);
    t->actor_loss = b.actor_loss;
    t->entropy = b.entropy;

    wk_tensor objective = wk_actor_objective(g, c, &rollout, &b);
    t->critic_loss = wk_critic_loss(policy.critic, c, &rollout, b.returns, &t->value);
    wk_graph_section(g, "optimiser");
    t->critic_norm = wk_optimizer_record(learner->optimizers[WK_NETWORK_TASK_CRITIC], policy.critic,
                                         wk_graph_sum_all(g, t->critic_loss), (wk_tensor){0});
    t->actor_norm = wk_optimizer_record(learner->optimizers[WK_NETWORK_TASK_ACTOR], policy.actor,
                                        objective, (wk_tensor){0});
    wk_graph_count(g, counter, 1);
    wk_scope_copy_every(policy.slow, policy.critic, counter, (uint64_t)c->slow_period);
}

wk_status wk_learner_record_tasks(wk_learner *learner, wk_error *err)
{
    static const wk_network_id networks[] = {WK_NETWORK_MODEL, WK_NETWORK_REWARD,
                                             WK_NETWORK_TASK_ACTOR, WK_NETWORK_TASK_CRITIC,
                                             WK_NETWORK_TASK_SLOW};
    const wk_learner_config *c = &learner->config;
    wk_compiled_graph *compiled = &learner->tasks;
    wk_task_tensors *t = &learner->task_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, networks, sizeof networks / sizeof *networks,
                                   err));
    wk_graph *g = compiled->graph;
    learner->tasks_idle = wk_learner_idle_input(learner, g);
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_TASKS);
    int rows = wk_config_rows(c);
    t->reward = wk_graph_input(g, WK_F32, WK_SHAPE(c->tasks, rows), "reward");

    wk_graph_section(g, "reward heads");
    wk_starts start = wk_learner_starts(learner, g);
    wk_tensor parts[] = {start.latent.stoch, start.latent.deter};
    wk_tensor features = wk_graph_concat(g, parts, 2, 1);
    record_reward_heads(learner,
                        wk_graph_reshape(g, features, WK_SHAPE(1, rows, wk_config_features(c))));
    record_policies(learner, start, counter);

    const wk_tensor results[] = {
        t->reward_loss,
        t->reward_norm,
#define WK_POLICY_METRIC(field, name, checked) t->field,
#include "agent/update_metrics.def"
    };
    t->scalars = wk_scalars_join(g, results, sizeof results / sizeof *results);
    wk_graph_output(g, t->scalars.joined);
    return wk_compiled_graph_bind(compiled, learner, err);
}
