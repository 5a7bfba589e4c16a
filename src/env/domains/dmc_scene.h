// The image of a control suite environment: sky, floor with its texture and its reflection of the
// robot, and capsules. Reads poses, colours, light and camera 0 from MuJoCo's model and data.
#ifndef WK_ENV_DOMAINS_DMC_SCENE_H
#define WK_ENV_DOMAINS_DMC_SCENE_H

#include "env/render/config.h"
#include "waker/error.h"
#include <mujoco/mujoco.h>
#include <stdint.h>

typedef struct wk_dmc_scene wk_dmc_scene;

/// Reads everything constant from the model: the floor (its first plane, at z = 0), its texture,
/// the sky.
wk_status wk_dmc_scene_create(const mjModel *model, const wk_render_config *config,
                              wk_dmc_scene **out, wk_error *err);
void wk_dmc_scene_destroy(wk_dmc_scene *scene);

/// Draws the state in `data` (positions, camera and light must be current).
void wk_dmc_scene_draw(wk_dmc_scene *scene, const mjModel *model, const mjData *data, int width,
                       int height, uint8_t *rgb);

struct wk_kernels;

/// Draws with other kernels than the machine's best; for comparing them.
void wk_dmc_scene_use(wk_dmc_scene *scene, const struct wk_kernels *kernels);

#endif
