#include "model/rssm.h"

#include "nn/layers.h"
#include <assert.h>
#include <stdlib.h>

static const float NORM_EPSILON = 1e-3f;

static wk_tensor weight(wk_scope *scope, const char *layer, int inputs, int units)
{
    wk_init init = {WK_INIT_GLOROT, inputs, units};
    return wk_scope_weight(scope, layer, "w", WK_SHAPE(inputs, units), init);
}

static wk_tensor vector(wk_scope *scope, const char *layer, const char *part, int units,
                        wk_init_kind kind)
{
    return wk_scope_weight(scope, layer, part, WK_SHAPE(units), (wk_init){.kind = kind});
}

wk_rssm wk_rssm_use(wk_scope *scope, const wk_learner_config *c)
{
    wk_graph *g = scope->g;
    int stoch_size = wk_config_stoch_size(c), embed = wk_config_embed(c);
    wk_tensor in = weight(scope, "rssm/in", stoch_size + c->action_size, c->hidden);
    wk_tensor gru = weight(scope, "rssm/gru", c->hidden + c->deter, 3 * c->deter);
    wk_tensor post = weight(scope, "rssm/post/hidden", c->deter + embed, c->hidden);
    return (wk_rssm){
        .scope = scope,
        .config = c,
        .in_stoch = wk_graph_slice(g, in, 0, 0, stoch_size),
        .in_action = wk_graph_slice(g, in, 0, stoch_size, c->action_size),
        .in_bias = vector(scope, "rssm/in", "b", c->hidden, WK_INIT_ZEROS),
        .gru_x = wk_graph_slice(g, gru, 0, 0, c->hidden),
        .gru_h = wk_graph_slice(g, gru, 0, c->hidden, c->deter),
        .gru_bias = vector(scope, "rssm/gru", "b", 3 * c->deter, WK_INIT_ZEROS),
        .gru_gain = vector(scope, "rssm/gru", "gain", 3 * c->deter, WK_INIT_ONES),
        .gru_offset = vector(scope, "rssm/gru", "bias", 3 * c->deter, WK_INIT_ZEROS),
        .post_deter = wk_graph_slice(g, post, 0, 0, c->deter),
        .post_embed = wk_graph_slice(g, post, 0, c->deter, embed),
        .post_bias = vector(scope, "rssm/post/hidden", "b", c->hidden, WK_INIT_ZEROS),
    };
}

// x [..,K] times w [K,N] as one product over all rows, and `sum`, which may be absent: [..,N].
static wk_tensor product_add(wk_graph *g, wk_tensor x, wk_tensor w, wk_tensor sum)
{
    wk_shape shape = wk_graph_shape(g, x);
    int last = shape.rank - 1, inputs = shape.dim[last], units = wk_graph_shape(g, w).dim[1];
    int rows = (int)(wk_shape_count(shape) / (size_t)inputs);
    x = wk_graph_reshape(g, x, WK_SHAPE(rows, inputs));
    if (wk_tensor_exists(sum)) sum = wk_graph_reshape(g, sum, WK_SHAPE(rows, units));
    shape.dim[last] = units;
    return wk_graph_reshape(g, wk_graph_matmul_add(g, x, w, sum), shape);
}

static wk_tensor product(wk_graph *g, wk_tensor x, wk_tensor w)
{
    return product_add(g, x, w, (wk_tensor){0});
}

wk_tensor wk_rssm_action(const wk_rssm *rssm, wk_tensor action)
{
    return product(rssm->scope->g, action, rssm->in_action);
}

// x = ELU(W [s', a']), h = GRU(x, h').
wk_tensor wk_rssm_advance(const wk_rssm *rssm, wk_latent latent, wk_tensor action)
{
    wk_graph *g = rssm->scope->g;
    wk_tensor pre = product_add(g, latent.stoch, rssm->in_stoch, action);
    wk_tensor x = wk_graph_bias_act(g, pre, rssm->in_bias, WK_ELU);
    wk_tensor from_deter = product(g, latent.deter, rssm->gru_h);
    wk_tensor gates = product_add(g, x, rssm->gru_x, from_deter);
    return wk_graph_gru(g, gates, rssm->gru_bias, rssm->gru_gain, rssm->gru_offset, latent.deter,
                        NORM_EPSILON);
}

wk_tensor wk_rssm_embed(const wk_rssm *rssm, wk_tensor embed)
{
    return product(rssm->scope->g, embed, rssm->post_embed);
}

