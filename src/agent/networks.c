#include "agent/networks.h"

#include "nn/layers.h"
#include "nn/losses.h"
#include <math.h>

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
    wk_graph *g = wk_scope_graph(scope);
    wk_tensor x = wk_graph_concat(g, (wk_tensor[]){features, action}, 2, 1);
    return wk_graph_disagreement(g, predict(scope, config, x), config->ensemble_kind,
                                 config->disagreement_scale);
}

wk_tensor wk_ensemble_loss(wk_scope *scope, const wk_learner_config *config, wk_tensor features,
                           wk_tensor action)
{
    wk_graph *g = wk_scope_graph(scope);
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
    wk_graph *g = wk_scope_graph(scope);
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
