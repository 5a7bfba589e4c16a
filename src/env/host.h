// What a vector of environments needs from one environment beyond the public interface.
#ifndef WK_ENV_HOST_H
#define WK_ENV_HOST_H

#include "waker/env.h"

/// WK_OK if `action` is finite, and one-hot where it is discrete, and an episode is running: then
/// wk_env_step cannot fail but for an image of a domain that draws none.
wk_status wk_env_check_step(const wk_env *env, const float *action, wk_error *err);

/// Whether it was reset, or restored from a state that was saved.
bool wk_env_has_episode(const wk_env *env);

/// Time that environments have taken since they were made, by the wall clock: the clock of
/// processor time is a system call, which took 1 % of a step. For shares: a busy machine delays
/// both parts alike.
typedef struct wk_env_seconds {
    double all;    // resets and steps, drawing included
    double render; // drawing
} wk_env_seconds;
wk_env_seconds wk_env_get_seconds(const wk_env *env);
/// The sum over a vector.
wk_env_seconds wk_vec_get_seconds(const wk_vec *vec);

/// A vector on the threads of another, which must outlive it.
wk_status wk_vec_create_sharing(const wk_domain *domain, const int *options, int count,
                                const wk_vec *with, wk_vec **out, wk_error *err);

/// wk_vec_step_begin for several vectors that share threads, as one job: first each is prepared,
/// which may fail, then those that were are started together. Each is finished by
/// wk_vec_step_finish.
wk_status wk_vec_step_prepare(wk_vec *vec, const float *actions, wk_error *err);
void wk_vec_step_start(wk_vec *const *vecs, size_t count);

/// After a step that failed: whether every environment that failed did so at its reset. Its rows
/// of the batch are then those of an episode that diverged at its reset, and the others' are what
/// they did: the batch can be stored.
bool wk_vec_only_resets_failed(const wk_vec *vec);

#endif
