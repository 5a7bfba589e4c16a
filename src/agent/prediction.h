// What the world model predicts: single steps for callers that keep the latent states themselves
// (posterior, prior and decoded observation of N states), one-step predictions of observations with
// their errors next to the ensemble's own estimate, and open-loop rollouts that see a few frames
// and imagine the rest.
#ifndef WK_AGENT_PREDICTION_H
#define WK_AGENT_PREDICTION_H

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

typedef struct wk_prediction wk_prediction;

/// For batches of `count` sequences of `steps` steps, of which open loop sees the first `context`;
/// with a context of 0 there is no open loop. The learner is borrowed.
wk_status wk_prediction_create(wk_learner *learner, int count, int steps, int context,
                               wk_prediction **out, wk_error *err);
/// As wk_prediction_create, for the errors of an open loop alone, with those of the reward heads;
/// the learner must have task policies.
wk_status wk_prediction_create_errors(wk_learner *learner, int count, int steps, int context,
                                      wk_prediction **out, wk_error *err);
void wk_prediction_destroy(wk_prediction *prediction);

/// What is predicted, for step t+1 from the posterior at t and the real action. Any pointer may be
/// NULL.
typedef struct wk_predicted {
    float *images; // [T-1,B,64,64,3] around zero (add 0.5 and multiply by 255)
    float *error;  // [T-1,B] mean squared error over the image, of values in [-0.5,0.5]; where
                   // there are no images, over the numbers of the vector
    float *disagreement; // [T-1,B] of the ensemble at (state t, action)
    float *open_loop;    // [T,B,64,64,3]: reconstructions of the context, then imagined frames
    float *open_vectors; // [T,B,V], the same of vectors
    // Only with wk_prediction_create_errors, which gives nothing else:
    float *open_loop_error;   // [T,B], as `error`
    float *open_loop_rewards; // [tasks,T,B], the reward heads'
} wk_predicted;

/// `batch` is [T,B] time-major as for learning; rewards are ignored.
wk_status wk_prediction_run(wk_prediction *prediction, const wk_learner_batch *batch,
                            const wk_predicted *out, wk_error *err);

#endif
