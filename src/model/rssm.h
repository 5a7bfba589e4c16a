// The recurrent state-space model: how a latent state moves. A latent is a stochastic part
// (categorical variables as one-hot rows) and a deterministic part (the GRU's state). The prior
// predicts the stochastic part from the deterministic one; the posterior also sees the observation.
//
// Where an input is a concatenation ([stoch, action], [deter, embed]), its weights are split: the
// products of the parts are added, so that nothing is concatenated, and a part known for all steps
// beforehand is multiplied once.
#ifndef WK_MODEL_RSSM_H
#define WK_MODEL_RSSM_H

#include "model/config.h"
#include "nn/params.h"

/// A latent state: stoch [..,stoch*classes], deter [..,deter].
typedef struct wk_latent {
    wk_tensor stoch, deter;
} wk_latent;

/// The model's weights as one graph uses them.
typedef struct wk_rssm {
    wk_scope *scope; // of the set "model", borrowed
    const wk_learner_config *config;
    wk_tensor in_stoch, in_action, in_bias;   // [stoch, action] -> hidden
    wk_tensor gru_x, gru_h;                   // [hidden, deter] -> 3 deter
    wk_tensor gru_bias, gru_gain, gru_offset; // before and inside the norm
    wk_tensor post_deter, post_embed, post_bias;
} wk_rssm;

/// Takes the weights from the scope.
wk_rssm wk_rssm_use(wk_scope *scope, const wk_learner_config *config);

/// What the action adds to the input layer, for any number of rows: [..,hidden].
wk_tensor wk_rssm_action(const wk_rssm *rssm, wk_tensor action);
/// The deterministic part after `latent`; `action` as wk_rssm_action gave it.
wk_tensor wk_rssm_advance(const wk_rssm *rssm, wk_latent latent, wk_tensor action);

/// What the observation adds to the posterior's hidden layer: [..,hidden].
wk_tensor wk_rssm_embed(const wk_rssm *rssm, wk_tensor embed);
/// Logits [..,stoch*classes] of the posterior; `embed` as wk_rssm_embed gave it.
wk_tensor wk_rssm_posterior(const wk_rssm *rssm, wk_tensor deter, wk_tensor embed);
/// Logits [..,stoch*classes] of the prior.
wk_tensor wk_rssm_prior(const wk_rssm *rssm, wk_tensor deter);

/// One imagined step: advance, then sample the prior.
wk_latent wk_rssm_imagine(const wk_rssm *rssm, wk_latent latent, wk_tensor action,
                          wk_random random);

/// [stoch, deter], the input of every head: [..,features].
wk_tensor wk_rssm_features(const wk_rssm *rssm, wk_latent latent);

/// A sequence of posterior states, time-major.
typedef struct wk_observed {
    wk_latent latent;      // [T,B,..]
    wk_tensor post_logits; // [T,B,stoch*classes]
} wk_observed;

/// Follows B sequences of T steps from zero states: embed [T,B,E], action [T,B,A] (the one that led
/// to each step), not_first [T,B] (0 where a sequence begins). `random_name` names the samples'
/// streams.
wk_observed wk_rssm_observe(const wk_rssm *rssm, wk_tensor embed, wk_tensor action,
                            wk_tensor not_first, wk_tensor counter, const char *random_name);

#endif
