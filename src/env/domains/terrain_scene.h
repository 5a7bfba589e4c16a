// The image of a terrain environment: sky, extruded height profile and capsules, seen from a camera
// that only translates. Reads poses, colours, light and camera 0 from MuJoCo's model and data.
#ifndef WK_ENV_DOMAINS_TERRAIN_SCENE_H
#define WK_ENV_DOMAINS_TERRAIN_SCENE_H

#include "env/render/config.h"
#include "waker/error.h"
#include <mujoco/mujoco.h>
#include <stdint.h>

typedef struct wk_terrain_scene wk_terrain_scene;

/// Reads everything constant from the model: geoms, materials, camera, light, headlight, sky.
wk_status wk_terrain_scene_create(const mjModel *model, const wk_render_config *config,
                                  wk_terrain_scene **out, wk_error *err);
void wk_terrain_scene_destroy(wk_terrain_scene *scene);

/// Reads the height profile; call after writing model->hfield_data.
void wk_terrain_scene_set_profile(wk_terrain_scene *scene, const mjModel *model);

/// Draws the state in `data` (positions, camera and light must be current).
void wk_terrain_scene_draw(wk_terrain_scene *scene, const mjModel *model, const mjData *data,
                           int width, int height, uint8_t *rgb);

struct wk_kernels;

/// Draws with other kernels than the machine's best; for comparing them.
void wk_terrain_scene_use(wk_terrain_scene *scene, const struct wk_kernels *kernels);

#endif
