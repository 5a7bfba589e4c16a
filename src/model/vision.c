#include "model/vision.h"

#include "nn/layers.h"
#include <stdio.h>

enum { LAYERS = 4, NAME = 32 };

wk_tensor wk_vision_encode(wk_scope *scope, const wk_learner_config *config, wk_tensor images)
{
    wk_graph *g = wk_scope_graph(scope);
    wk_tensor x = images;
    for (int i = 0; i < LAYERS; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "encoder/%d", i);
        wk_conv_config conv = {
            .channels = config->depth << i, .kernel = 4, .stride = 2, .activation = WK_ELU};
        x = wk_nn_conv(scope, name, x, &conv);
    }
    int rows = wk_graph_shape(g, images).dim[0];
    return wk_graph_reshape(g, x, WK_SHAPE(rows, 32 * config->depth));
}

wk_tensor wk_vision_decode(wk_scope *scope, const wk_learner_config *config, wk_tensor features)
{
    static const int kernels[LAYERS] = {5, 5, 6, 6};
    const int channels[LAYERS] = {4 * config->depth, 2 * config->depth, config->depth, 3};
    wk_graph *g = wk_scope_graph(scope);
    int rows = wk_graph_shape(g, features).dim[0];
    wk_tensor x = wk_nn_dense(scope, "decoder/in", features, 32 * config->depth, WK_IDENTITY);
    x = wk_graph_reshape(g, x, WK_SHAPE(rows, 1, 1, 32 * config->depth));
    for (int i = 0; i < LAYERS; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "decoder/%d", i);
        wk_conv_config deconv = {.channels = channels[i],
                                 .kernel = kernels[i],
                                 .stride = 2,
                                 .activation = i < LAYERS - 1 ? WK_ELU : WK_IDENTITY};
        x = wk_nn_deconv(scope, name, x, &deconv);
    }
    return x;
}
