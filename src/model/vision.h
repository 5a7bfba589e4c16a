// Between images and vectors: the convolutional encoder and decoder. Both are fixed to 64x64 pixels
// by their kernels and strides; only the number of channels is a setting.
#ifndef WK_MODEL_VISION_H
#define WK_MODEL_VISION_H

#include "model/config.h"
#include "nn/scope.h"

/// Images f32 [N,64,64,3] around zero as vectors [N,32*depth]: 64 -> 31 -> 14 -> 6 -> 2 pixels.
wk_tensor wk_vision_encode(wk_scope *scope, const wk_learner_config *config, wk_tensor images);

/// Features [N,features] as images f32 [N,64,64,3] around zero: 1 -> 5 -> 13 -> 30 -> 64 pixels.
wk_tensor wk_vision_decode(wk_scope *scope, const wk_learner_config *config, wk_tensor features);

#endif
