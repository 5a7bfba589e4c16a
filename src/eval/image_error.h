// How well a world model predicts: the error of its pictures one step ahead, in fresh episodes of
// uniformly random actions in environments from the default distribution (the paper's image
// prediction error under random actions). The episodes depend on (domain, seed) alone, so that
// models are compared on the same ones.
#ifndef WK_EVAL_IMAGE_ERROR_H
#define WK_EVAL_IMAGE_ERROR_H

#include "agent/learner.h"
#include "waker/env.h"

/// What to measure on.
typedef struct wk_image_error_config {
    int episodes; // one environment each
    int steps;    // of each
    uint64_t seed;
    const int *options; // of the domain
} wk_image_error_config;

/// Mean squared error of the pixels (0 to 1), averaged over each episode: [episodes].
wk_status wk_image_error_measure(wk_learner *learner, const wk_domain *domain,
                                 const wk_image_error_config *config, double *errors,
                                 wk_error *err);

/// Mean of the values and of their worst tenth (at least one); reorders them.
void wk_mean_and_worst(double *values, size_t count, double *mean, double *worst);

#endif
