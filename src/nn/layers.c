#include "nn/layers.h"

#include "base/random.h"
#include <assert.h>
#include <stdio.h>

// A tensor that does not exist is what the graph gives after memory ran out. Layers hand it on
// without looking at its shape; wk_scope_bind or wk_program_create reports the failure.

static int last_dim(wk_shape shape)
{
    return shape.dim[shape.rank - 1];
}

static wk_tensor glorot(wk_scope *scope, const char *layer, wk_shape shape, int fan_in, int fan_out)
{
    return wk_scope_weight(scope, layer, "w", shape, (wk_init){WK_INIT_GLOROT, fan_in, fan_out});
}

static wk_tensor zeros(wk_scope *scope, const char *layer, const char *part, int count)
{
    return wk_scope_weight(scope, layer, part, WK_SHAPE(count), (wk_init){.kind = WK_INIT_ZEROS});
}

// x as the matrices that a product takes: [M,K], or [S,M,K] (S may be 1) where the set has a stack.
static wk_tensor as_matrices(wk_scope *scope, wk_tensor x)
{
    wk_graph *g = scope->g;
    wk_shape shape = wk_graph_shape(g, x);
    int width = last_dim(shape), rows = (int)(wk_shape_count(shape) / (size_t)width);
    int stack = scope->params->stack;
    if (stack == 0 || shape.rank < 3) return wk_graph_reshape(g, x, WK_SHAPE(rows, width));
    assert(shape.dim[0] == stack || shape.dim[0] == 1);
    return wk_graph_reshape(g, x, WK_SHAPE(shape.dim[0], rows / shape.dim[0], width));
}

// The shape of x with its last axis replaced by `width`, and the stack in front where there is one.
static wk_shape result_shape(wk_scope *scope, wk_tensor x, int width)
{
    wk_shape shape = wk_graph_shape(scope->g, x);
    int stack = scope->params->stack;
    shape.dim[shape.rank - 1] = width;
    if (stack == 0) return shape;
    if (shape.rank < 3)
        return shape.rank == 1 ? WK_SHAPE(stack, 1, width) : WK_SHAPE(stack, shape.dim[0], width);
    shape.dim[0] = stack;
    return shape;
}

// x times the weight "layer/w" [K,units], all leading axes of x kept.
static wk_tensor product(wk_scope *scope, const char *layer, wk_tensor x, int units)
{
    if (!wk_tensor_exists(x)) return x;
    wk_graph *g = scope->g;
    int width = last_dim(wk_graph_shape(g, x));
    wk_tensor w = glorot(scope, layer, WK_SHAPE(width, units), width, units);
    wk_tensor y = wk_graph_matmul(g, as_matrices(scope, x), w);
    return wk_graph_reshape(g, y, result_shape(scope, x, units));
}

wk_tensor wk_nn_dense(wk_scope *scope, const char *name, wk_tensor x, int units,
                      wk_activation activation)
{
    wk_tensor y = product(scope, name, x, units);
    return wk_graph_bias_act(scope->g, y, zeros(scope, name, "b", units), activation);
}

wk_tensor wk_nn_mlp(wk_scope *scope, const char *name, wk_tensor x, const wk_mlp_config *config)
{
    char layer[200];
    for (int i = 0; i < config->layers; i++) {
        snprintf(layer, sizeof layer, "%s/%d", name, i);
        x = wk_nn_dense(scope, layer, x, config->units, config->activation);
    }
    snprintf(layer, sizeof layer, "%s/out", name);
    return wk_nn_dense(scope, layer, x, config->outputs, WK_IDENTITY);
}

wk_tensor wk_nn_conv(wk_scope *scope, const char *name, wk_tensor x, const wk_conv_config *config)
{
    if (!wk_tensor_exists(x)) return x;
    wk_graph *g = scope->g;
    int k = config->kernel, from = last_dim(wk_graph_shape(g, x)), to = config->channels;
    wk_tensor w = glorot(scope, name, WK_SHAPE(k, k, from, to), k * k * from, k * k * to);
    wk_tensor b = zeros(scope, name, "b", to);
    return wk_graph_conv(g, x, w, b, config->stride, config->activation);
}

wk_tensor wk_nn_deconv(wk_scope *scope, const char *name, wk_tensor x, const wk_conv_config *config)
{
    if (!wk_tensor_exists(x)) return x;
    wk_graph *g = scope->g;
    int k = config->kernel, from = last_dim(wk_graph_shape(g, x)), to = config->channels;
    wk_tensor w = glorot(scope, name, WK_SHAPE(k, k, to, from), k * k * to, k * k * from);
    wk_tensor b = zeros(scope, name, "b", to);
    return wk_graph_deconv(g, x, w, b, config->stride, config->activation);
}

wk_random wk_nn_random(wk_tensor counter, uint64_t seed, const char *name, int index)
{
    char stream[256];
    int length = snprintf(stream, sizeof stream, "%s/%d", name, index);
    assert(length < (int)sizeof stream);
    (void)length;
    return (wk_random){counter, wk_rng_key(seed, stream)};
}

// What does not exist, because memory ran out, is handed on.
wk_tensor wk_nn_variables(wk_graph *g, wk_tensor logits, int classes)
{
    if (!wk_tensor_exists(logits)) return logits;
    wk_shape shape = wk_graph_shape(g, logits);
    int width = shape.dim[shape.rank - 1];
    assert(width % classes == 0);
    int rows = (int)(wk_shape_count(shape) / (size_t)width);
    return wk_graph_reshape(g, logits, WK_SHAPE(rows, width / classes, classes));
}

wk_tensor wk_nn_sample_categorical(wk_graph *g, wk_tensor logits, int classes, wk_random random)
{
    wk_tensor variables = wk_nn_variables(g, logits, classes);
    wk_tensor sample = wk_tensor_exists(random.counter)
                           ? wk_graph_sample_onehot(g, variables, random)
                           : wk_graph_mode_onehot(g, variables);
    return wk_graph_reshape(g, sample, wk_graph_shape(g, logits));
}

static wk_tensor mean_kl(wk_graph *g, wk_tensor post, wk_tensor prior)
{
    return wk_graph_mean_all(g, wk_graph_kl(g, post, prior));
}

wk_tensor wk_nn_balanced_kl(wk_graph *g, wk_tensor post, wk_tensor prior,
                            const wk_kl_config *config, wk_tensor *mean)
{
    post = wk_nn_variables(g, post, config->classes);
    prior = wk_nn_variables(g, prior, config->classes);
    wk_tensor to_post = mean_kl(g, post, wk_graph_stop_gradient(g, prior));
    wk_tensor to_prior = mean_kl(g, wk_graph_stop_gradient(g, post), prior);
    if (mean) *mean = to_post;
    to_post = wk_graph_clamp_min(g, to_post, config->free_nats);
    to_prior = wk_graph_clamp_min(g, to_prior, config->free_nats);
    return wk_graph_add(g, wk_graph_affine(g, to_post, 1 - config->balance, 0),
                        wk_graph_affine(g, to_prior, config->balance, 0));
}
