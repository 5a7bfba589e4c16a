#include "agent/behaviour.h"

#include "model/world_model.h"
#include "nn/layers.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>

static wk_tensor mlp(wk_scope *scope, const wk_learner_config *config, wk_tensor x, int outputs)
{
    wk_mlp_config shape = {
        .layers = config->layers, .units = config->units, .activation = WK_ELU, .outputs = outputs};
    return wk_nn_mlp(scope, "mlp", x, &shape);
}

// Predictions of the next features by every member, from x [1,N,features+A]: [M,N,features].
static wk_tensor predict(wk_scope *scope, const wk_learner_config *config, wk_tensor x)
{
    return mlp(scope, config, x, wk_config_features(config));
}

int wk_ensemble_first_action(const wk_learner_config *config)
{
    return config->ensemble_action == WK_ACTION_TAKEN ? 1 : 0;
}

wk_tensor wk_ensemble_disagreement(wk_scope *scope, const wk_learner_config *config,
                                   wk_tensor features, wk_tensor action)
{
    wk_graph *g = scope->g;
    wk_tensor x = wk_graph_concat(g, (wk_tensor[]){features, action}, 2, 1);
    return wk_graph_disagreement(g, predict(scope, config, x), config->ensemble_kind,
                                 config->disagreement_scale);
}

wk_tensor wk_ensemble_loss(wk_scope *scope, const wk_learner_config *config, wk_tensor features,
                           wk_tensor action)
{
    wk_graph *g = scope->g;
    int steps = config->length - 1, rows = steps * config->batch;
    int width = wk_config_features(config);
    features = wk_graph_stop_gradient(g, features);
    wk_tensor now =
        wk_graph_reshape(g, wk_graph_slice(g, features, 0, 0, steps), WK_SHAPE(rows, width));
    wk_tensor next =
        wk_graph_reshape(g, wk_graph_slice(g, features, 0, 1, steps), WK_SHAPE(rows, width));
    wk_tensor seen =
        wk_graph_reshape(g, wk_graph_slice(g, action, 0, wk_ensemble_first_action(config), steps),
                         WK_SHAPE(rows, config->action_size));
    wk_tensor x = wk_graph_concat(g, (wk_tensor[]){now, seen}, 2, 1);
    wk_tensor prediction = predict(scope, config, x);
    return wk_graph_mean(g, wk_graph_half_squared_error(g, prediction, next, 1), 1);
}

wk_tensor wk_scalar_head(wk_scope *scope, const wk_learner_config *config, wk_tensor x)
{
    wk_graph *g = scope->g;
    wk_tensor y = mlp(scope, config, x, 1);
    wk_shape shape = wk_graph_shape(g, y);
    return wk_graph_reshape(g, y, WK_SHAPE(shape.dim[0], shape.dim[1]));
}

wk_tensor wk_actor_head(wk_scope *scope, const wk_learner_config *config, wk_tensor x)
{
    return mlp(scope, config, x, config->discrete ? config->action_size : 2 * config->action_size);
}

wk_tensor wk_actor_sample(wk_graph *g, const wk_learner_config *c, wk_tensor raw, wk_random random)
{
    if (c->discrete) return wk_nn_sample_categorical(g, raw, c->action_size, random);
    return wk_graph_truncated_normal_sample(g, raw, random, (wk_sample_gradient)c->sample_gradient);
}

wk_tensor wk_actor_mode(wk_graph *g, const wk_learner_config *c, wk_tensor raw)
{
    if (c->discrete) return wk_nn_sample_categorical(g, raw, c->action_size, (wk_random){0});
    return wk_graph_truncated_normal_mode(g, raw);
}

wk_tensor wk_actor_entropy(wk_graph *g, const wk_learner_config *c, wk_tensor raw)
{
    if (!c->discrete) return wk_graph_truncated_normal_entropy(g, raw);
    // log A - KL(policy || uniform): a form that has a gradient.
    wk_tensor uniform = wk_graph_fill(g, wk_graph_shape(g, raw), 0);
    wk_tensor divergence = wk_graph_kl(g, wk_nn_variables(g, raw, c->action_size),
                                       wk_nn_variables(g, uniform, c->action_size));
    return wk_graph_affine(g, divergence, -1, logf((float)c->action_size));
}

