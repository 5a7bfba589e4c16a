// MuJoCo's own OpenGL image, drawn by the CPU through OSMesa: the reference for waker's renderer in
// tests and benchmarks. OSMesa is loaded when a reference is created, so it is never needed to run
// waker. One reference exists at a time per thread; use it on the thread that created it.
#ifndef WK_ENV_DOMAINS_REFERENCE_GL_H
#define WK_ENV_DOMAINS_REFERENCE_GL_H

#include "waker/error.h"
#include <mujoco/mujoco.h>
#include <stdint.h>

typedef struct wk_reference_gl wk_reference_gl;

/// Makes a context with the model's textures and height fields. WK_E_UNSUPPORTED: OSMesa is not
/// there or cannot draw. The model's offscreen size (vis.global) bounds what can be drawn.
wk_status wk_reference_gl_create(const mjModel *model, wk_reference_gl **out, wk_error *err);
void wk_reference_gl_destroy(wk_reference_gl *reference);

/// Sends the height fields to OpenGL again; call after writing model->hfield_data.
void wk_reference_gl_upload(wk_reference_gl *reference, const mjModel *model);

/// Draws the state through camera 0, all geom groups visible, rows from the top.
wk_status wk_reference_gl_draw(wk_reference_gl *reference, const mjModel *model, mjData *data,
                               int width, int height, uint8_t *rgb, wk_error *err);

#endif
