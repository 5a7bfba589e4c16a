// Losses and samples that more than one network uses.
#ifndef WK_NN_LOSSES_H
#define WK_NN_LOSSES_H

#include "tensor/graph.h"

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