// The cross entropy with a distribution that has all its mass on the action: their divergence, as
// that one has no entropy.
wk_tensor wk_actor_neg_log_prob(wk_graph *g, const wk_learner_config *c, wk_tensor raw,
                                wk_tensor actions)
{
    static const float CERTAIN = 40; // exp(-40) of the mass is elsewhere: none in float32
    wk_tensor taken = wk_graph_stop_gradient(g, wk_graph_affine(g, actions, CERTAIN, 0));
    return wk_graph_kl(g, wk_nn_variables(g, taken, c->action_size),
                       wk_nn_variables(g, raw, c->action_size));
}

wk_tensor wk_random_actions(wk_graph *g, const wk_learner_config *c, wk_shape shape,
                            wk_random random)
{
    if (!c->discrete) return wk_graph_uniform(g, shape, random, -1, 1);
    return wk_nn_sample_categorical(g, wk_graph_fill(g, shape, 0), c->action_size, random);
}

// [N,D] as [S,N,D], the same for every policy.
static wk_tensor spread(wk_graph *g, wk_tensor x, int stack)
{
    wk_shape shape = wk_graph_shape(g, x);
    if (stack == 1) return wk_graph_reshape(g, x, WK_SHAPE(1, shape.dim[0], shape.dim[1]));
    return wk_graph_repeat(g, x, 0, stack);
}

wk_rollout wk_rollout_imagine(const wk_rssm *rssm, wk_scope *actor, wk_latent start,
                              const char *name, wk_tensor counter)
{
    const wk_learner_config *c = rssm->config;
    wk_graph *g = rssm->scope->g;
    assert(c->horizon <= WK_ROLLOUT_STEPS_MAX);
    wk_rollout rollout = {.stack = actor ? actor->params->stack : 1,
                          .starts = wk_graph_shape(g, start.deter).dim[0]};
    char action_stream[64], sample_stream[64];
    snprintf(action_stream, sizeof action_stream, "%s/action", name);
    snprintf(sample_stream, sizeof sample_stream, "%s/imagine", name);

    wk_latent latent = {spread(g, start.stoch, rollout.stack),
                        spread(g, start.deter, rollout.stack)};
    wk_tensor features[WK_ROLLOUT_STEPS_MAX + 1], actions[WK_ROLLOUT_STEPS_MAX];
    features[0] = wk_rssm_features(rssm, latent);
    for (int t = 0; t < c->horizon; t++) {
        wk_random draw = wk_nn_random(counter, c->seed, action_stream, t);
        if (actor) {
            // The actor gets no gradient through its input.
            rollout.step_params[t] =
                wk_actor_head(actor, c, wk_graph_stop_gradient(g, features[t]));
            actions[t] = wk_actor_sample(g, c, rollout.step_params[t], draw);
        } else {
            actions[t] = wk_random_actions(
                g, c, WK_SHAPE(rollout.stack, rollout.starts, c->action_size), draw);
        }
        latent = wk_rssm_imagine(rssm, latent, actions[t],
                                 wk_nn_random(counter, c->seed, sample_stream, t));
        features[t + 1] = wk_rssm_features(rssm, latent);
    }
    size_t steps = (size_t)c->horizon;
    rollout.features = wk_graph_concat(g, features, steps + 1, 1);
    rollout.actions = wk_graph_concat(g, actions, steps, 1);
    return rollout;
}

// The features of `count` states of a rollout from state `first` on, as rows.
static wk_tensor states_of(wk_graph *g, const wk_learner_config *c, const wk_rollout *rollout,
                           int first, int count)
{
    int N = rollout->starts;
    wk_tensor some = wk_graph_slice(g, rollout->features, 1, first * N, count * N);
    return wk_graph_reshape(g, some, WK_SHAPE(count * N, wk_config_features(c)));
}

