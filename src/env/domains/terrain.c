// The terrain domains: a planar robot on uneven ground, θ = (amplitude, length scale) of the
// ground's profile. θ = (-1, 0) is the staircase. Three robots stand on it, each with its model,
// timing, tasks and rewards.
#include "env/domains/domains.h"

#include "base/random.h"
#include "env/domains/planar.h"
#include "env/domains/terrain_profile.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_MIN 0.1
#define LENGTH_MAX 10.0

enum { AMPLITUDE, LENGTH, GROUND_PARAMS };

static const char amplitude_help[] =
    "height of the terrain, a share of the robot's largest; -1 (with length 0): stairs";
static const char length_help[] =
    "length scale of the terrain; a bump is about twice as many metres long";
static const wk_param ground_params[GROUND_PARAMS] = {
    {"amplitude", amplitude_help, 0, 1, 0.05, -1, 1, true},
    {"length", length_help, 0.2, 2, 0.05, 0, LENGTH_MAX, true},
};

enum { LATTICE, SHADOWS, SAMPLES, OPTIONS };
static const wk_option options_known[OPTIONS] = {
    [LATTICE] = {"lattice", "fixed|fresh",
                 "fixed: one θ is one terrain; fresh: a new terrain of that θ every episode"},
    [SHADOWS] = {"shadows", "on|off", "the robot's shadow in the image"},
    [SAMPLES] = {"samples", "4|1", "samples per pixel"},
};

static const double staircase[] = {-1, 0}, steep[] = {0.8, 0.15}, hardest[] = {1, 0.2};
// clang-format off
#define ROUGH(a) {a, 0.2}, {a, 0.25}, {a, 0.3}, {a, 0.35}, {a, 0.4}
// clang-format on
static const double most_complex[][GROUND_PARAMS] = {ROUGH(0.8), ROUGH(0.85), ROUGH(0.9),
                                                     ROUGH(0.95), ROUGH(1)};

static bool is_staircase(const double *theta)
{
    return theta[AMPLITUDE] == staircase[AMPLITUDE] && theta[LENGTH] == staircase[LENGTH];
}

static wk_status check(const double *theta, wk_error *err)
{
    if (is_staircase(theta)) return WK_OK;
    if (theta[AMPLITUDE] < 0)
        return wk_fail(err, WK_E_INPUT,
                       "amplitude %g: give 0 to 1, or amplitude -1 with length 0 for stairs",
                       theta[AMPLITUDE]);
    if (theta[LENGTH] < LENGTH_MIN)
        return wk_fail(err, WK_E_INPUT,
                       "length %g: give %g to %g, or amplitude -1 with length 0 for stairs",
                       theta[LENGTH], LENGTH_MIN, LENGTH_MAX);
    return WK_OK;
}

static const wk_planar_robot walker, hopper, own_body;

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    const wk_planar_robot *robot = strcmp(domain->name, "terrain-hopper") == 0 ? &hopper
                                   : strcmp(domain->name, "terrain-body") == 0 ? &own_body
                                                                               : &walker;
    const wk_render_config render = {.samples = options[SAMPLES] == 0 ? 4 : 1,
                                     .shadows = options[SHADOWS] == 0};
    WK_TRY(wk_planar_create(robot, &render, env, err));
    ((wk_planar_env *)*env)->fresh_lattice = options[LATTICE] == 1;
    return WK_OK;
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    (void)out;
    wk_planar_env *t = env;
    mjModel *model = t->sim.model;
    float heights[WK_TERRAIN_COLUMNS];
    double lattice[WK_TERRAIN_LATTICE];
    if (is_staircase(theta)) {
        wk_terrain_stairs(heights);
    } else {
        int count = wk_terrain_lattice_count(theta[LENGTH]);
        wk_rng rng = wk_rng_stream(seed, "terrain lattice", episode);
        if (t->fresh_lattice)
            wk_terrain_lattice_fresh(&rng, lattice, count);
        else
            wk_terrain_lattice_fixed(lattice, count);
        wk_terrain_noise(lattice, theta[AMPLITUDE], theta[LENGTH], heights);
    }
    // Every row of the height field gets the same profile.
    assert(model->nhfield == 1 && model->hfield_ncol[0] == WK_TERRAIN_COLUMNS);
    for (int row = 0; row < model->hfield_nrow[0]; row++)
        memcpy(model->hfield_data + row * WK_TERRAIN_COLUMNS, heights, sizeof heights);
    if (t->loaded) t->robot->adjust(t->loaded, theta + GROUND_PARAMS, model, t->sim.data);
    wk_terrain_scene_read(t->scene, model);
    return wk_planar_pose(t, "terrain pose", seed, episode, err);
}

