// The hopper's rewards against their formulas on a twin world of plain MuJoCo. The height comes
// from joint angles and capsule masses by hand; only the velocity is MuJoCo's.
#include "env/domains/terrain.h"
#include "support/terrain.h"

enum { HOP, STAND, HOP_BACKWARD };

static double capsule_volume(double radius, double length)
{
    return M_PI * radius * radius * length + 4.0 / 3 * M_PI * radius * radius * radius;
}

// Centre of the torso (trunk and nose) above the centre of the foot. Hinges turn about +y; the
// links hang 0.05, 0.2, 0.33 and 0.32 below each other.
static double torso_above_foot(const double *qpos)
{
    double trunk = capsule_volume(0.0653, 0.25), nose = capsule_volume(0.03, hypot(0.07, 0.01));
    double x = nose * 0.115 / (trunk + nose), z = (trunk * 0.075 + nose * 0.135) / (trunk + nose);
    double torso = qpos[2], pelvis = torso + qpos[3], thigh = pelvis + qpos[4];
    double calf = thigh + qpos[5], foot = calf + qpos[6];
    return rise(x, z, torso) -
           (rise(0, -0.05, torso) + rise(0, -0.2, pelvis) + rise(0, -0.33, thigh) +
            rise(0, -0.32, calf) + rise(0.045, 0, foot));
}

static double clipped(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void add_expected(const mjData *d, const float *action, double *rewards)
{
    double height = torso_above_foot(d->qpos), v = d->subtree_linvel[3], calm = 0;
    if (height < 0.6 || height > 2) return;
    for (int u = 0; u < 4; u++)
        calm += (1 - (double)action[u] * (double)action[u]) / 4;
    rewards[HOP] += clipped(v / 2);
    rewards[STAND] += calm;
    rewards[HOP_BACKWARD] += clipped(-v / 2);
}

static void assert_rewards_follow(double amplitude, double length, uint64_t episode, double best[3])
{
    const wk_domain *domain = &wk_terrain_hopper;
    void *env = make_env(domain, default_options);
    reset_env(domain, env, amplitude, length, 1, episode);
    twin t = make_twin("hopper.xml", domain, env, amplitude, length);
    wk_rng rng = wk_rng_stream(6, "test", episode);
    for (int i = 0; i < 60; i++) {
        float action[4];
        wk_outcome out = {0};
        double expected[3] = {0};
        draw_action(domain, &rng, action);
        domain->step(env, action, &out);
        for (int repeat = 0; repeat < 2; repeat++) {
            step_twin(t, action, 4);
            add_expected(t.data, action, expected);
        }
        for (int k = 0; k < 3; k++) {
            assert_near(out.rewards[k], expected[k], 2e-5);
            best[k] = fmax(best[k], expected[k]);
        }
    }
    free_twin(t);
    domain->destroy(env);
}

static void rewards_follow_their_formulas(void **state)
{
    (void)state;
    double best[3] = {0};
    for (uint64_t episode = 0; episode < 20; episode++)
        assert_rewards_follow(episode % 2 ? 1 : 0.3, episode % 2 ? 0.2 : 1, episode, best);
    // Every task must have paid for this to mean anything.
    for (int k = 0; k < 3; k++)
        assert_true(best[k] > 0.1);
}

static void tasks_have_the_papers_names_and_the_authors_aliases(void **state)
{
    (void)state;
    static const char *const names[] = {"hop", "stand", "hop-backward"};
    assert_int_equal(wk_terrain_hopper.n_tasks, 3);
    for (int k = 0; k < 3; k++)
        assert_string_equal(wk_terrain_hopper.tasks[k].name, names[k]);
    assert_string_equal(wk_terrain_hopper.tasks[2].alias, "hop-bwd");
}

static void the_authors_cases_are_extra(void **state)
{
    (void)state;
    const wk_case *cases = wk_terrain_hopper.cases;
    assert_int_equal(wk_terrain_hopper.n_cases, 5);
    assert_false(cases[0].extra || cases[1].extra);
    assert_true(cases[2].extra && cases[3].extra && cases[4].extra);
    assert_true(cases[2].params[0] == 0.8 && cases[2].params[1] == 0.1125);
    assert_true(cases[3].params[0] == 1 && cases[3].params[1] == 0.15);
}

static void the_motors_have_the_described_strength_and_order(void **state)
{
    (void)state;
    wk_error err = {0};
    mjModel *model;
    assert_ok(wk_physics_load("hopper.xml", wk_asset_find("hopper.xml")->content, &model, &err));
    static const double gears[] = {30, 40, 30, 10};
    for (int u = 0; u < 4; u++) {
        assert_true(model->actuator_gear[6 * u] == gears[u]);
        assert_int_equal(model->actuator_trnid[2 * u], 3 + u);
    }
    mj_deleteModel(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewards_follow_their_formulas),
        cmocka_unit_test(tasks_have_the_papers_names_and_the_authors_aliases),
        cmocka_unit_test(the_authors_cases_are_extra),
        cmocka_unit_test(the_motors_have_the_described_strength_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
