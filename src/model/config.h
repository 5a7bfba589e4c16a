// Everything that shapes the learner: sizes of the networks and of a batch, loss weights, rates.
// A hyperparameter is one row of WK_LEARNER_FIELDS. From it come the field of the learner's struct,
// its default and check, and, since the run's list contains this one, its key everywhere else.
// Presets are blocks of configs/*.yaml (config/parts.h).
#ifndef WK_MODEL_CONFIG_H
#define WK_MODEL_CONFIG_H

#include "tensor/graph.h"
#include "waker/env.h"
#include "waker/error.h"
#include <stdint.h>

/// Bytes of an image: 64 by 64 pixels of three channels.
enum { WK_PIXELS = 64 * 64 * 3 };

/// The learner's keys: a segment of the run's list (config/config.h, which says what the columns
/// are), in the run's order.
#define WK_LEARNER_FIELDS(X)                                                                       \
    X(INT, depth, "encoder.depth", 48, 1, 512, FIXED, "=", "=",                                    \
      "channels of the first convolution")                                                         \
    X(INT, deter, "rssm.deter", 600, 1, 8192, FIXED, "=", "=",                                     \
      "size of the deterministic part of the latent state")                                        \
    X(INT, hidden, "rssm.hidden", 600, 1, 8192, FIXED, "=", "=",                                   \
      "units of the RSSM's hidden layers")                                                         \
    X(INT, stoch, "rssm.stoch", 32, 1, 256, FIXED, "=", "=",                                       \
      "categorical variables of the stochastic part")                                              \
    X(INT, classes, "rssm.classes", 32, 2, 256, FIXED, "=", "=",                                   \
      "classes of each categorical variable")                                                      \
    X(INT, units, "units", 400, 1, 8192, FIXED, "=", "=",                                          \
      "units of the other networks' hidden layers")                                                \
    X(INT, layers, "layers", 4, 1, 16, FIXED, "=", "=", "hidden layers of the other networks")     \
    X(INT, ensemble, "ensemble.size", 10, 2, 64, FIXED, "=", "=", "members of the ensemble")       \
    X(NUMBER, ensemble_rate, "ensemble.rate", 3e-4, 0, 1, FIXED, "=", "=",                         \
      "learning rate of the ensemble")                                                             \
    X(TEXT, ensemble_kind, "ensemble.kind", "std", 0, "std|variance", FIXED, "variance", "=",      \
      "measure of the members' disagreement")                                                      \
    X(NUMBER, disagreement_scale, "ensemble.scale", 50, 0, 1e6, FIXED, "1", "=",                   \
      "factor on the disagreement")                                                                \
    X(TEXT, ensemble_action, "ensemble.action", "taken", 0, "taken|arriving", FIXED, "=",          \
      "arriving",                                                                                  \
      "action that the members see with a state: the one taken there, or the one that led there")  \
    X(TEXT, ensemble_states, "ensemble.states", "steps", 0, "steps|all", FIXED, "=", "all",        \
      "states of an imagined trajectory that count in its error: one per step, or also the "       \
      "start, with no action")                                                                     \
    X(TEXT, ensemble_clip, "ensemble.clip", "each", 0, "each|joint", FIXED, "", "joint",           \
      "clip gradients by each member's norm, or by the norm of all together")                      \
    X(TEXT, reward_clip, "reward.clip", "each", 0, "each|joint", FIXED, "", "joint",               \
      "clip gradients by each task's reward head's norm, or by the norm of all together")          \
    X(TEXT, adam_epsilon, "adam.epsilon", "torch", 0, "torch|keras", FIXED, "", "keras",           \
      "where Adam adds epsilon: to the bias-corrected root of v, or, as Keras, to the "            \
      "uncorrected one")                                                                           \
    X(INT, batch, "batch", 16, 1, 1024, FIXED, "=", "=", "sequences in a batch")                   \
    X(INT, length, "length", 50, 2, 1024, FIXED, "=", "=", "agent steps in a sequence")            \
    X(INT, horizon, "horizon", 15, 1, 256, FIXED, "=", "=", "imagination horizon in steps")        \
    X(NUMBER, model_rate, "model.rate", 3e-4, 0, 1, FIXED, "=", "=",                               \
      "learning rate of the world model and the reward heads")                                     \
    X(NUMBER, kl_scale, "model.kl_scale", 1, 0, 1e6, FIXED, "=", "=", "weight of the KL term")     \
    X(NUMBER, kl_balance, "model.kl_balance", 0.8, 0, 1, FIXED, "=", "=",                          \
      "share of the KL gradient that trains the prior")                                            \
    X(NUMBER, free_nats, "model.free_nats", 1, 0, 1e6, FIXED, "=", "=",                            \
      "KL below this gives no gradient")                                                           \
    X(NUMBER, policy_rate, "policy.rate", 1e-4, 0, 1, FIXED, "=", "=",                             \
      "learning rate of actors and critics")                                                       \
    X(NUMBER, exploration_rate, "policy.exploration_rate", 0, 0, 1, FIXED, "0", "0",               \
      "learning rate of the exploration policy and its critic; 0: policy.rate")                    \
    X(NUMBER, discount, "policy.discount", 0.99, 0, 1, FIXED, "=", "=", "discount factor gamma")   \
    X(NUMBER, lambda, "policy.lambda", 0.95, 0, 1, FIXED, "=", "=", "lambda of the lambda-return") \
    X(NUMBER, entropy_scale, "policy.entropy_scale", 1e-4, 0, 1e3, FIXED, "=", "=",                \
      "weight of the actor's entropy")                                                             \
    X(NUMBER, saturation_scale, "policy.saturation_scale", 0, 0, 1e3, FIXED, "0", "0",             \
      "weight of the penalty on saturated outputs of the exploration actor; 0: none")              \
    X(TEXT, sample_gradient, "policy.sample_gradient", "exact", 0, "exact|location-scale", FIXED,  \
      "", "location-scale",                                                                        \
      "gradient of a sampled continuous action: exact, or as TensorFlow Probability has it, "      \
      "which does not fade where the mean is at a bound")                                          \
    X(INT, slow_period, "policy.slow_period", 100, 1, 1000000, FIXED, "=", "=",                    \
      "updates between refreshes of the slow critic")