// What the tables of all terrain domains have in common; a robot adds the rest.
#define TERRAIN_DOMAIN                                                                             \
    WK_PLANAR_DOMAIN, .n_options = OPTIONS, .options = options_known, .check = check,              \
                      .create = create, .reset = reset

/* ---- Walker: two legs, five tasks ------------------------------------------------------------ */

enum { WALKER_STAND, WALKER_WALK, WALKER_RUN, WALKER_FLIP, WALKER_WALK_BACKWARD, WALKER_TASKS };
static const wk_task walker_tasks[WALKER_TASKS] = {
    [WALKER_STAND] = {.name = "stand"},
    [WALKER_WALK] = {.name = "walk"},
    [WALKER_RUN] = {.name = "run"},
    [WALKER_FLIP] = {.name = "flip"},
    [WALKER_WALK_BACKWARD] = {.name = "walk-backward", .alias = "walk-bwd"},
};

static const wk_case walker_cases[] = {
    {"steep", "slopes steeper than any trained on", 1, steep, 20, false},
    {"stairs", "steps with vertical risers", 1, staircase, 20, false},
};

static void add_walker_rewards(const mjModel *model, const mjData *data, double *rewards)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const int foot = wk_physics_id(model, mjOBJ_BODY, "right_foot");
    double height = data->xpos[3 * torso + 2] - data->xpos[3 * foot + 2];
    double upright = data->xmat[9 * torso + 8];
    double speed = data->subtree_linvel[3 * torso];
    double spin = data->subtree_angmom[3 * torso + 1];
    double posture = wk_planar_posture(height, upright);
    rewards[WALKER_STAND] += posture;
    rewards[WALKER_WALK] += wk_planar_moving(posture, speed);
    rewards[WALKER_RUN] += wk_planar_moving(posture, speed / 8);
    rewards[WALKER_FLIP] += wk_planar_clip(spin / 5);
    rewards[WALKER_WALK_BACKWARD] += wk_planar_moving(posture, -speed);
}

static const wk_planar_robot walker = {.model = "walker.xml",
                                       .scene = &wk_terrain_scene,
                                       .substeps = 10,
                                       .add_rewards = add_walker_rewards};

const wk_domain wk_terrain_walker = {
    TERRAIN_DOMAIN,
    .name = "terrain-walker",
    .summary = "a planar two-legged walker on uneven ground",
    .n_params = GROUND_PARAMS,
    .params = ground_params,
    .n_tasks = WALKER_TASKS,
    .tasks = walker_tasks,
    .n_cases = sizeof walker_cases / sizeof *walker_cases,
    .cases = walker_cases,
    .action_size = 6,
    .step_seconds = 0.05,
    .hardest = hardest,
    .n_complex = sizeof most_complex / sizeof *most_complex,
    .most_complex = &most_complex[0][0],
};

/* ---- Hopper: one leg, three tasks ------------------------------------------------------------ */

enum { HOPPER_HOP, HOPPER_STAND, HOPPER_HOP_BACKWARD, HOPPER_TASKS };
static const wk_task hopper_tasks[HOPPER_TASKS] = {
    [HOPPER_HOP] = {.name = "hop"},
    [HOPPER_STAND] = {.name = "stand"},
    [HOPPER_HOP_BACKWARD] = {.name = "hop-backward", .alias = "hop-bwd"},
};

