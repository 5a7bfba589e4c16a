// The walker and the hopper of the DeepMind Control Suite as the suite has them: its floor, camera,
// rewards and timing, for answers that are known. There is one environment of each, so θ has one
// value.
#include "env/domains/domains.h"

#include "env/domains/planar.h"
#include <string.h>

static const wk_param params[] = {
    {.name = "variant", .help = "there is one world, variant 0"},
};
static const double only_variant[] = {0};

enum { SHADOWS, SAMPLES, OPTIONS };
static const wk_option options_known[OPTIONS] = {
    [SHADOWS] = {"shadows", "on|off", "the robot's shadow in the image"},
    [SAMPLES] = {"samples", "4|1", "samples per pixel"},
};

static const wk_planar_robot walker, hopper;

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    const wk_render_config render = {.samples = options[SAMPLES] == 0 ? 4 : 1,
                                     .shadows = options[SHADOWS] == 0};
    bool walks = strcmp(domain->name, "dmc-walker") == 0;
    return wk_planar_create(walks ? &walker : &hopper, &render, env, err);
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    (void)theta, (void)out;
    return wk_planar_pose(env, "dmc pose", seed, episode, err);
}

// What the two domains have in common.
#define DMC_DOMAIN                                                                                 \
    WK_PLANAR_DOMAIN, .n_params = 1, .params = params, .n_options = OPTIONS,                       \
                      .options = options_known, .hardest = only_variant, .n_complex = 1,           \
                      .most_complex = only_variant, .create = create, .reset = reset

enum { WALKER_STAND, WALKER_WALK, WALKER_RUN, WALKER_TASKS };
static const wk_task walker_tasks[WALKER_TASKS] = {
    [WALKER_STAND] = {.name = "stand"},
    [WALKER_WALK] = {.name = "walk"},
    [WALKER_RUN] = {.name = "run"},
};

// The height is that of the torso over the floor.
static void add_walker_rewards(const mjModel *model, const mjData *data, double *rewards)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    double speed = data->subtree_linvel[3 * torso];
    double posture = wk_planar_posture(data->xpos[3 * torso + 2], data->xmat[9 * torso + 8]);
    rewards[WALKER_STAND] += posture;
    rewards[WALKER_WALK] += wk_planar_moving(posture, speed);
    rewards[WALKER_RUN] += wk_planar_moving(posture, speed / 8);
}

static const wk_planar_robot walker = {.model = "dmc-walker.xml",
                                       .scene = &wk_dmc_scene,
                                       .substeps = 10,
                                       .add_rewards = add_walker_rewards};

const wk_domain wk_dmc_walker = {
    DMC_DOMAIN,
    .name = "dmc-walker",
    .summary = "the control suite's planar walker on its flat, checkered floor",
    .n_tasks = WALKER_TASKS,
    .tasks = walker_tasks,
    .action_size = 6,
    .step_seconds = 0.05,
};

enum { HOPPER_STAND, HOPPER_HOP, HOPPER_TASKS };
static const wk_task hopper_tasks[HOPPER_TASKS] = {
    [HOPPER_STAND] = {.name = "stand"},
    [HOPPER_HOP] = {.name = "hop"},
};

static void add_hopper_rewards(const mjModel *model, const mjData *data, double *rewards)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const int foot = wk_physics_id(model, mjOBJ_BODY, "foot");
    double speed = data->subtree_linvel[3 * torso];
    double tall = wk_planar_tall(data->xipos[3 * torso + 2] - data->xipos[3 * foot + 2]);
    rewards[HOPPER_STAND] += tall * (4 + wk_planar_effortless(model, data)) / 5;
    rewards[HOPPER_HOP] += tall * wk_planar_clip(speed / 2);
}

static const wk_planar_robot hopper = {.model = "dmc-hopper.xml",
                                       .scene = &wk_dmc_scene,
                                       .substeps = 4,
                                       .add_rewards = add_hopper_rewards};

const wk_domain wk_dmc_hopper = {
    DMC_DOMAIN,
    .name = "dmc-hopper",
    .summary = "the control suite's planar hopper on its flat, checkered floor",
    .n_tasks = HOPPER_TASKS,
    .tasks = hopper_tasks,
    .action_size = 4,
    .step_seconds = 0.04,
};
