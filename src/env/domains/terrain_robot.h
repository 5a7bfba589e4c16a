// What the terrain domains share: the running environment and the tables of θ. A robot adds its
// model, its timing and its rewards.
#ifndef WK_ENV_DOMAINS_TERRAIN_ROBOT_H
#define WK_ENV_DOMAINS_TERRAIN_ROBOT_H

#include "env/domains/planar.h"
#include "env/mujoco/physics.h"

enum {
    WK_TERRAIN_PARAMS = 2,
    WK_TERRAIN_OPTIONS = 3,
    WK_TERRAIN_COMPLEX = 25,
};

#define WK_TERRAIN_LENGTH_MAX 10.0

extern const wk_param wk_terrain_params[WK_TERRAIN_PARAMS];
/// Tasks and rewards of both walkers.
enum { WK_WALKER_TASKS = 5 };
extern const wk_task wk_walker_tasks[WK_WALKER_TASKS];
void wk_walker_add_rewards(const mjModel *model, const mjData *data, double *rewards);

extern const wk_option wk_terrain_options[WK_TERRAIN_OPTIONS];
extern const double wk_terrain_steep[WK_TERRAIN_PARAMS];
extern const double wk_terrain_staircase[WK_TERRAIN_PARAMS];
extern const double wk_terrain_hardest[WK_TERRAIN_PARAMS];
extern const double wk_terrain_most_complex[WK_TERRAIN_COMPLEX * WK_TERRAIN_PARAMS];

/// The functions of wk_domain; a robot's own `create` calls the first.
wk_status wk_terrain_create(const wk_planar_robot *robot, const int *options, void **env,
                            wk_error *err);
void wk_terrain_destroy(void *env);
wk_status wk_terrain_check(const double *theta, wk_error *err);
wk_status wk_terrain_reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                           wk_outcome *out, wk_error *err);
void wk_terrain_step(void *env, const float *action, wk_outcome *out);
void wk_terrain_render(void *env, int width, int height, uint8_t *rgb);

/// What the tables of all terrain domains have in common; a robot adds the rest.
#define WK_TERRAIN_DOMAIN                                                                          \
    .abi = WK_ENV_ABI, .size = sizeof(wk_domain), .n_options = WK_TERRAIN_OPTIONS,                 \
    .options = wk_terrain_options, .n_indicators = WK_PLANAR_INDICATORS,                           \
    .indicators = wk_planar_indicators, .action_repeat = WK_PLANAR_REPEAT,                         \
    .episode_steps = WK_PLANAR_STEPS, .check = wk_terrain_check, .destroy = wk_terrain_destroy,    \
    .reset = wk_terrain_reset, .step = wk_terrain_step, .render = wk_terrain_render,               \
    .state_size = wk_physics_env_state_size, .save = wk_physics_env_save,                          \
    .load = wk_physics_env_load, .read = wk_physics_env_read, .watch = wk_physics_env_watch

/// The cases of the paper, each of one θ.
#define WK_TERRAIN_CASE(case_name, case_help, theta)                                               \
    {                                                                                              \
        .name = (case_name), .help = (case_help), .count = 1, .params = (theta), .episodes = 20    \
    }

/// The parameters of the ground, with the steps of the domain's grid.
#define WK_TERRAIN_GROUND(amplitude_step, length_step)                                             \
    {.name = "amplitude",                                                                          \
     .help = "height of the terrain, a share of the robot's largest; -1 (with length 0): stairs",  \
     .min = 0,                                                                                     \
     .max = 1,                                                                                     \
     .step = (amplitude_step),                                                                     \
     .legal_min = -1,                                                                              \
     .legal_max = 1,                                                                               \
     .continuous = true},                                                                          \
    {                                                                                              \
        .name = "length",                                                                          \
        .help = "length scale of the terrain; a bump is about twice as many metres long",          \
        .min = 0.2, .max = 2, .step = (length_step), .legal_min = 0,                               \
        .legal_max = WK_TERRAIN_LENGTH_MAX, .continuous = true                                     \
    }

#endif
