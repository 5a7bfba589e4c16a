// World models: a saved run's model of its environments, to look inside.
//
// The model follows observations and actions (observe), continues without observations (imagine),
// and gives the observation that a latent state stands for (decode). It keeps nothing between
// calls: latent states are the caller's arrays.
#ifndef WAKER_MODEL_H
#define WAKER_MODEL_H

#include "waker/env.h"
#include "waker/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Which model, and how its states are drawn. Texts are needed during wk_model_create only.
typedef struct wk_model_config {
    const char *run;    // directory of the run
    int64_t step;       // of the snapshot, or -1 for the newest
    const char *device; // "auto", "cpu", "cuda", "cuda:N"; NULL: as the run was configured
    int threads;        // that compute; 0: as the run was configured
    bool sample;        // draw the stochastic part from its distribution; false: take the mode
    uint64_t seed;      // of everything drawn
} wk_model_config;

/// The newest snapshot, the mode, seed 0; `run` is the caller's to say.
wk_model_config wk_model_config_default(void);

/// Sizes of a latent state and of actions.
typedef struct wk_model_sizes {
    int stoch, classes; // categorical variables, and classes of each
    int deter;          // numbers of the recurrent state
    int action;         // numbers of an action
} wk_model_sizes;

/// Latent states of N sequences. [stoch, deter] are the features that every head of the model sees.
typedef struct wk_model_latents {
    float *stoch; // [N, stoch*classes], one-hot
    float *deter; // [N, deter]
} wk_model_latents;

typedef struct wk_model wk_model;

wk_status wk_model_create(const wk_model_config *config, wk_model **out, wk_error *err);
/// NULL is allowed.
void wk_model_destroy(wk_model *model);

wk_model_sizes wk_model_get_sizes(const wk_model *model);
/// The run's domain; valid as long as the model, and its description alone where a plug-in has it.
const wk_domain *wk_model_domain(const wk_model *model);
/// Step of the weights that were loaded.
uint64_t wk_model_step(const wk_model *model);

/// Moves the states on to the posterior: what N environments show (images and vectors, as far as
/// the domain has them, and flags, of which WK_IS_FIRST says that an episode begins: state and
/// action before it are ignored), and the actions [N,A] that led there. Actions and vectors must be
/// finite. Rewards are not read.
wk_status wk_model_observe_batch(wk_model *model, int count, wk_model_latents states,
                                 const wk_batch *seen, const float *actions, wk_error *err);
/// As wk_model_observe_batch, for domains that are observed by images alone: images [N,64,64,3],
/// the actions [N,A] that led to them, first [N] (nonzero: an episode begins).
wk_status wk_model_observe(wk_model *model, int count, wk_model_latents states,
                           const uint8_t *images, const float *actions, const uint8_t *first,
                           wk_error *err);

/// Moves the states on to the prior: what the model expects after actions [N,A], which must be
/// finite.
wk_status wk_model_imagine(wk_model *model, int count, wk_model_latents states,
                           const float *actions, wk_error *err);

/// What the states look like, as far as the domain has it: images [N,64,64,3] around zero (add 0.5
/// and multiply by 255), and vectors [N,observation.vector].
wk_status wk_model_decode_observations(wk_model *model, int count, wk_model_latents states,
                                       float *images, float *vectors, wk_error *err);
/// As wk_model_decode_observations, for domains that are observed by images alone.
wk_status wk_model_decode(wk_model *model, int count, wk_model_latents states, float *images,
                          wk_error *err);

#ifdef __cplusplus
}
#endif
#endif
