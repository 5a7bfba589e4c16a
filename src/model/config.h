// Everything that shapes the learner: sizes of the networks and of a batch, loss weights, rates.
// The field list is written once (WK_LEARNER_FIELDS) and shared by defaults, printing and checks.
// Presets are blocks of configs/*.yaml (config/parts.h).
#ifndef WK_MODEL_CONFIG_H
#define WK_MODEL_CONFIG_H

#include "tensor/graph.h"
#include "waker/error.h"
#include <stdint.h>

/// Bytes of an image: 64 by 64 pixels of three channels.
enum { WK_PIXELS = 64 * 64 * 3 };

/// X(type, name, paper's value, min, max, meaning)
#define WK_LEARNER_FIELDS(X)                                                                       \
    X(int, depth, 48, 1, 512, "channels of the first convolution")                                 \
    X(int, deter, 600, 1, 8192, "deterministic part of the latent state")                          \
    X(int, hidden, 600, 1, 8192, "units of the RSSM's hidden layers")                              \
    X(int, stoch, 32, 1, 256, "categorical variables of the stochastic part")                      \
    X(int, classes, 32, 2, 256, "classes of each")                                                 \
    X(int, units, 400, 1, 8192, "units of the other networks' hidden layers")                      \
    X(int, layers, 4, 1, 16, "hidden layers of the other networks")                                \
    X(int, ensemble, 10, 2, 64, "members of the ensemble")                                         \
    X(int, batch, 16, 1, 1024, "sequences in a batch")                                             \
    X(int, length, 50, 2, 1024, "steps of a sequence")                                             \
    X(int, horizon, 15, 1, 256, "imagined steps")                                                  \
    X(int, slow_period, 100, 1, 1000000, "updates between refreshes of the slow critic")           \
    X(float, kl_scale, 1, 0, 1e6, "weight of the KL term")                                         \
    X(float, kl_balance, 0.8, 0, 1, "share of the KL gradient that trains the prior")              \
    X(float, free_nats, 1, 0, 1e6, "KL below this gives no gradient")                              \
    X(float, model_rate, 3e-4, 0, 1, "learning rate of world model and reward heads")              \
    X(float, ensemble_rate, 3e-4, 0, 1, "learning rate of the ensemble")                           \
    X(float, policy_rate, 1e-4, 0, 1, "learning rate of actors and critics")                       \
    X(float, discount, 0.99, 0, 1, "gamma")                                                        \
    X(float, lambda, 0.95, 0, 1, "mixing of the lambda-return")                                    \
    X(float, entropy_scale, 1e-4, 0, 1e3, "weight of the actor's entropy")                         \
    X(float, disagreement_scale, 50, 0, 1e6, "factor of the exploration reward")

/// Where exploring actions come from.
typedef enum wk_exploration { WK_EXPLORE_PLAN2EXPLORE, WK_EXPLORE_RANDOM } wk_exploration;

typedef struct wk_learner_config {
#define FIELD(type, name, value, min, max, meaning) type name; // meaning
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    int action_size;            // of the domain
    int tasks;                  // task policies trained alongside; 0 for none
    bool discount_head;         // the model learns when episodes end, for domains that can
    wk_disagreement spread;     // of the ensemble: the authors' deviation or the paper's variance
    wk_exploration exploration; // policy that collects data
    uint64_t seed;
} wk_learner_config;

/// The paper's numbers for the terrain domains; action_size, tasks and seed are 0.
wk_learner_config wk_learner_config_default(void);

/// Checks every field against its range.
wk_status wk_learner_config_check(const wk_learner_config *config, wk_error *err);

/// Numbers that follow from the sizes.
static inline int wk_config_flat(const wk_learner_config *c)
{
    return c->stoch * c->classes;
}
static inline int wk_config_features(const wk_learner_config *c)
{
    return wk_config_flat(c) + c->deter;
}
static inline int wk_config_rows(const wk_learner_config *c)
{
    return c->batch * c->length;
}

#endif
