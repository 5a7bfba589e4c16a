// The world model's training graph: encode, follow the sequences, decode, and the losses
// (observations and balanced KL; where episodes can end early, also that of the discount head). It
// never sees a reward.
//
// Observations: an image goes through convolutions fixed to 64x64 pixels by their kernels and
// strides (only the number of channels is a setting), a vector through an MLP; where a domain has
// both, their embeddings are joined, and each has a decoder of its own.
#ifndef WK_MODEL_WORLD_MODEL_H
#define WK_MODEL_WORLD_MODEL_H

#include "model/config.h"
#include "model/rssm.h"
#include "nn/params.h"

/// N observations; a part that the domain does not have is absent.
typedef struct wk_observation_tensors {
    wk_tensor image;  // f32 [N,64,64,3] around zero
    wk_tensor vector; // f32 [N,V]
} wk_observation_tensors;

/// From the inputs of a graph: images u8 [N,64,64,3] and vectors [N,V], each absent where the
/// domain has none.
wk_observation_tensors wk_observation_inputs(wk_graph *g, wk_tensor image, wk_tensor vector);

/// Observations as vectors [N,wk_config_embed].
wk_tensor wk_observation_encode(wk_scope *scope, const wk_learner_config *config,
                                wk_observation_tensors observed);

/// The states of N sequences after one more observation and the action that led to it, as
/// wk_rssm_observe does it: from zero where `not_first` [N] is 0. Without a random source, the
/// mode.
wk_latent wk_latent_observe(const wk_rssm *rssm, wk_latent before, wk_tensor action,
                            wk_tensor not_first, wk_tensor image, wk_tensor vector,
                            wk_random random);

/// Features [N,features] as observations: means of Gaussians of unit variance.
wk_observation_tensors wk_observation_decode(wk_scope *scope, const wk_learner_config *config,
                                             wk_tensor features);

/// Negative log-likelihood of the targets, less its constant: half the squared error, summed over
/// the numbers of an observation and averaged over the N; [1] each.
wk_observation_tensors wk_observation_losses(wk_graph *g, wk_observation_tensors predicted,
                                             wk_observation_tensors target);

/// Images f32 [N,64,64,3] around zero as vectors [N,32*depth]: 64 -> 31 -> 14 -> 6 -> 2 pixels.
wk_tensor wk_vision_encode(wk_scope *scope, const wk_learner_config *config, wk_tensor images);

/// Features [N,features] as images f32 [N,64,64,3] around zero: 1 -> 5 -> 13 -> 30 -> 64 pixels.
wk_tensor wk_vision_decode(wk_scope *scope, const wk_learner_config *config, wk_tensor features);

/// What the graph reads: a batch, time-major. Row t holds the image at t and the action that led to
/// it.
typedef struct wk_batch_tensors {
    wk_tensor image;     // u8 [T,B,64,64,3] (as [T*B,64,64,3]); absent without images
    wk_tensor vector;    // f32 [T*B,V]; absent without vectors
    wk_tensor action;    // f32 [T,B,A]
    wk_tensor not_first; // f32 [T,B]: 0 on a sequence's first row, else 1
    // f32 [T*B]: 0 where the episode ended for good, else 1; absent without a discount head.
    wk_tensor continues;
} wk_batch_tensors;

/// What it computes.
typedef struct wk_model_losses {
    wk_tensor total;                 // [1], the loss to reduce
    wk_observation_tensors observed; // [1] each, for the logs: image loss, vector loss
    wk_tensor kl;                    // [1], for the logs: mean KL
    wk_tensor prior_entropy;         // [1], mean
    wk_tensor post_entropy;          // [1], mean
    wk_tensor discount;              // [1], loss of the discount head; absent without one
    wk_latent latent;                // posterior states [T,B,..]
} wk_model_losses;

/// Declares the inputs.
wk_batch_tensors wk_batch_inputs(wk_graph *g, const wk_learner_config *config);

/// Records the losses; random samples come from streams "model/observe/t" at `counter`.
wk_model_losses wk_model_record(wk_scope *scope, const wk_learner_config *config,
                                const wk_batch_tensors *batch, wk_tensor counter);

/// The discount head of DreamerV2: what the value of a state is multiplied by, gamma times the
/// probability that the episode goes on, for features [N,features]: [N].
wk_tensor wk_model_discount(wk_scope *scope, const wk_learner_config *config, wk_tensor features);

#endif
