// The image of a clean-up environment from above: floor, walls, translucent goals, blocks and
// robot. Reads poses and colours from MuJoCo's model and data.
#ifndef WK_ENV_DOMAINS_CLEANUP_SCENE_H
#define WK_ENV_DOMAINS_CLEANUP_SCENE_H

#include "env/render/config.h"
#include "waker/error.h"
#include <mujoco/mujoco.h>
#include <stdint.h>

typedef struct wk_cleanup_scene wk_cleanup_scene;

wk_status wk_cleanup_scene_create(const wk_render_config *config, wk_cleanup_scene **out,
                                  wk_error *err);
void wk_cleanup_scene_destroy(wk_cleanup_scene *scene);

/// Drops the cached image of what does not move; call it when the model changes.
void wk_cleanup_scene_reset(wk_cleanup_scene *scene);

/// Draws the state in `data`. Block colours are read at each call: they change by episode.
void wk_cleanup_scene_draw(wk_cleanup_scene *scene, const mjModel *model, const mjData *data,
                           int width, int height, uint8_t *rgb);

struct wk_kernels;

/// Draws with other kernels than the machine's best; for comparing them.
void wk_cleanup_scene_use(wk_cleanup_scene *scene, const struct wk_kernels *kernels);

#endif
