// What all planar robots of the control suite share, whatever ground they stand on: the running
// environment (model, timing, image), the random pose at the start, an agent step, and the parts of
// their rewards.
#ifndef WK_ENV_DOMAINS_PLANAR_H
#define WK_ENV_DOMAINS_PLANAR_H

#include "env/domains/scene.h"
#include "env/mujoco/physics.h"
#include <math.h>

enum {
    WK_PLANAR_REPEAT = 2,  // control steps per agent step
    WK_PLANAR_STEPS = 500, // agent steps of an episode
};

/// What they tell about their torso, filled in by wk_planar_step.
enum { WK_PLANAR_UPRIGHT, WK_PLANAR_DISTANCE, WK_PLANAR_RANGE, WK_PLANAR_INDICATORS };
extern const wk_indicator wk_planar_indicators[WK_PLANAR_INDICATORS];

typedef struct wk_planar_robot {
    const char *model; // name of the embedded MJCF file
    const wk_scene_kind *scene;
    int substeps; // physics steps per control step

    /// Adds the reward of each task in the state that `data` holds, after a control step.
    void (*add_rewards)(const mjModel *model, const mjData *data, double *rewards);

    /// Makes the model what the θ after those of the ground say, from one as it was loaded; NULL:
    /// there are none. `data` is scratch.
    void (*adjust)(const mjModel *loaded, const double *theta, mjModel *model, mjData *data);
} wk_planar_robot;

/// One running environment.
typedef struct wk_planar_env {
    wk_physics_env sim; // first, as the functions of wk_physics_env need it
    const wk_planar_robot *robot;
    wk_scene *scene;
    mjModel *loaded;    // as it was before `adjust`; NULL without such
    bool fresh_lattice; // of a terrain: a new one every episode
} wk_planar_env;

wk_status wk_planar_create(const wk_planar_robot *robot, const wk_render_config *config, void **env,
                           wk_error *err);

/// Puts the robot into a random pose of (seed, episode, the stream `name`): limited joints anywhere
/// in their range, the free rotation anywhere, the rest where the model has it, nothing moving.
wk_status wk_planar_pose(const wk_planar_env *env, const char *name, uint64_t seed,
                         uint64_t episode, wk_error *err);

/// Functions of wk_domain. Rewards are summed over the control steps of an agent step.
void wk_planar_destroy(void *env);
void wk_planar_step(void *env, const float *action, wk_outcome *out);
void wk_planar_render(void *env, int width, int height, uint8_t *rgb);

/// What all planar domains have in common.
#define WK_PLANAR_DOMAIN                                                                           \
    .abi = WK_ENV_ABI, .size = sizeof(wk_domain), .n_indicators = WK_PLANAR_INDICATORS,            \
    .indicators = wk_planar_indicators, .action_repeat = WK_PLANAR_REPEAT,                         \
    .episode_steps = WK_PLANAR_STEPS, .destroy = wk_planar_destroy, .step = wk_planar_step,        \
    .render = wk_planar_render, .state_size = wk_physics_env_state_size,                           \
    .save = wk_physics_env_save, .load = wk_physics_env_load, .read = wk_physics_env_read,         \
    .watch = wk_physics_env_watch

static inline double wk_planar_clip(double x)
{
    return fmin(fmax(x, 0), 1);
}

/// The walker's posture in [0,1]: 1 when its height is at least 1.2 m and the torso's z axis points
/// up (`upright` is that axis' z); the part of the height falls to 0.1 at 0.6 m.
static inline double wk_planar_posture(double height, double upright)
{
    double missing = (1.2 - height) / 0.6;
    double standing = missing <= 0 ? 1 : pow(0.1, missing * missing);
    return (3 * standing + (1 + upright) / 2) / 4;
}

/// The walker's reward for moving, with the speed as a share of the wanted one.
static inline double wk_planar_moving(double posture, double speed)
{
    return posture * (5 * wk_planar_clip(speed) + 1) / 6;
}

/// 1 when the hopper's torso is 0.6 to 2 m above its foot, else 0.
static inline double wk_planar_tall(double height)
{
    return height >= 0.6 && height <= 2 ? 1 : 0;
}

/// Mean over the actuators of 1 - u², the reward for small controls.
double wk_planar_effortless(const mjModel *model, const mjData *data);

#endif