// q(s | h, e) = W ELU(W [h, e]).
wk_tensor wk_rssm_posterior(const wk_rssm *rssm, wk_tensor deter, wk_tensor embed)
{
    wk_graph *g = rssm->scope->g;
    wk_tensor pre = product_add(g, deter, rssm->post_deter, embed);
    wk_tensor x = wk_graph_bias_act(g, pre, rssm->post_bias, WK_ELU);
    return wk_nn_dense(rssm->scope, "rssm/post/out", x, wk_config_stoch_size(rssm->config),
                       WK_IDENTITY);
}

// p(s | h) = W ELU(W h).
wk_tensor wk_rssm_prior(const wk_rssm *rssm, wk_tensor deter)
{
    wk_tensor x =
        wk_nn_dense(rssm->scope, "rssm/prior/hidden", deter, rssm->config->hidden, WK_ELU);
    return wk_nn_dense(rssm->scope, "rssm/prior/out", x, wk_config_stoch_size(rssm->config),
                       WK_IDENTITY);
}

wk_latent wk_rssm_imagine(const wk_rssm *rssm, wk_latent latent, wk_tensor action, wk_random random)
{
    wk_graph *g = rssm->scope->g;
    wk_tensor deter = wk_rssm_advance(rssm, latent, wk_rssm_action(rssm, action));
    wk_tensor logits = wk_rssm_prior(rssm, deter);
    return (wk_latent){wk_nn_sample_categorical(g, logits, rssm->config->classes, random), deter};
}

wk_tensor wk_rssm_features(const wk_rssm *rssm, wk_latent latent)
{
    wk_graph *g = rssm->scope->g;
    int last = wk_graph_shape(g, latent.stoch).rank - 1;
    return wk_graph_concat(g, (wk_tensor[]){latent.stoch, latent.deter}, 2, last);
}

// Row t of x [T,..] as [..].
static wk_tensor row(wk_graph *g, wk_tensor x, int t)
{
    wk_shape shape = wk_graph_shape(g, x), inner = {.rank = shape.rank - 1};
    for (int i = 0; i < inner.rank; i++)
        inner.dim[i] = shape.dim[i + 1];
    return wk_graph_reshape(g, wk_graph_slice(g, x, 0, t, 1), inner);
}

wk_observed wk_rssm_observe(const wk_rssm *rssm, wk_tensor embed, wk_tensor action,
                            wk_tensor not_first, wk_tensor counter, const char *random_name)
{
    wk_graph *g = rssm->scope->g;
    const wk_learner_config *c = rssm->config;
    wk_shape shape = wk_graph_shape(g, embed);
    int steps = shape.dim[0], rows = shape.dim[1], stoch_size = wk_config_stoch_size(c);
    enum { STEPS_MAX = 1024 };
    assert(steps <= STEPS_MAX);

    wk_tensor from_image = wk_rssm_embed(rssm, embed);
    wk_tensor from_action = wk_rssm_action(rssm, wk_graph_scale_rows(g, action, not_first));
    wk_latent latent = {wk_graph_fill(g, WK_SHAPE(rows, stoch_size), 0),
                        wk_graph_fill(g, WK_SHAPE(rows, c->deter), 0)};
    wk_tensor stoch[STEPS_MAX], deter[STEPS_MAX], logits[STEPS_MAX];
    for (int t = 0; t < steps; t++) {
        wk_tensor not_first_t = row(g, not_first, t);
        wk_latent masked;
        masked.stoch = wk_graph_scale_rows(g, latent.stoch, not_first_t);
        masked.deter = wk_graph_scale_rows(g, latent.deter, not_first_t);
        deter[t] = wk_rssm_advance(rssm, masked, row(g, from_action, t));
        logits[t] = wk_rssm_posterior(rssm, deter[t], row(g, from_image, t));
        wk_random random = wk_nn_random(counter, c->seed, random_name, t);
        stoch[t] = wk_nn_sample_categorical(g, logits[t], c->classes, random);
        latent = (wk_latent){stoch[t], deter[t]};
    }
    return (wk_observed){.latent = {wk_graph_stack(g, stoch, (size_t)steps),
                                    wk_graph_stack(g, deter, (size_t)steps)},
                         .post_logits = wk_graph_stack(g, logits, (size_t)steps)};
}