wk_tensor wk_rollout_disagreement(const wk_rollout *rollout, wk_scope *ensemble,
                                  const wk_learner_config *c)
{
    wk_graph *g = ensemble->g;
    int N = rollout->starts, steps = c->horizon;
    int first = c->ensemble_action == WK_ACTION_ARRIVING ? 1 : 0;
    wk_tensor states = states_of(g, c, rollout, first, steps);
    wk_tensor actions = wk_graph_reshape(g, rollout->actions, WK_SHAPE(steps * N, c->action_size));
    if (c->ensemble_states == WK_STATES_ALL) {
        wk_tensor none = wk_graph_fill(g, WK_SHAPE(N, c->action_size), 0);
        states = wk_graph_concat(g, (wk_tensor[]){states_of(g, c, rollout, 0, 1), states}, 2, 0);
        actions = wk_graph_concat(g, (wk_tensor[]){none, actions}, 2, 0);
        steps++;
    }
    wk_tensor spread = wk_ensemble_disagreement(ensemble, c, states, actions);
    return wk_graph_reshape(g, spread, WK_SHAPE(steps, N));
}

typedef wk_tensor head(wk_scope *scope, const wk_learner_config *config, wk_tensor x);

// A head at the features of H steps from `first` on: [S,H*N,..]. With one policy these rows are
// contiguous, so that their slice is free; with several it is cheaper to slice the head's output.
static wk_tensor at_steps(head *network, wk_scope *scope, const wk_learner_config *c,
                          const wk_rollout *rollout, wk_tensor features, int first)
{
    wk_graph *g = scope->g;
    int start = first * rollout->starts, count = c->horizon * rollout->starts;
    if (rollout->stack == 1) return network(scope, c, wk_graph_slice(g, features, 1, start, count));
    return wk_graph_slice(g, network(scope, c, features), 1, start, count);
}

wk_tensor wk_rollout_reward(const wk_rollout *rollout, wk_scope *heads, const wk_learner_config *c)
{
    wk_tensor reward = at_steps(wk_scalar_head, heads, c, rollout, rollout->features, 1);
    return wk_graph_reshape(heads->g, reward,
                            WK_SHAPE(rollout->stack, c->horizon, rollout->starts));
}

// Step t of x [S,H,N]: [S,1,N].
static wk_tensor step_of(wk_graph *g, wk_tensor x, int t)
{
    return wk_graph_slice(g, x, 1, t, 1);
}

void wk_rollout_discounts(wk_rollout *rollout, wk_scope *model, const wk_learner_config *c,
                          wk_tensor continues)
{
    wk_graph *g = model->g;
    int stack = rollout->stack, steps = c->horizon, starts = rollout->starts;
    wk_tensor rows = wk_graph_reshape(
        g, rollout->features, WK_SHAPE(stack * (steps + 1) * starts, wk_config_features(c)));
    wk_tensor all =
        wk_graph_reshape(g, wk_model_discount(model, c, rows), WK_SHAPE(stack, steps + 1, starts));
    rollout->discount = wk_graph_slice(g, all, 1, 1, steps);
    wk_tensor weights[WK_ROLLOUT_STEPS_MAX];
    weights[0] = wk_graph_repeat(g, wk_graph_reshape(g, continues, WK_SHAPE(1, starts)), 0, stack);
    for (int t = 1; t < steps; t++)
        weights[t] = wk_graph_mul(g, weights[t - 1], step_of(g, rollout->discount, t - 1));
    rollout->weight = wk_graph_stop_gradient(g, wk_graph_concat(g, weights, (size_t)steps, 1));
}

// The lambda-return of wk_graph_lambda_return with a discount of its own for every state.
static wk_tensor discounted_return(wk_graph *g, const wk_learner_config *c,
                                   const wk_rollout *rollout, wk_tensor reward, wk_tensor value)
{
    wk_tensor returns[WK_ROLLOUT_STEPS_MAX], after = step_of(g, value, c->horizon);
    for (int t = c->horizon - 1; t >= 0; t--) {
        wk_tensor rest =
            wk_graph_add(g, wk_graph_affine(g, step_of(g, value, t + 1), 1 - c->lambda, 0),
                         wk_graph_affine(g, after, c->lambda, 0));
        rest = wk_graph_mul(g, rest, step_of(g, rollout->discount, t));
        after = returns[t] = wk_graph_add(g, step_of(g, reward, t), rest);
    }
    return wk_graph_concat(g, returns, (size_t)c->horizon, 1);
}

wk_tensor wk_rollout_returns(wk_graph *g, const wk_learner_config *c, const wk_rollout *rollout,
                             wk_tensor reward, wk_tensor value)
{
    if (wk_tensor_exists(rollout->discount)) return discounted_return(g, c, rollout, reward, value);
    return wk_graph_lambda_return(g, reward, value, c->discount, c->lambda);
}

