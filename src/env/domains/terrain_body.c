// Terrain Walker with a body of its own θ: gravity, grip, strength and the length of the limbs are
// parameters beside the ground's two. Six are too many for a table of errors; the grid is coarse,
// for evaluation and images, and training draws between its values.
#include "env/domains/terrain.h"
#include "env/domains/terrain_robot.h"
#include "env/mujoco/physics.h"

#include <math.h>
#include <stdio.h>

enum { GRAVITY, FRICTION, MOTOR, LIMB, BODY_PARAMS, PARAMS = WK_TERRAIN_PARAMS + BODY_PARAMS };

#define SHARE(name_, help_, low, high)                                                             \
    {                                                                                              \
        .name = (name_), .help = (help_), .min = (low), .max = (high),                             \
        .step = ((high) - (low)) / 2, .legal_min = 0.25, .legal_max = 2, .continuous = true        \
    }
static const wk_param params[PARAMS] = {
    WK_TERRAIN_GROUND(0.25, 0.6),
    SHARE("gravity", "of the earth's", 0.5, 1.5),
    SHARE("friction", "sliding friction of all contacts, of the usual one", 0.4, 1.6),
    SHARE("motor", "strength of all motors, of the usual one", 0.6, 1.4),
    SHARE("limb", "length of thighs and legs, of the usual one", 0.8, 1.2),
};

static const double steep[PARAMS] = {0.8, 0.15, 1, 1, 1, 1};
static const double stairs[PARAMS] = {-1, 0, 1, 1, 1, 1};
static const double hardest[PARAMS] = {1, 0.2, 1.5, 0.4, 0.6, 1.2};
static const double most_complex[2 * PARAMS] = {1, 0.2, 1.5, 0.4, 0.6, 1.2,
                                                1, 0.2, 1.5, 0.4, 0.6, 0.8};

static const wk_case cases[] = {
    WK_TERRAIN_CASE("steep", "slopes steeper than any trained on, with the usual body", steep),
    WK_TERRAIN_CASE("stairs", "steps with vertical risers, with the usual body", stairs),
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

static const wk_planar_robot robot = {
    .model = "walker.xml", .substeps = 10, .add_rewards = wk_walker_add_rewards, .adjust = adjust};

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    (void)domain;
    return wk_terrain_create(&robot, options, env, err);
}

const wk_domain wk_terrain_body = {
    WK_TERRAIN_DOMAIN,
    .name = "terrain-body",
    .summary = "the walker on uneven ground, with gravity, friction, strength and limbs to choose",
    .n_params = PARAMS,
    .params = params,
    .n_tasks = WK_WALKER_TASKS,
    .tasks = wk_walker_tasks,
    .n_cases = sizeof cases / sizeof *cases,
    .cases = cases,
    .action_size = 6,
    .step_seconds = 0.05,
    .hardest = hardest,
    .n_complex = 2,
    .most_complex = most_complex,
    .create = create,
};
