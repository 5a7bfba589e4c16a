// Layers: weights of a scope plus the ops that use them. A layer is a function from tensors to
// tensors; calling it again under the same name uses the same weights, which is how recurrence and
// imagination are unrolled.
//
// Without a stack, x is [..,K] with any leading axes. In a scope with a stack of S, x is [S,..,K],
// or of rank 2 or with 1 in front where all members read the same, and results are [S,..,N].
#ifndef WK_NN_LAYERS_H
#define WK_NN_LAYERS_H

#include "nn/scope.h"

/// act(x w + b): weights "name/w" [K,units] by Glorot, "name/b" [units] zero.
wk_tensor wk_nn_dense(wk_scope *scope, const char *name, wk_tensor x, int units,
                      wk_activation activation);

/// What an MLP looks like.
typedef struct wk_mlp_config {
    int layers;               // hidden layers
    int units;                // width of each
    wk_activation activation; // after each hidden layer; the output has none
    int outputs;
} wk_mlp_config;
/// Dense layers "name/0", "name/1", ... and the linear "name/out".
wk_tensor wk_nn_mlp(wk_scope *scope, const char *name, wk_tensor x, const wk_mlp_config *config);

/// What a convolution looks like; square kernel, no padding.
typedef struct wk_conv_config {
    int channels, kernel, stride;
    wk_activation activation;
} wk_conv_config;
/// Convolution of x [..,H,H,C] (with a stack: [S,B,H,H,C]): "name/w" [K,K,C,D], "name/b" [D].
wk_tensor wk_nn_conv(wk_scope *scope, const char *name, wk_tensor x, const wk_conv_config *config);
/// Transposed convolution of the same: "name/w" [K,K,D,C], "name/b" [D].
wk_tensor wk_nn_deconv(wk_scope *scope, const char *name, wk_tensor x,
                       const wk_conv_config *config);

#endif
