// The graphs that a learner records once and runs for every update, in the order in which they run:
// the world model's on a batch; the update's (the model's step, exploration in imagination, the
// ensemble); the tasks' (reward heads on the posterior states, then one actor-critic per task, all
// side by side on the stack axis). And the one that only observes a batch.
//
// The world model's graph changes nothing that others read: it exports gradients, posterior states
// and scalars to a handoff buffer, from which the update graph makes the step. learner.h shows why.
#include "agent/behaviour.h"
#include "agent/learner_parts.h"

// The input that leaves a member of a population idle; absent where it is alone.
static wk_tensor idle_input(const wk_learner *learner, wk_graph *g)
{
    if (learner->population == 1) return (wk_tensor){0};
    wk_tensor idle = wk_graph_input(g, WK_U64, WK_SHAPE(1), "idle");
    wk_graph_set_idle(g, idle);
    return idle;
}

static wk_tensor counter_of(const wk_learner *learner, wk_graph *g, wk_counter_id which)
{
    return wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "counter", learner->counters,
                               (size_t)which * sizeof(uint64_t));
}

// Sets `nonfinite` (u64 [1]) to 1 if a loss is not finite.
static void check_finite(wk_compiled_graph *compiled, wk_tensor loss, wk_tensor nonfinite)
{
    wk_graph *g = compiled->graph;
    wk_graph_store(g, nonfinite, wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "zero", NULL, 0));
    wk_graph_check_finite(g, loss, nonfinite);
    wk_graph_section(g, "optimiser");
}

// A training step of the network on an objective [1], or [S] for a stack, in the section
// "optimiser". A loss that is not finite skips the step; it usually equals the objective. Returns
// the gradient's norm.
static wk_tensor record_step(const wk_learner *learner, wk_compiled_graph *compiled,
                             wk_network_id network, wk_tensor loss, wk_tensor objective)
{
    wk_graph *g = compiled->graph;
    wk_tensor nonfinite = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "not finite", NULL, 0);
    check_finite(compiled, loss, nonfinite);
    return wk_optimizer_record(learner->optimizers[network], compiled->scope[network],
                               wk_graph_sum_all(g, objective), nonfinite);
}

// What imagination starts from, for every row of a batch: posterior states, and with a
// discount head whether the episode goes on there.
typedef struct start_states {
    wk_latent latent;    // [T*B,..]
    wk_tensor continues; // f32 [T*B], 0 or 1; absent without a discount head
} start_states;

static size_t starts_bytes(const wk_learner_config *c)
{
    size_t width = (size_t)wk_config_features(c) + (c->discount_head ? 1 : 0);
    return (size_t)wk_config_rows(c) * width * sizeof(float);
}

// The starts at the beginning of a buffer.
static start_states starts_in(wk_buffer *buffer, const wk_learner_config *c, wk_graph *g)
{
    int rows = wk_config_rows(c), stoch_size = wk_config_stoch_size(c);
    size_t column = (size_t)rows * sizeof(float);
    start_states out = {
        .latent = {
            wk_graph_persistent(g, WK_F32, WK_SHAPE(rows, stoch_size), "latent.stoch", buffer, 0),
            wk_graph_persistent(g, WK_F32, WK_SHAPE(rows, c->deter), "latent.deter", buffer,
                                column * (size_t)stoch_size)}};
    if (c->discount_head)
        out.continues = wk_graph_persistent(g, WK_F32, WK_SHAPE(rows), "continues", buffer,
                                            column * (size_t)wk_config_features(c));
    return out;
}

static void store_starts(wk_graph *g, start_states to, start_states from)
{
    wk_graph_store(g, to.latent.stoch, from.latent.stoch);
    wk_graph_store(g, to.latent.deter, from.latent.deter);
    if (wk_tensor_exists(to.continues)) wk_graph_store(g, to.continues, from.continues);
}

// Besides gradients, what the world model's graph hands to the update graph; the tensors in either.
typedef struct handoff_tensors {
    start_states starts; // as those of the last batch
    wk_tensor scalars;   // [wk_model_scalar_count]
    wk_tensor nonfinite; // u64 [1]: the loss is not finite
} handoff_tensors;

