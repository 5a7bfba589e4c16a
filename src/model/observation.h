// Between what is observed and vectors: the encoder and the decoder of the world model. An image
// goes through convolutions (model/vision.h), a vector through an MLP; where a domain has both,
// their embeddings are joined, and each has a decoder of its own.
#ifndef WK_MODEL_OBSERVATION_H
#define WK_MODEL_OBSERVATION_H

#include "model/config.h"
#include "nn/scope.h"

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

/// Features [N,features] as observations: means of Gaussians of unit variance.
wk_observation_tensors wk_observation_decode(wk_scope *scope, const wk_learner_config *config,
                                             wk_tensor features);

/// Negative log-likelihood of the targets, less its constant: half the squared error, summed over
/// the numbers of an observation and averaged over the N; [1] each.
wk_observation_tensors wk_observation_losses(wk_graph *g, wk_observation_tensors predicted,
                                             wk_observation_tensors target);

#endif