/// The action that the ensemble sees with state z_t: a_t, or a_{t-1}, which led there.
typedef enum wk_ensemble_action { WK_ACTION_TAKEN, WK_ACTION_ARRIVING } wk_ensemble_action;
/// Which states of an imagined trajectory its error is the mean of: those of its H steps, or the
/// start with an action of zeros before them.
typedef enum wk_ensemble_states { WK_STATES_STEPS, WK_STATES_ALL } wk_ensemble_states;
/// Whose norm clips the gradients of a stack of networks.
typedef enum wk_clip { WK_CLIP_EACH, WK_CLIP_JOINT } wk_clip;
typedef enum wk_adam_epsilon { WK_EPSILON_TORCH, WK_EPSILON_KERAS } wk_adam_epsilon;
/// Where exploring actions come from.
typedef enum wk_exploration { WK_EXPLORE_PLAN2EXPLORE, WK_EXPLORE_RANDOM } wk_exploration;

/// C types of the learner's fields by kind. A TEXT with choices is stored as its index among them,
/// which is the enum's value: `ensemble_kind` is a wk_disagreement, `ensemble_clip` a wk_clip,
/// `sample_gradient` a wk_sample_gradient.
typedef int wk_learner_INT;
typedef float wk_learner_NUMBER;
typedef int wk_learner_TEXT;

typedef struct wk_learner_config {
#define FIELD(kind, name, ...) wk_learner_##kind name;
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    int action_size; // of the domain
    bool discrete;   // actions are one-hot
    wk_observation_spec observation;
    int tasks;                  // task policies trained alongside; 0 for none
    bool discount_head;         // the model learns when episodes end, for domains that can
    wk_exploration exploration; // policy that collects data
    uint64_t seed;
} wk_learner_config;

/// The paper's numbers for the terrain domains; action_size, tasks and seed are 0, images are all
/// that is observed.
wk_learner_config wk_learner_config_default(void);

/// Whether two learners can be members of one population: their graphs are the same. They may
/// differ in seed and learning rates.
bool wk_learner_config_is_alike(const wk_learner_config *a, const wk_learner_config *b);

/// Checks every field against its range.
wk_status wk_learner_config_check(const wk_learner_config *config, wk_error *err);

/// Numbers that follow from the sizes.
static inline int wk_config_stoch_size(const wk_learner_config *c)
{
    return c->stoch * c->classes;
}
static inline int wk_config_features(const wk_learner_config *c)
{
    return wk_config_stoch_size(c) + c->deter;
}
/// Learning rate of the exploration policy and its critic.
static inline float wk_config_exploration_rate(const wk_learner_config *c)
{
    return c->exploration_rate > 0 ? c->exploration_rate : c->policy_rate;
}
/// Whether actors learn by the score function (REINFORCE), as with discrete actions, and not by
/// backpropagation through their actions and the dynamics.
static inline bool wk_config_reinforces(const wk_learner_config *c)
{
    return c->discrete;
}
/// Width of an embedded observation: that of its image and that of its vector.
static inline int wk_config_embed(const wk_learner_config *c)
{
    return (c->observation.no_image ? 0 : 32 * c->depth) +
           (c->observation.vector > 0 ? c->units : 0);
}
static inline int wk_config_rows(const wk_learner_config *c)
{
    return c->batch * c->length;
}

#endif
