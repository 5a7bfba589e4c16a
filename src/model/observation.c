#include "model/observation.h"

#include "model/vision.h"
#include "nn/layers.h"
#include <stdio.h>

wk_observation_tensors wk_observation_inputs(wk_graph *g, wk_tensor image, wk_tensor vector)
{
    return (wk_observation_tensors){wk_tensor_exists(image) ? wk_graph_image(g, image) : image,
                                    vector};
}

// Dense layers that all have an activation: the last one is the embedding.
static wk_tensor encode_vector(wk_scope *scope, const wk_learner_config *c, wk_tensor x)
{
    for (int i = 0; i < c->layers; i++) {
        char name[48];
        snprintf(name, sizeof name, "encoder/vector/%d", i);
        x = wk_nn_dense(scope, name, x, c->units, WK_ELU);
    }
    return x;
}

wk_tensor wk_observation_encode(wk_scope *scope, const wk_learner_config *c,
                                wk_observation_tensors observed)
{
    wk_tensor parts[2];
    size_t count = 0;
    if (!c->observation.no_image) parts[count++] = wk_vision_encode(scope, c, observed.image);
    if (c->observation.vector > 0) parts[count++] = encode_vector(scope, c, observed.vector);
    return count == 1 ? parts[0] : wk_graph_concat(wk_scope_graph(scope), parts, count, 1);
}

wk_observation_tensors wk_observation_decode(wk_scope *scope, const wk_learner_config *c,
                                             wk_tensor features)
{
    wk_observation_tensors out = {{0}, {0}};
    wk_mlp_config shape = {.layers = c->layers,
                           .units = c->units,
                           .activation = WK_ELU,
                           .outputs = c->observation.vector};
    if (!c->observation.no_image) out.image = wk_vision_decode(scope, c, features);
    if (c->observation.vector > 0)
        out.vector = wk_nn_mlp(scope, "decoder/vector", features, &shape);
    return out;
}

static wk_tensor loss(wk_graph *g, wk_tensor predicted, wk_tensor target, int axes)
{
    if (!wk_tensor_exists(predicted)) return predicted;
    return wk_graph_mean_all(g, wk_graph_half_squared_error(g, predicted, target, axes));
}

wk_observation_tensors wk_observation_losses(wk_graph *g, wk_observation_tensors predicted,
                                             wk_observation_tensors target)
{
    return (wk_observation_tensors){loss(g, predicted.image, target.image, 3),
                                    loss(g, predicted.vector, target.vector, 1)};
}
