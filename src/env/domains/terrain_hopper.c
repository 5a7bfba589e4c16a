// Terrain Hopper: one leg, three tasks.
#include "env/domains/terrain.h"
#include "env/domains/terrain_robot.h"
#include "env/mujoco/physics.h"

enum { HOP, STAND, HOP_BACKWARD, TASKS };
static const wk_task tasks[TASKS] = {
    [HOP] = {.name = "hop"},
    [STAND] = {.name = "stand"},
    [HOP_BACKWARD] = {.name = "hop-backward", .alias = "hop-bwd"},
};

static const double steep_authors[] = {0.8, 0.1125}, steepest[] = {1, 0.15};
// The authors' program evaluates the hopper on lengths 0.15, 0.2, ... 1.5 and all amplitudes: 100
// drawn from that grid, once for all.
enum { AUTHORS = 100 };
static const double authors[AUTHORS * WK_TERRAIN_PARAMS] = {
    0.6,  1.35, 0.65, 0.2,  0.4,  0.95, 0.75, 0.75, 0.45, 0.9,  0.55, 1.05, 0.3,  0.95, 0.2,  0.6,
    0.2,  1.35, 0.15, 1.1,  0.4,  1,    0.95, 0.35, 0.45, 0.3,  0.1,  1.5,  0.5,  0.9,  0.85, 0.3,
    0.55, 0.8,  0.5,  1.1,  1,    0.45, 0.85, 0.9,  0.7,  1.5,  0.8,  0.55, 0.05, 1.4,  0.85, 0.15,
    0.1,  1.3,  0.6,  1.25, 1,    0.15, 0.95, 0.9,  0.5,  0.5,  0.5,  1.25, 0.1,  0.45, 0.9,  0.5,
    0.35, 1.4,  0.2,  1.4,  0.85, 0.85, 0.1,  0.25, 0.5,  0.95, 0.75, 0.3,  0.45, 1,    0.45, 1.25,
    0.15, 1,    0.5,  1.45, 0.85, 0.45, 0.95, 1,    0.9,  0.6,  0.7,  0.25, 0.95, 1.4,  0.6,  0.65,
    0.9,  0.5,  0.45, 0.4,  0.3,  1.45, 0.25, 0.2,  0.95, 1.2,  0.4,  0.9,  0.1,  0.25, 0.2,  0.35,
    0.05, 1.45, 0.1,  1.25, 0.85, 1.2,  0.6,  1.45, 0.8,  0.55, 0.8,  1.4,  0.35, 1.5,  0.3,  1.2,
    0.9,  1.45, 0.65, 1.05, 0.4,  0.85, 0.75, 1.2,  1,    1.25, 0.55, 0.25, 0.5,  1.1,  0.15, 0.9,
    0.9,  1.15, 0.5,  1.5,  0.3,  0.5,  0,    1.3,  0.4,  0.3,  0.35, 0.7,  0.25, 0.65, 0.65, 1.45,
    0.05, 0.3,  0.2,  1.5,  0.35, 0.2,  0.9,  1.15, 0.85, 1.1,  0.1,  0.15, 0.15, 1.15, 0.3,  1.1,
    0.9,  0.3,  0.6,  0.25, 0.55, 1.45, 0.15, 0.2,  0.95, 0.15, 0.3,  0.4,  0.15, 0.9,  0.3,  1.3,
    0.05, 1.2,  0,    1,    0.65, 1.1,  0.15, 1.45};
static const wk_case cases[] = {
    WK_TERRAIN_CASE("steep", "slopes steeper than any trained on", wk_terrain_steep),
    WK_TERRAIN_CASE("stairs", "steps with vertical risers", wk_terrain_staircase),
    {.name = "steep-authors",
     .help = "the steeper slopes of the authors' published code",
     .count = 1,
     .params = steep_authors,
     .episodes = 20,
     .extra = true},
    {.name = "max",
     .help = "full amplitude at the length of steep, from the authors' published code",
     .count = 1,
     .params = steepest,
     .episodes = 20,
     .extra = true},
    {.name = "dr-authors",
     .help = "lengths 0.15 to 1.5, which the authors' published code evaluates on",
     .count = AUTHORS,
     .params = authors,
     .episodes = AUTHORS,
     .extra = true},
};

static void add_rewards(const mjModel *model, const mjData *data, double *rewards)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const int foot = wk_physics_id(model, mjOBJ_BODY, "foot");
    double height = data->xipos[3 * torso + 2] - data->xipos[3 * foot + 2];
    double speed = data->subtree_linvel[3 * torso];
    double tall = wk_planar_tall(height);
    rewards[HOP] += tall * wk_planar_clip(speed / 2);
    rewards[STAND] += tall * wk_planar_effortless(model, data);
    rewards[HOP_BACKWARD] += tall * wk_planar_clip(-speed / 2);
}

static const wk_planar_robot robot = {
    .model = "hopper.xml", .substeps = 4, .add_rewards = add_rewards};

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    (void)domain;
    return wk_terrain_create(&robot, options, env, err);
}

const wk_domain wk_terrain_hopper = {
    WK_TERRAIN_DOMAIN,
    .name = "terrain-hopper",
    .summary = "a planar one-legged hopper on uneven ground",
    .n_params = WK_TERRAIN_PARAMS,
    .params = wk_terrain_params,
    .n_tasks = TASKS,
    .tasks = tasks,
    .n_cases = sizeof cases / sizeof *cases,
    .cases = cases,
    .action_size = 4,
    .step_seconds = 0.04,
    .hardest = wk_terrain_hardest,
    .n_complex = WK_TERRAIN_COMPLEX,
    .most_complex = wk_terrain_most_complex,
    .create = create,
};
