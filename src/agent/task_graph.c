// The task graph: reward heads on the stored posterior states, then one actor-critic per task in
// imagination, all tasks side by side on the stack axis.
#include "agent/behaviour.h"
#include "agent/learner_parts.h"
#include "agent/networks.h"

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
