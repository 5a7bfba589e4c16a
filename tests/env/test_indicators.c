// Indicators: what the host makes of the values of an episode's steps, that they survive saving,
// and what the built-in domains report.
#include "env/domains/domains.h"
#include "env/domains/planar.h"
#include "support/toy_domain.h"
#include "support/worlds.h"
#include <stdlib.h>

static wk_error err;

/* ---- A toy whose steps report what the test says --------------------------------------------- */

enum { MEAN, SUM, RANGE, CELLS, COUNT };
static const wk_indicator indicators[COUNT] = {
    [MEAN] = {"mean", "", WK_INDICATOR_MEAN, 0},
    [SUM] = {"sum", "", WK_INDICATOR_SUM, 0},
    [RANGE] = {"range", "", WK_INDICATOR_RANGE, 0},
    [CELLS] = {"cells", "", WK_INDICATOR_CELLS, 8},
};
static float reported; // by every indicator at the next step
static wk_domain sound;

static void reporting_step(void *env, const float *action, wk_outcome *out)
{
    sound.step(env, action, out);
    for (int k = 0; k < COUNT; k++)
        out->indicators[k] = reported;
}

static toy reporting_toy(toy_fault fault)
{
    toy t = toy_make(fault);
    sound = t.domain;
    t.domain.step = reporting_step;
    t.domain.indicators = indicators;
    t.domain.n_indicators = COUNT;
    return t;
}

static wk_env *begin(const wk_domain *domain, const double *theta)
{
    wk_env *env = NULL;
    assert_ok(wk_env_create(domain, NULL, &env, &err));
    assert_ok(wk_env_reset(env, theta, (size_t)domain->n_params, 7, 3, &(wk_frame){0}, &err));
    return env;
}

static wk_env *begin_toy(const toy *t)
{
    return begin(&t->domain, (const double[]){0.25, 1});
}

static void report(wk_env *env, float value)
{
    reported = value;
    assert_ok(wk_env_step(env, (const float[TOY_ACTIONS]){0}, &(wk_frame){0}, &err));
}

static void assert_indicators(const wk_env *env, double mean, double sum, double range,
                              double cells)
{
    assert_near(wk_env_indicator(env, MEAN), mean, 0);
    assert_near(wk_env_indicator(env, SUM), sum, 0);
    assert_near(wk_env_indicator(env, RANGE), range, 0);
    assert_near(wk_env_indicator(env, CELLS), cells, 0);
}

static void assert_unknown(const wk_env *env)
{
    for (int k = 0; k < wk_env_domain(env)->n_indicators; k++)
        assert_true(isnan(wk_env_indicator(env, k)));
}

TEST_CASE(each_kind_sums_an_episode_up_in_its_way)
{
    toy t = reporting_toy(TOY_SOUND);
    wk_env *env = begin_toy(&t);
    assert_unknown(env);
    report(env, 5);
    assert_indicators(env, 5, 5, 0, 0.125);
    report(env, 2);
    report(env, 2);
    assert_indicators(env, 3, 9, 3, 0.25);
    assert_ok(wk_env_reset(env, (const double[]){0.25, 1}, 2, 7, 4, &(wk_frame){0}, &err));
    assert_unknown(env);
    wk_env_destroy(env);
}

TEST_CASE(a_step_without_a_value_does_not_count)
{
    toy t = reporting_toy(TOY_SOUND);
    wk_env *env = begin_toy(&t);
    report(env, NAN);
    assert_unknown(env);
    report(env, 4);
    report(env, NAN);
    report(env, INFINITY);
    assert_indicators(env, 4, 4, 0, 0.125);
    report(env, 8); // there is no such cell
    assert_near(wk_env_indicator(env, CELLS), 0.125, 0);
    assert_near(wk_env_indicator(env, SUM), 12, 0);
    wk_env_destroy(env);
}