// After the starts, 64-byte aligned: the flag `nonfinite`, then the scalars.
static size_t handoff_nonfinite(const wk_learner_config *c)
{
    return (starts_bytes(c) + 63) / 64 * 64;
}

static handoff_tensors handoff_of(const wk_learner *learner, wk_graph *g)
{
    wk_buffer *buffer = learner->handoff;
    int scalars = wk_model_scalar_count(&learner->config);
    size_t nonfinite = handoff_nonfinite(&learner->config);
    return (handoff_tensors){
        .starts = starts_in(buffer, &learner->config, g),
        .scalars = wk_graph_persistent(g, WK_F32, WK_SHAPE(scalars), "model scalars", buffer,
                                       nonfinite + sizeof(uint64_t)),
        .nonfinite = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "not finite", buffer, nonfinite),
    };
}

// Stores the posterior states of a batch as rows, for imagination to start from.
static void keep_starts(wk_graph *g, start_states place, wk_latent latent,
                        const wk_batch_tensors *batch)
{
    for (int i = 0; i < 2; i++) {
        wk_tensor *x = i ? &latent.deter : &latent.stoch; // [T,B,D] as [T*B,D]
        *x = wk_graph_stop_gradient(g, *x);
        wk_shape s = wk_graph_shape(g, *x);
        *x = wk_graph_reshape(g, *x, WK_SHAPE(s.dim[0] * s.dim[1], s.dim[2]));
    }
    store_starts(g, place, (start_states){latent, batch->continues});
}

wk_status wk_learner_create_buffers(wk_learner *learner, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    size_t handoff =
        handoff_nonfinite(c) + sizeof(uint64_t) + (size_t)wk_model_scalar_count(c) * sizeof(float);
    WK_TRY(wk_buffer_create(learner->backend, WK_COUNTERS * sizeof(uint64_t), &learner->counters,
                            err));
    WK_TRY(wk_buffer_create(learner->backend, starts_bytes(c), &learner->starts, err));
    return wk_buffer_create(learner->backend, handoff, &learner->handoff, err);
}

static wk_status record_model(wk_learner *learner, wk_error *err)
{
    wk_compiled_graph *compiled = &learner->model;
    wk_model_tensors *t = &learner->model_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, (const wk_network_id[]){WK_NETWORK_MODEL}, 1,
                                   err));
    wk_graph *g = compiled->graph;
    wk_tensor counter = counter_of(learner, g, WK_COUNT_UPDATES);
    handoff_tensors handoff = handoff_of(learner, g);
    t->batch = wk_batch_inputs(g, &learner->config);
    t->losses =
        wk_model_record(compiled->scope[WK_NETWORK_MODEL], &learner->config, &t->batch, counter);
    check_finite(compiled, t->losses.total, handoff.nonfinite);
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

static wk_status record_observe(wk_learner *learner, wk_error *err)
{
    wk_compiled_graph *compiled = &learner->observe;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, (const wk_network_id[]){WK_NETWORK_MODEL}, 1,
                                   err));
    wk_graph *g = compiled->graph;
    wk_tensor counter = counter_of(learner, g, WK_COUNT_OBSERVE);
    learner->observe_t = wk_batch_inputs(g, &learner->config);
    wk_model_losses seen = wk_model_record(compiled->scope[WK_NETWORK_MODEL], &learner->config,
                                           &learner->observe_t, counter);
    keep_starts(g, starts_in(learner->starts, &learner->config, g), seen.latent,
                &learner->observe_t);
    wk_graph_count(g, counter, 1);
    return wk_compiled_graph_bind(compiled, learner, err);
}

// Features [N,F] of states [N,..].
static wk_tensor join_features(wk_graph *g, wk_latent latent)
{
    return wk_graph_concat(g, (wk_tensor[]){latent.stoch, latent.deter}, 2, 1);
}

