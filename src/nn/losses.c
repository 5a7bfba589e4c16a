#include "nn/losses.h"

#include "base/rng.h"
#include <assert.h>
#include <stdio.h>

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
