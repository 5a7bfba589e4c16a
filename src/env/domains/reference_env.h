// An environment run the way the paper's authors ran it: MuJoCo's stock collisions and its OpenGL
// image. The reference of benchmarks; use it on the thread that made it, one at a time.
#ifndef WK_ENV_DOMAINS_REFERENCE_ENV_H
#define WK_ENV_DOMAINS_REFERENCE_ENV_H

#include "waker/env.h"

typedef struct wk_reference_env wk_reference_env;

/// Makes an environment of a built-in domain. WK_E_UNSUPPORTED: OSMesa is missing, or the domain is
/// not one of the built-in MuJoCo domains.
wk_status wk_reference_env_create(const wk_domain *domain, wk_reference_env **out, wk_error *err);
void wk_reference_env_destroy(wk_reference_env *world);

/// Starts an episode; θ must be a legal one of the domain.
wk_status wk_reference_env_reset(wk_reference_env *world, const double *theta, uint64_t seed,
                                 uint64_t episode, wk_error *err);

/// One agent step.
void wk_reference_env_step(wk_reference_env *world, const float *action);

/// Draws the state by OpenGL.
wk_status wk_reference_env_draw(wk_reference_env *world, int width, int height, uint8_t *rgb,
                                wk_error *err);

#endif
