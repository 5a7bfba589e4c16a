// The rewards of walker and hopper against their formulas on a twin world of plain MuJoCo. Heights
// and uprightness come from joint angles and capsule masses by hand; only momenta and velocities
// are MuJoCo's.
#include "base/file.h"
#include "env/domains/domains.h"
#include "env/domains/terrain_profile.h"
#include "support/worlds.h"

static wk_error err;

enum { TASKS_MAX = 5 };

// A world of plain MuJoCo to compare with an environment.
typedef struct twin {
    mjModel *model;
    mjData *data;
} twin;

// The twin of an environment that was just reset to (amplitude, length) on the fixed lattice.
static twin make_twin(const char *file, const wk_domain *domain, const void *env, double amplitude,
                      double length)
{
    twin t;
    assert_ok(wk_physics_load(file, wk_asset_find(file)->content, &t.model, &err));
    double lattice[WK_TERRAIN_LATTICE];
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_lattice_fixed(lattice, wk_terrain_lattice_count(length));
    wk_terrain_noise(lattice, amplitude, length, heights);
    for (int row = 0; row < 5; row++)
        memcpy(t.model->hfield_data + row * WK_TERRAIN_COLUMNS, heights, sizeof heights);
    t.data = mj_makeData(t.model);
    double *numbers = saved_numbers(domain, env);
    mju_copy(t.data->qpos, numbers + 1, (int)t.model->nq);
    free(numbers);
    mj_forward(t.model, t.data);
    return t;
}

static void free_twin(twin t)
{
    mj_deleteData(t.data);
    mj_deleteModel(t.model);
}

// One control step of the twin by plain mj_step; then velocities of the whole body are current.
static void step_twin(twin t, const float *action, int substeps)
{
    for (int u = 0; u < t.model->nu; u++)
        t.data->ctrl[u] = (double)action[u];
    for (int i = 0; i < substeps; i++)
        mj_step(t.model, t.data);
    mj_forward(t.model, t.data);
    mj_subtreeVel(t.model, t.data);
}

// Height gained by the vector (x, z) of a link pitched by `angle` about +y.
static double rise(double x, double z, double angle)
{
    return z * cos(angle) - x * sin(angle);
}

