// Layers: weights of a scope plus the ops that use them. A layer is a function from tensors to
// tensors; calling it again under the same name uses the same weights, which is how recurrence and
// imagination are unrolled.
//
// Without a stack, x is [..,K] with any leading axes. In a scope with a stack of S, x is [S,..,K],
// or of rank 2 or with 1 in front where all members read the same, and results are [S,..,N].
//
// Also the losses and samples that more than one network uses.
#ifndef WK_NN_LAYERS_H
#define WK_NN_LAYERS_H

#include "nn/params.h"
#include "tensor/graph.h"

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
/// Convolution of x [B,H,H,C] (with a stack: [S,B,H,H,C]): "name/w" [K,K,C,D], "name/b" [D].
wk_tensor wk_nn_conv(wk_scope *scope, const char *name, wk_tensor x, const wk_conv_config *config);
/// Transposed convolution of the same: "name/w" [K,K,D,C], "name/b" [D].
wk_tensor wk_nn_deconv(wk_scope *scope, const char *name, wk_tensor x,
                       const wk_conv_config *config);

/// The random source of node number `index` called `name` in a run with this seed; every step of an
/// unrolled network needs its own.
wk_random wk_nn_random(wk_tensor counter, uint64_t seed, const char *name, int index);

/// Logits [..,V*C] as one-hot samples of V categorical variables of C classes, flat again:
/// [..,V*C]. The gradient is that of the probabilities. Without a random source (counter absent),
/// the mode.
wk_tensor wk_nn_sample_categorical(wk_graph *g, wk_tensor logits, int classes, wk_random random);

/// Logits [..,V*C] as [rows,V,C], which categorical ops take.
wk_tensor wk_nn_variables(wk_graph *g, wk_tensor logits, int classes);

/// How the KL term of the world model is weighed.
typedef struct wk_kl_config {
    int classes;     // C
    float balance;   // share of the gradient that trains the prior: 0.8
    float free_nats; // no gradient below: 1
} wk_kl_config;
/// (1-balance) max(mean KL(post || sg prior), free) + balance max(mean KL(sg post || prior), free)
/// over logits [..,V*C], KL summed over the V variables and averaged over the rest: [1]. The mean
/// KL itself, for the logs, goes to `mean` [1] if that is not NULL.
wk_tensor wk_nn_balanced_kl(wk_graph *g, wk_tensor post, wk_tensor prior,
                            const wk_kl_config *config, wk_tensor *mean);

#endif