static const double steep_authors[] = {0.8, 0.1125}, steepest[] = {1, 0.15};
// The authors' program evaluates the hopper on lengths 0.15, 0.2, ... 1.5 and all amplitudes: 100
// drawn from that grid, once for all.
enum { AUTHORS = 100 };
static const double authors[AUTHORS * GROUND_PARAMS] = {
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
static const wk_case hopper_cases[] = {
    {"steep", "slopes steeper than any trained on", 1, steep, 20, false},
    {"stairs", "steps with vertical risers", 1, staircase, 20, false},
    {"steep-authors", "the steeper slopes of the authors' published code", 1, steep_authors, 20,
     true},
    {"max", "full amplitude at the length of steep, from the authors' published code", 1, steepest,
     20, true},
    {"dr-authors", "lengths 0.15 to 1.5, which the authors' published code evaluates on", AUTHORS,
     authors, AUTHORS, true},
};

static void add_hopper_rewards(const mjModel *model, const mjData *data, double *rewards)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const int foot = wk_physics_id(model, mjOBJ_BODY, "foot");
    double height = data->xipos[3 * torso + 2] - data->xipos[3 * foot + 2];
    double speed = data->subtree_linvel[3 * torso];
    double tall = wk_planar_tall(height);
    rewards[HOPPER_HOP] += tall * wk_planar_clip(speed / 2);
    rewards[HOPPER_STAND] += tall * wk_planar_effortless(model, data);
    rewards[HOPPER_HOP_BACKWARD] += tall * wk_planar_clip(-speed / 2);
}

static const wk_planar_robot hopper = {.model = "hopper.xml",
                                       .scene = &wk_terrain_scene,
                                       .substeps = 4,
                                       .add_rewards = add_hopper_rewards};

const wk_domain wk_terrain_hopper = {
    TERRAIN_DOMAIN,
    .name = "terrain-hopper",
    .summary = "a planar one-legged hopper on uneven ground",
    .n_params = GROUND_PARAMS,
    .params = ground_params,
    .n_tasks = HOPPER_TASKS,
    .tasks = hopper_tasks,
    .n_cases = sizeof hopper_cases / sizeof *hopper_cases,
    .cases = hopper_cases,
    .action_size = 4,
    .step_seconds = 0.04,
    .hardest = hardest,
    .n_complex = sizeof most_complex / sizeof *most_complex,
    .most_complex = &most_complex[0][0],
};

/* ---- Walker with a body of its own θ --------------------------------------------------------- */

// Gravity, grip, strength and the length of the limbs are parameters beside the ground's two. Six
// are too many for a table of errors; the grid is coarse, for evaluation and images, and training
// draws between its values.
enum { GRAVITY, FRICTION, MOTOR, LIMB, OWN_PARAMS, BODY_PARAMS = GROUND_PARAMS + OWN_PARAMS };

static const wk_param body_params[BODY_PARAMS] = {
    {"amplitude", amplitude_help, 0, 1, 0.25, -1, 1, true},
    {"length", length_help, 0.2, 2, 0.6, 0, LENGTH_MAX, true},
    {"gravity", "of the earth's", 0.5, 1.5, (1.5 - 0.5) / 2, 0.25, 2, true},
    {"friction", "sliding friction of all contacts, of the usual one", 0.4, 1.6, (1.6 - 0.4) / 2,
     0.25, 2, true},
    {"motor", "strength of all motors, of the usual one", 0.6, 1.4, (1.4 - 0.6) / 2, 0.25, 2, true},
    {"limb", "length of thighs and legs, of the usual one", 0.8, 1.2, (1.2 - 0.8) / 2, 0.25, 2,
     true},
};

static const double body_steep[BODY_PARAMS] = {0.8, 0.15, 1, 1, 1, 1};
static const double body_stairs[BODY_PARAMS] = {-1, 0, 1, 1, 1, 1};
static const double body_hardest[BODY_PARAMS] = {1, 0.2, 1.5, 0.4, 0.6, 1.2};
static const double body_complex[2 * BODY_PARAMS] = {1, 0.2, 1.5, 0.4, 0.6, 1.2,
                                                     1, 0.2, 1.5, 0.4, 0.6, 0.8};

static const wk_case body_cases[] = {
    {"steep", "slopes steeper than any trained on, with the usual body", 1, body_steep, 20, false},
    {"stairs", "steps with vertical risers, with the usual body", 1, body_stairs, 20, false},
};

// Of a solid capsule of density 1.
typedef struct capsule {
    double mass, across, along; // moments of inertia across and along the axis
} capsule;