static double clipped(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* ---- Walker ---------------------------------------------------------------------------------- */

enum { STAND, WALK, RUN, FLIP, WALK_BACKWARD };

// Torso above right foot: thigh joint 0.3 below the torso, knee 0.45 further, leg 0.5 long, and the
// foot's centre 0.06 before the ankle. Hinges turn about -y.
static double walker_height(const double *qpos)
{
    double torso = qpos[2], thigh = torso - qpos[3], leg = thigh - qpos[4], foot = leg - qpos[5];
    return -(rise(0, -0.3, torso) + rise(0, -0.45, thigh) + rise(0, -0.5, leg) +
             rise(0.06, 0, foot));
}

static void add_walker_rewards(const mjData *d, const float *action, double *rewards)
{
    double height = walker_height(d->qpos), upright = cos(d->qpos[2]);
    double lack = fmax(0, 1.2 - height) / 0.6;
    double standing = exp(log(0.1) * lack * lack);
    double s = (3 * standing + (1 + upright) / 2) / 4;
    double v = d->subtree_linvel[3], spin = d->subtree_angmom[4];
    rewards[STAND] += s;
    rewards[WALK] += s * (5 * clipped(v) + 1) / 6;
    rewards[RUN] += s * (5 * clipped(v / 8) + 1) / 6;
    rewards[FLIP] += clipped(spin / 5);
    rewards[WALK_BACKWARD] += s * (5 * clipped(-v) + 1) / 6;
}

/* ---- Hopper ---------------------------------------------------------------------------------- */

static double capsule_volume(double radius, double length)
{
    return M_PI * radius * radius * length + 4.0 / 3 * M_PI * radius * radius * radius;
}

// Centre of the torso (trunk and nose) above the centre of the foot. Hinges turn about +y; the
// links hang 0.05, 0.2, 0.33 and 0.32 below each other.
static double hopper_height(const double *qpos)
{
    double trunk = capsule_volume(0.0653, 0.25), nose = capsule_volume(0.03, hypot(0.07, 0.01));
    double x = nose * 0.115 / (trunk + nose), z = (trunk * 0.075 + nose * 0.135) / (trunk + nose);
    double torso = qpos[2], pelvis = torso + qpos[3], thigh = pelvis + qpos[4];
    double calf = thigh + qpos[5], foot = calf + qpos[6];
    return rise(x, z, torso) -
           (rise(0, -0.05, torso) + rise(0, -0.2, pelvis) + rise(0, -0.33, thigh) +
            rise(0, -0.32, calf) + rise(0.045, 0, foot));
}

static void add_hopper_rewards(const mjData *d, const float *action, double *rewards)
{
    double height = hopper_height(d->qpos), v = d->subtree_linvel[3], calm = 0;
    if (height < 0.6 || height > 2) return;
    for (int u = 0; u < 4; u++)
        calm += (1 - (double)action[u] * (double)action[u]) / 4;
    rewards[0] += clipped(v / 2);
    rewards[1] += calm;
    rewards[2] += clipped(-v / 2);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static const struct {
    const wk_domain *domain;
    const char *file;
    int substeps;
    uint64_t episodes;
    void (*add)(const mjData *d, const float *action, double *rewards);
    double spread;                        // each task's rewards have at least
    const char *tasks[TASKS_MAX], *alias; // of the last task
    double gears[6];
} robots[] = {
    {&wk_terrain_walker,
     "walker.xml",
     10,
     6,
     add_walker_rewards,
     0.2,
     {"stand", "walk", "run", "flip", "walk-backward"},
     "walk-bwd",
     {100, 50, 20, 100, 50, 20}},
    {&wk_terrain_hopper,
     "hopper.xml",
     4,
     20,
     add_hopper_rewards,
     0.1,
     {"hop", "stand", "hop-backward"},
     "hop-bwd",
     {30, 40, 30, 10}},
};
enum { ROBOTS = sizeof robots / sizeof *robots };

TEST_CASE(rewards_follow_their_formulas)
{
    for (int r = 0; r < ROBOTS; r++) {
        const wk_domain *domain = robots[r].domain;
        double low[TASKS_MAX] = {9, 9, 9, 9, 9}, high[TASKS_MAX] = {0};
        for (uint64_t episode = 0; episode < robots[r].episodes; episode++) {
            double amplitude = episode % 2 ? 1 : 0.3, length = episode % 2 ? 0.2 : 1;
            void *env = make_env(domain, default_options);
            reset_env(domain, env, amplitude, length, 1, episode);
            twin t = make_twin(robots[r].file, domain, env, amplitude, length);
            wk_rng rng = wk_rng_stream(6, "test", episode);
            for (int i = 0; i < 60; i++) {
                float action[WK_ACTION_MAX];
                wk_outcome out = {0};
                double expected[TASKS_MAX] = {0};
                draw_action(domain, &rng, action);
                domain->step(env, action, &out);
                for (int repeat = 0; repeat < 2; repeat++) {
                    step_twin(t, action, robots[r].substeps);
                    robots[r].add(t.data, action, expected);
                }
                for (int k = 0; k < domain->n_tasks; k++) {
                    assert_near(out.rewards[k], expected[k], 2e-5);
                    low[k] = fmin(low[k], expected[k]);
                    high[k] = fmax(high[k], expected[k]);
                }
            }
            free_twin(t);
            domain->destroy(env);
        }
        // Every task must have shown more than one value for this to mean anything.
        for (int k = 0; k < domain->n_tasks; k++)
            assert_true(high[k] - low[k] > robots[r].spread);
    }
}

// Standing straight on flat ground: hips, knees and ankles stretched, torso 1.25 above the foot.
TEST_CASE(an_upright_walker_earns_the_full_stand_reward)
{
    const wk_domain *domain = &wk_terrain_walker;
    void *env = make_env(domain, default_options);
    reset_env(domain, env, 0, 1, 1, 0);
    double *numbers = saved_numbers(domain, env);
    memset(numbers + 1, 0, 9 * sizeof *numbers);
    assert_ok(domain->load(env, numbers, domain->state_size(env), &err));
    wk_outcome out = {0};
    domain->step(env, (const float[6]){0}, &out);
    assert_near(out.rewards[STAND], 2, 1e-3);
    free(numbers);
    domain->destroy(env);
}

TEST_CASE(tasks_have_the_papers_names_and_the_authors_aliases)
{
    for (int r = 0; r < ROBOTS; r++) {
        const wk_domain *domain = robots[r].domain;
        int last = domain->n_tasks - 1;
        for (int k = 0; k <= last; k++)
            assert_string_equal(domain->tasks[k].name, robots[r].tasks[k]);
        assert_true(last == TASKS_MAX - 1 || !robots[r].tasks[last + 1]);
        assert_string_equal(domain->tasks[last].alias, robots[r].alias);
    }
}

TEST_CASE(the_authors_cases_are_extra)
{
    const wk_case *cases = wk_terrain_hopper.cases;
    assert_int_equal(wk_terrain_hopper.n_cases, 5);
    assert_false(cases[0].extra || cases[1].extra);
    assert_true(cases[2].extra && cases[3].extra && cases[4].extra);
    assert_true(cases[2].params[0] == 0.8 && cases[2].params[1] == 0.1125);
    assert_true(cases[3].params[0] == 1 && cases[3].params[1] == 0.15);
}

TEST_CASE(the_motors_have_the_described_strength_and_order)
{
    for (int r = 0; r < ROBOTS; r++) {
        mjModel *model;
        const char *file = robots[r].file;
        assert_ok(wk_physics_load(file, wk_asset_find(file)->content, &model, &err));
        assert_int_equal(model->nu, robots[r].domain->action_size);
        for (int u = 0; u < model->nu; u++) {
            assert_true(model->actuator_gear[6 * u] == robots[r].gears[u]);
            assert_int_equal(model->actuator_trnid[2 * u], 3 + u);
        }
        mj_deleteModel(model);
    }
}

TEST_MAIN(NULL, NULL)
