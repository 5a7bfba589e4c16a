// Terrain Walker: two legs, five tasks.
#include "env/domains/terrain.h"
#include "env/domains/terrain_robot.h"
#include "env/mujoco/physics.h"

enum { STAND, WALK, RUN, FLIP, WALK_BACKWARD };
const wk_task wk_walker_tasks[WK_WALKER_TASKS] = {
    [STAND] = {.name = "stand"},
    [WALK] = {.name = "walk"},
    [RUN] = {.name = "run"},
    [FLIP] = {.name = "flip"},
    [WALK_BACKWARD] = {.name = "walk-backward", .alias = "walk-bwd"},
};

static const wk_case cases[] = {
    WK_TERRAIN_CASE("steep", "slopes steeper than any trained on", wk_terrain_steep),
    WK_TERRAIN_CASE("stairs", "steps with vertical risers", wk_terrain_staircase),
};

void wk_walker_add_rewards(const mjModel *model, const mjData *data, double *rewards)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const int foot = wk_physics_id(model, mjOBJ_BODY, "right_foot");
    double height = data->xpos[3 * torso + 2] - data->xpos[3 * foot + 2];
    double upright = data->xmat[9 * torso + 8];
    double speed = data->subtree_linvel[3 * torso];
    double spin = data->subtree_angmom[3 * torso + 1];
    double posture = wk_planar_posture(height, upright);
    rewards[STAND] += posture;
    rewards[WALK] += wk_planar_moving(posture, speed);
    rewards[RUN] += wk_planar_moving(posture, speed / 8);
    rewards[FLIP] += wk_planar_clip(spin / 5);
    rewards[WALK_BACKWARD] += wk_planar_moving(posture, -speed);
}

static const wk_planar_robot robot = {
    .model = "walker.xml", .substeps = 10, .add_rewards = wk_walker_add_rewards};

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    (void)domain;
    return wk_terrain_create(&robot, options, env, err);
}

const wk_domain wk_terrain_walker = {
    WK_TERRAIN_DOMAIN,
    .name = "terrain-walker",
    .summary = "a planar two-legged walker on uneven ground",
    .n_params = WK_TERRAIN_PARAMS,
    .params = wk_terrain_params,
    .n_tasks = WK_WALKER_TASKS,
    .tasks = wk_walker_tasks,
    .n_cases = sizeof cases / sizeof *cases,
    .cases = cases,
    .action_size = 6,
    .step_seconds = 0.05,
    .hardest = wk_terrain_hardest,
    .n_complex = WK_TERRAIN_COMPLEX,
    .most_complex = wk_terrain_most_complex,
    .create = create,
};
