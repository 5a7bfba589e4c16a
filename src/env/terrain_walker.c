// Terrain Walker: two legs, five tasks.
#include "env/physics.h"
#include "env/terrain.h"
#include "env/terrain_robot.h"

#include <math.h>

enum { STAND, WALK, RUN, FLIP, WALK_BACKWARD, TASKS };
static const wk_task tasks[TASKS] = {
    [STAND] = {.name = "stand"},
    [WALK] = {.name = "walk"},
    [RUN] = {.name = "run"},
    [FLIP] = {.name = "flip"},
    [WALK_BACKWARD] = {.name = "walk-backward", .alias = "walk-bwd"},
};

static const wk_case cases[] = {
    {.name = "steep",
     .help = "slopes steeper than any trained on",
     .count = 1,
     .params = wk_terrain_steep,
     .episodes = 20},
    {.name = "stairs",
     .help = "steps with vertical risers",
     .count = 1,
     .params = wk_terrain_staircase,
     .episodes = 20},
};

static double clip(double x)
{
    return fmin(fmax(x, 0), 1);
}

// 1 when the torso is at least 1.2 m above the right foot, falling to 0.1 at 0.6 m.
static double standing(double height)
{
    double missing = (1.2 - height) / 0.6;
    return missing <= 0 ? 1 : pow(0.1, missing * missing);
}

static double moving(double posture, double speed)
{
    return posture * (5 * clip(speed) + 1) / 6;
}

static void add_rewards(const mjModel *model, const mjData *data, double *rewards)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const int foot = wk_physics_id(model, mjOBJ_BODY, "right_foot");
    double height = data->xpos[3 * torso + 2] - data->xpos[3 * foot + 2];
    double upright = data->xmat[9 * torso + 8];
    double speed = data->subtree_linvel[3 * torso];
    double spin = data->subtree_angmom[3 * torso + 1];
    double posture = (3 * standing(height) + (1 + upright) / 2) / 4;
    rewards[STAND] += posture;
    rewards[WALK] += moving(posture, speed);
    rewards[RUN] += moving(posture, speed / 8);
    rewards[FLIP] += clip(spin / 5);
    rewards[WALK_BACKWARD] += moving(posture, -speed);
}

static const wk_terrain_robot robot = {
    .model = "walker.xml", .substeps = 10, .add_rewards = add_rewards};

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    (void)domain;
    return wk_terrain_create(&robot, options, env, err);
}

const wk_domain wk_terrain_walker = {
    .abi = WK_ENV_ABI,
    .size = sizeof(wk_domain),
    .name = "terrain-walker",
    .summary = "a planar two-legged walker on uneven ground",
    .n_params = WK_TERRAIN_PARAMS,
    .params = wk_terrain_params,
    .n_tasks = TASKS,
    .tasks = tasks,
    .n_cases = sizeof cases / sizeof *cases,
    .cases = cases,
    .n_options = WK_TERRAIN_OPTIONS,
    .options = wk_terrain_options,
    .action_size = 6,
    .action_repeat = WK_TERRAIN_REPEAT,
    .episode_steps = WK_TERRAIN_STEPS,
    .step_seconds = 0.05,
    .hardest = wk_terrain_hardest,
    .n_complex = WK_TERRAIN_COMPLEX,
    .most_complex = wk_terrain_most_complex,
    .check = wk_terrain_check,
    .create = create,
    .destroy = wk_terrain_destroy,
    .reset = wk_terrain_reset,
    .step = wk_terrain_step,
    .render = wk_terrain_render,
    .state_size = wk_terrain_state_size,
    .save = wk_terrain_save,
    .load = wk_terrain_load,
};