static wk_status record_update(wk_learner *learner, wk_error *err)
{
    static const wk_network_id networks[] = {WK_NETWORK_MODEL, WK_NETWORK_ENSEMBLE,
                                             WK_NETWORK_EXPLORE_ACTOR, WK_NETWORK_EXPLORE_CRITIC,
                                             WK_NETWORK_EXPLORE_SLOW};
    const wk_learner_config *c = &learner->config;
    wk_compiled_graph *compiled = &learner->update;
    wk_update_tensors *t = &learner->update_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, networks, sizeof networks / sizeof *networks,
                                   err));
    wk_graph *g = compiled->graph;
    wk_scope **scope = compiled->scope, *model = scope[WK_NETWORK_MODEL];
    const wk_policy_scopes policy = {scope[WK_NETWORK_EXPLORE_ACTOR],
                                     scope[WK_NETWORK_EXPLORE_CRITIC],
                                     scope[WK_NETWORK_EXPLORE_SLOW]};
    learner->update_idle = idle_input(learner, g);
    t->action = wk_graph_input(g, WK_F32, WK_SHAPE(c->length, c->batch, c->action_size), "action");

    // The handoff of the world model's graph: posterior states, scalars, and the gradients for the
    // model's step; and the count of updates. Nothing after this touches the handoff or writes the
    // model, so others may read it from here on (weights_ready in learner.h).
    wk_optimizer *optimizer = learner->optimizers[WK_NETWORK_MODEL];
    handoff_tensors handoff = handoff_of(learner, g);
    start_states starts = starts_in(learner->starts, c, g);
    wk_tensor count = counter_of(learner, g, WK_COUNT_UPDATES); // with this update
    wk_tensor number = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "update", NULL, 0); // before it
    t->model_scalars = wk_graph_persistent(g, WK_F32, wk_graph_shape(g, handoff.scalars),
                                           "model scalars", NULL, 0);
    wk_graph_section(g, "optimiser");
    store_starts(g, starts, handoff.starts);
    wk_graph_store(g, t->model_scalars, handoff.scalars);
    wk_graph_store(g, number, count);
    wk_graph_count(g, count, 1);
    wk_optimizer_import_gradients(optimizer, model);
    wk_optimizer_step(optimizer, handoff.nonfinite);

    // Exploration is rewarded by the ensemble as it was before its own step below.
    wk_graph_section(g, "imagination");
    wk_rssm rssm = wk_rssm_use(model, c);
    wk_rollout rollout = wk_rollout_imagine(&rssm, policy.actor, starts.latent, "explore", number);
    if (c->discount_head) wk_rollout_discounts(&rollout, model, c, starts.continues);
    wk_graph_section(g, "ensemble reward");
    wk_tensor by_start = wk_rollout_disagreement(&rollout, scope[WK_NETWORK_ENSEMBLE], c);
    t->delta = wk_graph_mean(g, by_start, 0);
    // The policy's rewards are those of its steps.
    if (c->ensemble_states == WK_STATES_ALL)
        by_start = wk_graph_slice(g, by_start, 0, 1, c->horizon);
    wk_tensor reward = wk_graph_reshape(g, by_start, WK_SHAPE(1, c->horizon, rollout.starts));
    t->reward = wk_graph_mean_all(g, reward);
    if (policy.actor) {
        wk_graph_section(g, "policy");
        wk_behaviour b = wk_behaviour_record(&policy, c, &rollout, reward);
        if (c->saturation_scale > 0 && !c->discrete) wk_behaviour_add_saturation(g, c, &b);
        t->actor_loss = b.actor_loss;
        t->entropy = b.entropy;
        t->critic_loss = wk_critic_loss(policy.critic, c, &rollout, b.returns, &t->value);
        t->critic_norm = record_step(learner, compiled, WK_NETWORK_EXPLORE_CRITIC, t->critic_loss,
                                     t->critic_loss);
        wk_graph_section(g, "policy");
        t->actor_norm = record_step(learner, compiled, WK_NETWORK_EXPLORE_ACTOR, b.actor_loss,
                                    wk_actor_objective(g, c, &rollout, &b));
    }

    // Every member of the ensemble predicts the next state from state and action.
    wk_graph_section(g, "ensemble");
    wk_tensor features = join_features(g, starts.latent);
    features = wk_graph_reshape(g, features, WK_SHAPE(c->length, c->batch, wk_config_features(c)));
    t->ensemble_loss = wk_ensemble_loss(scope[WK_NETWORK_ENSEMBLE], c, features, t->action);
    t->ensemble_norm =
        record_step(learner, compiled, WK_NETWORK_ENSEMBLE, t->ensemble_loss, t->ensemble_loss);
    if (policy.slow)
        wk_scope_copy_every(policy.slow, policy.critic, count, (uint64_t)c->slow_period);
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

