// Single steps of a learner's world model, for callers that keep the latent states themselves:
// posterior, prior and decoded observation of N states.
#ifndef WK_AGENT_LATENT_STEP_H
#define WK_AGENT_LATENT_STEP_H

#include "agent/learner.h"
#include "waker/model.h"

typedef enum wk_latent_step_kind {
    WK_STEP_OBSERVE, // as wk_model_observe_batch,
    WK_STEP_IMAGINE, // wk_model_imagine
    WK_STEP_DECODE,  // and wk_model_decode_observations
    WK_STEP_KINDS
} wk_latent_step_kind;

typedef struct wk_latent_step wk_latent_step;

/// For `count` states; `sample` as in wk_model_config. The learner is borrowed.
wk_status wk_latent_step_create(wk_learner *learner, wk_latent_step_kind kind, int count,
                                bool sample, wk_latent_step **out, wk_error *err);
/// NULL is allowed.
void wk_latent_step_destroy(wk_latent_step *step);
/// Number of states.
int wk_latent_step_count(const wk_latent_step *step);

/// What a step reads and writes; only what its kind and the domain's observation have is used.
typedef struct wk_latent_step_arrays {
    wk_model_latents states;
    const uint8_t *images;
    const float *vectors;
    const float *actions;
    const uint8_t *first;
    float *decoded_images, *decoded_vectors; // of WK_STEP_DECODE
    uint64_t counter;                        // place in the random streams
} wk_latent_step_arrays;
wk_status wk_latent_step_run(wk_latent_step *step, const wk_latent_step_arrays *arrays,
                             wk_error *err);

#endif
