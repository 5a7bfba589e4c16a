// States to draw: the domains' models posed by kinematics alone (no dynamics), each a pure
// function of its number.
#ifndef WK_TESTS_RENDER_WORLDS_H
#define WK_TESTS_RENDER_WORLDS_H

#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum render_domain {
    RENDER_WALKER,
    RENDER_HOPPER,
    RENDER_POINT,
    RENDER_CAR,
    RENDER_DMC_WALKER,
    RENDER_DMC_HOPPER,
    RENDER_DOMAINS
} render_domain;

/// A model in a state, and the scene that draws it.
typedef struct render_world {
    render_domain domain;
    mjModel *model;
    mjData *data;
    struct wk_scene *scene;
} render_world;

const char *render_domain_name(render_domain domain);

/// Random terrain (every fourth number stairs) and pose, or random arena and layout. With `sky` the
/// model of a planar robot has the skybox texture that MuJoCo needs to draw the sky. `samples` and
/// `shadows` as in wk_render_config.
render_world render_world_make(render_domain domain, int number, bool sky, int samples,
                               bool shadows);
void render_world_free(render_world *world);

/// Draws into `rgb`; `portable` uses the kernels for any machine.
void render_world_draw(render_world *world, int width, int height, bool portable, uint8_t *rgb);

/// Mean absolute difference of two images of `count` bytes.
double render_difference(const uint8_t *a, const uint8_t *b, int count);

#endif
