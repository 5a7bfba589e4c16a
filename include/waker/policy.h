// Policies: a saved run's policy, acting on what is observed.
//
// wk_policy_create opens the directory of a run read-only and loads one policy of it for N
// environments. wk_policy_act turns N images into N actions and remembers what it has seen: the
// policy is recurrent. Images and flags are those of wk_vec_batch (waker/env.h), or your own. The
// same weights, images and seed give the same actions, bit for bit: it is what `waker eval` plays.
#ifndef WAKER_POLICY_H
#define WAKER_POLICY_H

#include "waker/env.h"
#include "waker/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Name in place of a task's: the policy that collects the data of training.
#define WK_POLICY_TASK_EXPLORE "explore"
/// In place of a step: the newest.
#define WK_POLICY_STEP_LAST (-1)

/// Which policy, and how it acts. Texts are needed during wk_policy_create only.
typedef struct wk_policy_config {
    const char *run;     // directory of the run
    const char *task;    // name of a task of its domain, or WK_POLICY_TASK_EXPLORE
    const char *weights; // "adapted", "alongside" or "finetuned"; NULL: adapted, else alongside;
                         // "adapted.NAME" of an adaptation or fine-tuning that has a name
    int64_t step;        // of the snapshot, or WK_POLICY_STEP_LAST
    const char *device;  // "auto", "cpu", "cuda", "cuda:N"; NULL: as the run was configured
    const char *plugin;  // file to load the domain's code from; NULL: no code is ever loaded
    int count;           // environments, N
    int threads;         // that compute; 0: as the run was configured
    bool sample;         // draw actions from the policy's distribution; false: take its mode
    uint64_t seed;       // of everything drawn
} wk_policy_config;

/// The newest weights, one environment, the mode, seed 0; `run` and `task` are the caller's to say.
wk_policy_config wk_policy_config_default(void);

typedef struct wk_policy wk_policy;

wk_status wk_policy_create(const wk_policy_config *config, wk_policy **out, wk_error *err);
/// NULL is allowed.
void wk_policy_destroy(wk_policy *policy);

/// The run's domain and its options, for wk_vec_create; valid as long as the policy. A domain of a
/// plug-in that was not loaded is its description alone, and no environment can be made of it.
const wk_domain *wk_policy_domain(const wk_policy *policy);
const int *wk_policy_options(const wk_policy *policy);
/// Step of the weights that were loaded.
uint64_t wk_policy_step(const wk_policy *policy);

/// One step: what N environments show (images and vectors, as far as the domain has them, and
/// flags, of which WK_IS_FIRST makes the policy forget what came before) to actions [N,
/// action_size], in [-1,1] or one-hot. It is taken for what the last actions led to. Vectors must
/// be finite. Rewards are not read.
wk_status wk_policy_act_on(wk_policy *policy, const wk_batch *seen, float *actions, wk_error *err);
/// As wk_policy_act_on, for domains that are observed by images alone: images [N,64,64,3] and flags
/// [N].
wk_status wk_policy_act(wk_policy *policy, const uint8_t *images, const uint8_t *flags,
                        float *actions, wk_error *err);

/// Forgets everything and draws from `seed` on, as after wk_policy_create.
wk_status wk_policy_reset(wk_policy *policy, uint64_t seed, wk_error *err);

/// What the policy remembers as bytes: recurrent states, last actions, positions in the random
/// streams. Loaded into a policy of the same run, weights and N it acts on as if it had never
/// stopped.
size_t wk_policy_state_size(const wk_policy *policy);
wk_status wk_policy_save(const wk_policy *policy, void *bytes, wk_error *err);
/// Bytes of another size, or with numbers that are not finite, are refused.
wk_status wk_policy_load(wk_policy *policy, const void *bytes, size_t size, wk_error *err);

#ifdef __cplusplus
}
#endif
#endif