static capsule make_capsule(double radius, double half)
{
    double r2 = radius * radius, height = 2 * half;
    double ends = 4.0 / 3 * M_PI * r2 * radius, middle = M_PI * r2 * height;
    return (capsule){
        .mass = ends + middle,
        .across = middle * (3 * r2 + height * height) / 12 +
                  ends * (2 * r2 / 5 + height * (3 * radius + 2 * height) / 8),
        .along = middle * r2 / 2 + ends * 2 * r2 / 5,
    };
}

// Everything along the axis of a limb (z) is scaled; weight and inertia are those of the longer
// capsule.
static void stretch(const mjModel *from, int body, double scale, mjModel *to)
{
    int geom = from->body_geomadr[body];
    const mjtNum *size = from->geom_size + 3 * geom;
    capsule was = make_capsule(size[0], size[1]), is = make_capsule(size[0], scale * size[1]);
    to->geom_size[3 * geom + 1] = scale * size[1];
    to->geom_pos[3 * geom + 2] = scale * from->geom_pos[3 * geom + 2];
    to->geom_rbound[geom] = size[0] + scale * size[1];
#if mjVERSION_HEADER >= 300
    to->geom_aabb[6 * geom + 5] = size[0] + scale * size[1];
#endif
    to->body_ipos[3 * body + 2] = scale * from->body_ipos[3 * body + 2];
    to->body_mass[body] = from->body_mass[body] * is.mass / was.mass;
    for (int k = 0; k < 3; k++)
        to->body_inertia[3 * body + k] = from->body_inertia[3 * body + k] *
                                         (k < 2 ? is.across / was.across : is.along / was.along);
}

static int find(const mjModel *model, mjtObj type, const char *side, const char *part)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", side, part);
    return wk_physics_id(model, type, name);
}

static void stretch_limbs(const mjModel *from, double scale, mjModel *to)
{
    static const char *const sides[] = {"right", "left"};
    double longer = 0;
    for (int s = 0; s < 2; s++) {
        int thigh = find(from, mjOBJ_BODY, sides[s], "thigh");
        int leg = find(from, mjOBJ_BODY, sides[s], "leg");
        int foot = find(from, mjOBJ_BODY, sides[s], "foot");
        int knee = find(from, mjOBJ_JOINT, sides[s], "knee");
        stretch(from, thigh, scale, to);
        stretch(from, leg, scale, to);
        to->body_pos[3 * leg + 2] = scale * from->body_pos[3 * leg + 2];
        to->body_pos[3 * foot + 2] = scale * from->body_pos[3 * foot + 2];
        to->jnt_pos[3 * knee + 2] = scale * from->jnt_pos[3 * knee + 2];
        longer = (1 - scale) * (from->body_pos[3 * leg + 2] + from->body_pos[3 * foot + 2]);
    }
    // The feet stay where they were.
    int torso = wk_physics_id(from, mjOBJ_BODY, "torso");
    to->body_pos[3 * torso + 2] = from->body_pos[3 * torso + 2] + longer;
}

static void adjust(const mjModel *from, const double *theta, mjModel *to, mjData *data)
{
    to->opt.gravity[2] = theta[GRAVITY] * from->opt.gravity[2];
    for (int i = 0; i < (int)from->ngeom; i++)
        to->geom_friction[3 * i] = theta[FRICTION] * from->geom_friction[3 * i];
    for (int i = 0; i < (int)from->nu; i++)
        to->actuator_gear[6 * i] = theta[MOTOR] * from->actuator_gear[6 * i];
    stretch_limbs(from, theta[LIMB], to);
    mj_setConst(to, data);
    to->stat = from->stat; // of the usual body: not all versions of MuJoCo make all of them anew
}

static const wk_planar_robot own_body = {.model = "walker.xml",
                                         .scene = &wk_terrain_scene,
                                         .substeps = 10,
                                         .add_rewards = add_walker_rewards,
                                         .adjust = adjust};

const wk_domain wk_terrain_body = {
    TERRAIN_DOMAIN,
    .name = "terrain-body",
    .summary = "the walker on uneven ground, with gravity, friction, strength and limbs to choose",
    .n_params = BODY_PARAMS,
    .params = body_params,
    .n_tasks = WALKER_TASKS,
    .tasks = walker_tasks,
    .n_cases = sizeof body_cases / sizeof *body_cases,
    .cases = body_cases,
    .action_size = 6,
    .step_seconds = 0.05,
    .hardest = body_hardest,
    .n_complex = 2,
    .most_complex = body_complex,
};
