// The world model's training graph: encode, follow the sequences, decode, and the losses
// (observations and balanced KL; where episodes can end early, also that of the discount head). It
// never sees a reward.
#ifndef WK_MODEL_WORLD_MODEL_H
#define WK_MODEL_WORLD_MODEL_H

#include "model/observation.h"
#include "model/rssm.h"

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