// w_t = discount^t for every policy: [S,H].
static wk_tensor discounts(wk_graph *g, const wk_learner_config *c, int stack)
{
    float weights[16 * WK_ROLLOUT_STEPS_MAX];
    assert(stack * c->horizon <= 16 * WK_ROLLOUT_STEPS_MAX);
    for (int s = 0; s < stack; s++) {
        double weight = 1;
        for (int t = 0; t < c->horizon; t++, weight *= c->discount)
            weights[s * c->horizon + t] = (float)weight;
    }
    return wk_graph_constant(g, WK_SHAPE(stack, c->horizon), weights);
}

// x [S,H,N] times the weights of its steps.
static wk_tensor weighted(wk_graph *g, const wk_learner_config *c, const wk_rollout *rollout,
                          wk_tensor x)
{
    if (wk_tensor_exists(rollout->weight)) return wk_graph_mul(g, x, rollout->weight);
    return wk_graph_scale_rows(g, x, discounts(g, c, rollout->stack));
}

// Mean over steps and starts of x [S,H,N]: [S].
static wk_tensor mean_of_policy(wk_graph *g, wk_tensor x)
{
    wk_shape shape = wk_graph_shape(g, x);
    return wk_graph_mean(
        g, wk_graph_reshape(g, x, WK_SHAPE(shape.dim[0], shape.dim[1] * shape.dim[2])), 1);
}

// The discounted mean over steps and starts of x [S,H,N], negative: [S].
static wk_tensor as_loss(wk_graph *g, const wk_learner_config *c, const wk_rollout *rollout,
                         wk_tensor x)
{
    return wk_graph_affine(g, mean_of_policy(g, weighted(g, c, rollout, x)), -1, 0);
}

// A number whose gradient for the actors is that of the loss of their returns. The returns depend
// on the actors through the action parameters of every step. Gradients with respect to those come
// first; the actors are then differentiated over all steps at once, instead of step by step with
// few rows each.
static wk_tensor dynamics_gradient(wk_graph *g, const wk_learner_config *c,
                                   const wk_rollout *rollout, wk_tensor loss,
                                   wk_tensor action_params)
{
    wk_tensor gradients[WK_ROLLOUT_STEPS_MAX];
    size_t steps = (size_t)c->horizon;
    wk_graph_gradients(g, wk_graph_sum_all(g, loss), rollout->step_params, steps, gradients);
    wk_tensor all = wk_graph_stop_gradient(g, wk_graph_concat(g, gradients, steps, 1));
    return wk_graph_sum_all(g, wk_graph_mul(g, action_params, all));
}

wk_tensor wk_actor_objective(wk_graph *g, const wk_learner_config *c, const wk_rollout *rollout,
                             const wk_behaviour *b)
{
    wk_tensor returns = wk_config_reinforces(c)
                            ? wk_graph_sum_all(g, b->return_loss)
                            : dynamics_gradient(g, c, rollout, b->return_loss, b->action_params);
    wk_tensor all = wk_graph_add(g, returns, wk_graph_sum_all(g, b->entropy_loss));
    if (!wk_tensor_exists(b->saturation_loss)) return all;
    return wk_graph_add(g, all, wk_graph_sum_all(g, b->saturation_loss));
}

// -mean gamma^t log pi(a_t) sg(G_t - v(z_t)), v the slow critic: [S].
static wk_tensor reinforce_loss(wk_graph *g, const wk_learner_config *c, const wk_rollout *rollout,
                                const wk_behaviour *b, wk_tensor value)
{
    wk_tensor baseline = wk_graph_slice(g, value, 1, 0, c->horizon);
    wk_tensor advantage =
        wk_graph_stop_gradient(g, wk_graph_add(g, b->returns, wk_graph_affine(g, baseline, -1, 0)));
    wk_tensor neg_log_prob =
        wk_graph_reshape(g, wk_actor_neg_log_prob(g, c, b->action_params, rollout->actions),
                         wk_graph_shape(g, b->returns));
    return mean_of_policy(g, weighted(g, c, rollout, wk_graph_mul(g, neg_log_prob, advantage)));
}