TEST_CASE(a_step_that_breaks_down_does_not_count)
{
    toy t = reporting_toy(TOY_DIVERGES);
    wk_env *env = begin_toy(&t);
    for (int i = 1; i <= TOY_EVENT_STEP; i++)
        report(env, (float)i);
    assert_indicators(env, 1.5, 3, 1, 0.25);
    wk_env_destroy(env);
}

/* ---- Saving ---------------------------------------------------------------------------------- */

static uint8_t *save(const wk_env *env, size_t *size)
{
    *size = wk_env_state_size(env);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_ok(wk_env_save(env, bytes, *size, &err));
    return bytes;
}

TEST_CASE(a_restored_episode_goes_on_counting)
{
    toy t = reporting_toy(TOY_SOUND);
    wk_env *env = begin_toy(&t), *other = begin_toy(&t);
    size_t size;
    report(env, 1);
    report(env, 6);
    uint8_t *bytes = save(env, &size);
    assert_ok(wk_env_load(other, bytes, size, &err));
    assert_indicators(other, 3.5, 7, 5, 0.25);
    report(other, 2);
    assert_indicators(other, 3, 9, 5, 0.375);
    free(bytes);
    wk_env_destroy(env);
    wk_env_destroy(other);
}

// Checkpoints of before there were indicators, and of a plug-in that had others.
TEST_CASE(a_state_without_them_leaves_its_episode_unknown)
{
    toy t = reporting_toy(TOY_SOUND), before = toy_make(TOY_SOUND);
    toy fewer = t;
    fewer.domain.n_indicators = 2;
    const toy *writers[] = {&before, &fewer};
    for (int i = 0; i < 2; i++) {
        wk_env *old = begin_toy(writers[i]), *env = begin_toy(&t);
        size_t size, again_size;
        report(old, 1);
        uint8_t *bytes = save(old, &size);
        assert_ok(wk_env_load(env, bytes, size, &err));
        report(env, 3);
        assert_unknown(env);
        // So it stays when it is saved again, until the next episode.
        uint8_t *again = save(env, &again_size);
        assert_ok(wk_env_load(env, again, again_size, &err));
        assert_unknown(env);
        assert_ok(wk_env_reset(env, (const double[]){0.25, 1}, 2, 7, 4, &(wk_frame){0}, &err));
        report(env, 3);
        assert_indicators(env, 3, 3, 0, 0.125);
        free(bytes);
        free(again);
        wk_env_destroy(old);
        wk_env_destroy(env);
    }
}

/* ---- The built-in domains -------------------------------------------------------------------- */

static double value_of(const wk_env *env, const char *name)
{
    const wk_domain *domain = wk_env_domain(env);
    for (int k = 0; k < domain->n_indicators; k++)
        if (strcmp(domain->indicators[k].name, name) == 0) return wk_env_indicator(env, k);
    fail_msg("%s has no indicator '%s'", domain->name, name);
    return NAN;
}

// Puts the first block so close to the robot, on the side of the arena's middle, that they touch.
static void put_block_beside_robot(void *world)
{
    const wk_physics_env *sim = world;
    const mjModel *m = sim->model;
    mjData *d = sim->data;
    const mjtNum *robot = d->xpos + 3 * wk_physics_id(m, mjOBJ_BODY, "robot");
    int block = wk_physics_id(m, mjOBJ_BODY, "block0");
    mjtNum *at = d->qpos + m->jnt_qposadr[m->body_jntadr[block]];
    double away = hypot(robot[0], robot[1]);
    at[0] = robot[0] * (1 - 0.34 / away); // radius 0.15, half a side 0.2
    at[1] = robot[1] * (1 - 0.34 / away);
}

