// A running terrain environment: MuJoCo model and state, the profile of the episode, and the image.
#include "env/domains/terrain.h"

#include "base/asset.h"
#include "base/rng.h"
#include "env/domains/terrain_profile.h"
#include "env/domains/terrain_robot.h"
#include "env/domains/scene.h"
#include "env/mujoco/physics.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_MIN 0.1

const wk_param wk_terrain_params[WK_TERRAIN_PARAMS] = {WK_TERRAIN_GROUND(0.05, 0.05)};

enum { LATTICE, SHADOWS, SAMPLES };
const wk_option wk_terrain_options[WK_TERRAIN_OPTIONS] = {
    [LATTICE] = {"lattice", "fixed|fresh",
                 "fixed: one θ is one terrain; fresh: a new terrain of that θ every episode"},
    [SHADOWS] = {"shadows", "on|off", "the robot's shadow in the image"},
    [SAMPLES] = {"samples", "4|1", "samples per pixel"},
};

const double wk_terrain_steep[] = {0.8, 0.15};
const double wk_terrain_staircase[] = {-1, 0};
const double wk_terrain_hardest[] = {1, 0.2};
const double wk_terrain_most_complex[] = {
    0.8,  0.2, 0.8,  0.25, 0.8,  0.3, 0.8,  0.35, 0.8,  0.4, //
    0.85, 0.2, 0.85, 0.25, 0.85, 0.3, 0.85, 0.35, 0.85, 0.4, //
    0.9,  0.2, 0.9,  0.25, 0.9,  0.3, 0.9,  0.35, 0.9,  0.4, //
    0.95, 0.2, 0.95, 0.25, 0.95, 0.3, 0.95, 0.35, 0.95, 0.4, //
    1,    0.2, 1,    0.25, 1,    0.3, 1,    0.35, 1,    0.4,
};

typedef struct terrain {
    wk_physics_env sim; // first, as the functions of wk_physics_env need it
    const wk_planar_robot *robot;
    bool fresh_lattice;
    mjModel *loaded; // as it was before the robot's own θ changed it; NULL without such
    wk_scene *scene;
} terrain;

static bool is_staircase(const double *theta)
{
    return theta[0] == wk_terrain_staircase[0] && theta[1] == wk_terrain_staircase[1];
}

wk_status wk_terrain_check(const double *theta, wk_error *err)
{
    if (is_staircase(theta)) return WK_OK;
    if (theta[0] < 0)
        return wk_fail(err, WK_E_INPUT,
                       "amplitude %g: give 0 to 1, or amplitude -1 with length 0 for stairs",
                       theta[0]);
    if (theta[1] < LENGTH_MIN)
        return wk_fail(err, WK_E_INPUT,
                       "length %g: give %g to %g, or amplitude -1 with length 0 for stairs",
                       theta[1], LENGTH_MIN, WK_TERRAIN_LENGTH_MAX);
    return WK_OK;
}

static wk_status fill(terrain *t, const int *options, wk_error *err)
{
    WK_TRY(wk_physics_load(t->robot->model, wk_asset_find(t->robot->model)->content, &t->sim.model,
                           err));
    if (t->robot->adjust) {
        t->loaded = mj_copyModel(NULL, t->sim.model);
        if (!t->loaded) return wk_fail(err, WK_E_MEMORY, "no memory for a terrain environment");
    }
    WK_TRY(wk_physics_make_data(t->sim.model, &t->sim.data, err));
    const wk_render_config render = {.samples = options[SAMPLES] == 0 ? 4 : 1,
                                     .shadows = options[SHADOWS] == 0};
    return wk_scene_create(&wk_terrain_scene, t->sim.model, &render, &t->scene, err);
}

wk_status wk_terrain_create(const wk_planar_robot *robot, const int *options, void **env,
                            wk_error *err)
{
    terrain *t = calloc(1, sizeof *t);
    if (!t) return wk_fail(err, WK_E_MEMORY, "no memory for a terrain environment");
    t->robot = robot;
    t->fresh_lattice = options[LATTICE] == 1;
    wk_status status = fill(t, options, err);
    if (status != WK_OK) {
        wk_terrain_destroy(t);
        return status;
    }
    *env = t;
    return WK_OK;
}

void wk_terrain_destroy(void *env)
{
    terrain *t = env;
    if (!t) return;
    wk_scene_destroy(t->scene);
    if (t->sim.data) mj_deleteData(t->sim.data);
    if (t->sim.model) mj_deleteModel(t->sim.model);
    if (t->loaded) mj_deleteModel(t->loaded);
    free(t);
}

static void draw_profile(const terrain *t, const double *theta, uint64_t seed, uint64_t episode,
                         float heights[WK_TERRAIN_COLUMNS])
{
    if (is_staircase(theta)) {
        wk_terrain_stairs(heights);
        return;
    }
    double lattice[WK_TERRAIN_LATTICE];
    int count = wk_terrain_lattice_count(theta[1]);
    if (t->fresh_lattice) {
        wk_rng rng = wk_rng_stream(seed, "terrain lattice", episode);
        wk_terrain_lattice_fresh(&rng, lattice, count);
    } else {
        wk_terrain_lattice_fixed(lattice, count);
    }
    wk_terrain_noise(lattice, theta[0], theta[1], heights);
}

// Every row of the height field gets the same profile.
static void write_profile(const terrain *t, const float heights[WK_TERRAIN_COLUMNS])
{
    assert(t->sim.model->nhfield == 1 && t->sim.model->hfield_ncol[0] == WK_TERRAIN_COLUMNS);
    for (int row = 0; row < t->sim.model->hfield_nrow[0]; row++)
        memcpy(t->sim.model->hfield_data + row * WK_TERRAIN_COLUMNS, heights,
               WK_TERRAIN_COLUMNS * sizeof *heights);
}

wk_status wk_terrain_reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                           wk_outcome *out, wk_error *err)
{
    (void)out;
    terrain *t = env;
    float heights[WK_TERRAIN_COLUMNS];
    draw_profile(t, theta, seed, episode, heights);
    write_profile(t, heights);
    if (t->loaded)
        t->robot->adjust(t->loaded, theta + WK_TERRAIN_PARAMS, t->sim.model, t->sim.data);
    wk_terrain_scene_read(t->scene, t->sim.model);

    return wk_planar_reset(t->sim.model, t->sim.data, "terrain pose", seed, episode, err);
}

void wk_terrain_step(void *env, const float *action, wk_outcome *out)
{
    terrain *t = env;
    wk_planar_step(t->robot, t->sim.model, t->sim.data, action, &t->sim.watch, out);
}

void wk_terrain_render(void *env, int width, int height, uint8_t *rgb)
{
    terrain *t = env;
    wk_scene_draw(t->scene, t->sim.model, t->sim.data, width, height, rgb);
}