wk_behaviour wk_behaviour_record(const wk_policy_scopes *policy, const wk_learner_config *c,
                                 const wk_rollout *rollout, wk_tensor reward)
{
    wk_graph *g = policy->actor->g;
    int stack = rollout->stack, steps = c->horizon, starts = rollout->starts;
    wk_behaviour out = {0};

    wk_tensor value = wk_graph_reshape(g, wk_scalar_head(policy->slow, c, rollout->features),
                                       WK_SHAPE(stack, steps + 1, starts));
    // G_t = r_t + gamma ((1 - lambda) v(z_{t+1}) + lambda G_{t+1}), G_H = v(z_H).
    out.returns = wk_rollout_returns(g, c, rollout, reward, value);
    wk_tensor features = wk_graph_stop_gradient(g, rollout->features);
    out.action_params = at_steps(wk_actor_head, policy->actor, c, rollout, features, 0);
    wk_tensor entropy = wk_graph_reshape(g, wk_actor_entropy(g, c, out.action_params),
                                         WK_SHAPE(stack, steps, starts));
    // -mean gamma^t (G_t + eta entropy(a_t)).
    out.return_loss = wk_config_reinforces(c) ? reinforce_loss(g, c, rollout, &out, value)
                                              : as_loss(g, c, rollout, out.returns);
    out.entropy_loss = wk_graph_affine(g, as_loss(g, c, rollout, entropy), c->entropy_scale, 0);
    out.actor_loss = wk_graph_add(g, out.return_loss, out.entropy_loss);
    out.entropy = mean_of_policy(g, entropy);
    return out;
}

// max(scale x - 2, 0)^2, of each number.
static wk_tensor squared_excess(wk_graph *g, wk_tensor x, float scale)
{
    wk_tensor excess = wk_graph_clamp_min(g, wk_graph_affine(g, x, scale, -2), 0);
    return wk_graph_mul(g, excess, excess);
}

void wk_behaviour_add_saturation(wk_graph *g, const wk_learner_config *c, wk_behaviour *b)
{
    wk_shape shape = wk_graph_shape(g, b->action_params); // [S,H*N,2A]
    int stack = shape.dim[0], actions = c->action_size;
    wk_tensor mean = wk_graph_slice(g, b->action_params, 2, 0, actions);
    wk_tensor deviation = wk_graph_slice(g, b->action_params, 2, actions, actions);
    // A mean is tanh(x), a deviation 2 sigmoid(x / 2) + 0.1 = 1.1 + tanh(x / 4).
    wk_tensor both_sides[] = {squared_excess(g, mean, 1), squared_excess(g, mean, -1),
                              squared_excess(g, deviation, 0.25f),
                              squared_excess(g, deviation, -0.25f)};
    wk_tensor each = wk_graph_reshape(g, wk_graph_add_n(g, both_sides, 4),
                                      WK_SHAPE(stack, shape.dim[1] * actions));
    b->saturation_loss =
        wk_graph_affine(g, wk_graph_mean(g, each, 1), c->saturation_scale * (float)actions, 0);
    b->actor_loss = wk_graph_add(g, b->actor_loss, b->saturation_loss);
}

wk_tensor wk_critic_loss(wk_scope *critic, const wk_learner_config *c, const wk_rollout *rollout,
                         wk_tensor returns, wk_tensor *value)
{
    wk_graph *g = critic->g;
    int stack = rollout->stack, steps = c->horizon, starts = rollout->starts;
    wk_shape single = WK_SHAPE(stack, steps, starts, 1);
    wk_tensor features = wk_graph_stop_gradient(g, rollout->features);
    wk_tensor estimate =
        wk_graph_reshape(g, at_steps(wk_scalar_head, critic, c, rollout, features, 0), single);
    wk_tensor target = wk_graph_reshape(g, wk_graph_stop_gradient(g, returns), single);
    // mean gamma^t (v(z_t) - sg G_t)^2 / 2.
    wk_tensor error = wk_graph_half_squared_error(g, estimate, target, 1);
    *value = mean_of_policy(g, wk_graph_reshape(g, estimate, WK_SHAPE(stack, steps, starts)));
    return mean_of_policy(g, weighted(g, c, rollout, error));
}