TEST_CASE(contact_is_that_of_robot_and_block)
{
    const float still[2] = {0, 0};
    for (int d = 0; d < 2; d++) {
        const wk_domain *domain = d ? &wk_car_clean_up : &wk_clean_up;
        void *world = make_env(domain, default_options);
        start_env(domain, world, (const double[]){4, 1, 1}, 7, 3);
        assert_near(step_env(domain, world, still).indicators[0], 0, 0);
        put_block_beside_robot(world);
        assert_near(step_env(domain, world, still).indicators[0], 1, 0);
        domain->destroy(world);
    }
}

TEST_CASE(contact_is_unknown_without_blocks)
{
    wk_env *env = begin(&wk_car_clean_up, (const double[]){2, 0, 0});
    assert_ok(wk_env_step(env, (const float[]){1, 1}, &(wk_frame){0}, &err));
    assert_true(isnan(value_of(env, "contact")));
    assert_true(value_of(env, "distance") > 0);
    assert_near(value_of(env, "coverage"), 1.0 / 64, 0);
    wk_env_destroy(env);
}

// An oracle from the robot's own places: the way between them and the cells of an 8 x 8 grid.
TEST_CASE(distance_and_coverage_follow_the_robot)
{
    void *world = make_env(&wk_clean_up, default_options);
    start_env(&wk_clean_up, world, (const double[]){0, 0, 0}, 7, 3);
    const wk_physics_env *sim = world;
    const mjModel *m = sim->model;
    mjData *d = sim->data;
    const mjtNum *at = d->xpos + 3 * wk_physics_id(m, mjOBJ_BODY, "robot");
    wk_env *env = begin(&wk_clean_up, (const double[]){0, 0, 0});
    double x = at[0], y = at[1], way = 0;
    bool seen[8][8] = {0};
    int cells = 0;
    for (int i = 0; i < 200; i++) {
        const float action[] = {1, i < 100 ? 0.3f : -0.2f};
        step_env(&wk_clean_up, world, action);
        assert_ok(wk_env_step(env, action, &(wk_frame){0}, &err));
        way += hypot(at[0] - x, at[1] - y);
        x = at[0];
        y = at[1];
        bool *cell = &seen[(int)((y + 0.7) / 0.175)][(int)((x + 0.7) / 0.175)];
        cells += !*cell;
        *cell = true;
    }
    assert_true(cells > 3);
    assert_near(value_of(env, "coverage"), cells / 64.0, 0);
    assert_near(value_of(env, "distance"), way, 1e-5);
    wk_env_destroy(env);
    wk_clean_up.destroy(world);
}

TEST_CASE(planar_robots_tell_how_they_stand_and_where_they_go)
{
    void *world = make_env(&wk_dmc_walker, default_options);
    start_env(&wk_dmc_walker, world, (const double[]){0}, 7, 3);
    const wk_physics_env *sim = world;
    const mjModel *m = sim->model;
    mjData *d = sim->data;
    const int torso = wk_physics_id(m, mjOBJ_BODY, "torso");
    for (int upright = 0; upright < 2; upright++) {
        memset(d->qpos, 0, (size_t)m->nq * sizeof *d->qpos);
        memset(d->qvel, 0, (size_t)m->nv * sizeof *d->qvel);
        d->qpos[0] = 1; // rootz: in the air
        d->qpos[2] = upright ? 0 : M_PI / 2;
        d->qvel[1] = -2; // rootx
        assert_true(wk_physics_forward(m, d));
        double before = d->xpos[3 * torso];
        wk_outcome out = step_env(&wk_dmc_walker, world, (float[6]){0});
        assert_near(out.indicators[WK_PLANAR_UPRIGHT], upright, 0);
        assert_near(out.indicators[WK_PLANAR_DISTANCE], before - d->xpos[3 * torso], 1e-6);
        assert_true(out.indicators[WK_PLANAR_DISTANCE] > 0.05f);
        assert_near(out.indicators[WK_PLANAR_RANGE], d->xpos[3 * torso], 1e-6);
    }
    wk_dmc_walker.destroy(world);
}

TEST_MAIN(NULL, NULL)
