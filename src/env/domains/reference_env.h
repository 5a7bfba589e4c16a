// The reference of tests and benchmarks: environments run the way the paper's authors ran them,
// with MuJoCo's stock collisions and its own OpenGL image, drawn by the CPU through OSMesa. OSMesa
// is loaded when a reference is created, so it is never needed to run waker. One reference exists
// at a time per thread; use it on the thread that created it.
#ifndef WK_ENV_DOMAINS_REFERENCE_ENV_H
#define WK_ENV_DOMAINS_REFERENCE_ENV_H

#include "waker/env.h"
#include <mujoco/mujoco.h>

typedef struct wk_reference_gl wk_reference_gl;

/// Makes a context with the model's textures and height fields. WK_E_UNSUPPORTED: OSMesa is not
/// there or cannot draw. The model's offscreen size (vis.global) bounds what can be drawn.
wk_status wk_reference_gl_create(const mjModel *model, wk_reference_gl **out, wk_error *err);
void wk_reference_gl_destroy(wk_reference_gl *reference);

/// Draws the state through camera 0, all geom groups visible, rows from the top.
wk_status wk_reference_gl_draw(wk_reference_gl *reference, const mjModel *model, mjData *data,
                               int width, int height, uint8_t *rgb, wk_error *err);

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