static wk_status record_tasks(wk_learner *learner, wk_error *err)
{
    static const wk_network_id networks[] = {WK_NETWORK_MODEL, WK_NETWORK_REWARD,
                                             WK_NETWORK_TASK_ACTOR, WK_NETWORK_TASK_CRITIC,
                                             WK_NETWORK_TASK_SLOW};
    const wk_learner_config *c = &learner->config;
    const int rows = wk_config_rows(c);
    wk_compiled_graph *compiled = &learner->tasks;
    wk_task_tensors *t = &learner->task_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, networks, sizeof networks / sizeof *networks,
                                   err));
    wk_graph *g = compiled->graph;
    wk_scope **scope = compiled->scope, *heads = scope[WK_NETWORK_REWARD];
    const wk_policy_scopes policy = {scope[WK_NETWORK_TASK_ACTOR], scope[WK_NETWORK_TASK_CRITIC],
                                     scope[WK_NETWORK_TASK_SLOW]};
    learner->tasks_idle = idle_input(learner, g);
    wk_tensor counter = counter_of(learner, g, WK_COUNT_TASKS);
    t->reward = wk_graph_input(g, WK_F32, WK_SHAPE(c->tasks, rows), "reward");

    // Reward heads: loss per task of predicting rewards [tasks,N] at features [1,N,F]. Tasks stand
    // alone: a bad number in one skips the step of that one, by its own gradient.
    wk_graph_section(g, "reward heads");
    start_states start = starts_in(learner->starts, c, g);
    wk_shape single = WK_SHAPE(c->tasks, rows, 1);
    wk_tensor features = wk_graph_reshape(g, join_features(g, start.latent),
                                          WK_SHAPE(1, rows, wk_config_features(c)));
    wk_tensor predicted = wk_graph_reshape(g, wk_scalar_head(heads, c, features), single);
    wk_tensor target = wk_graph_reshape(g, t->reward, single);
    t->reward_loss = wk_graph_mean(g, wk_graph_half_squared_error(g, predicted, target, 1), 1);
    wk_graph_section(g, "optimiser");
    t->reward_norm = wk_optimizer_record(learner->optimizers[WK_NETWORK_REWARD], heads,
                                         wk_graph_sum_all(g, t->reward_loss), (wk_tensor){0});

    // One actor-critic per task, on the stack axis. Rewards are those received on arriving: the
    // head reads the state after the step.
    wk_graph_section(g, "imagination");
    wk_rssm rssm = wk_rssm_use(scope[WK_NETWORK_MODEL], c);
    wk_rollout rollout = wk_rollout_imagine(&rssm, policy.actor, start.latent, "task", counter);
    if (c->discount_head)
        wk_rollout_discounts(&rollout, scope[WK_NETWORK_MODEL], c, start.continues);
    wk_graph_section(g, "policy");
    wk_tensor reward = wk_rollout_reward(&rollout, heads, c);
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

wk_status wk_learner_record(wk_learner *learner, wk_error *err)
{
    bool tasks = learner->config.tasks > 0;
    WK_TRY(record_model(learner, err));
    WK_TRY(record_update(learner, err));
    WK_TRY(record_observe(learner, err));
    if (tasks) WK_TRY(record_tasks(learner, err));
    const wk_graph *const others[] = {learner->model.graph, learner->tasks.graph};
    wk_graph_signal(learner->update.graph, others, tasks ? 2 : 1, learner->leader->weights_ready);
    return WK_OK;
}
