// The walker's rewards against their formulas on a twin world of plain MuJoCo. Height and
// uprightness come from the joint angles by hand; only the momenta are MuJoCo's.
#include "env/domains/terrain.h"
#include "support/terrain.h"

enum { STAND, WALK, RUN, FLIP, WALK_BACKWARD };

// Torso above right foot: thigh joint 0.3 below the torso, knee 0.45 further, leg 0.5 long, and the
// foot's centre 0.06 before the ankle. Hinges turn about -y.
static double torso_above_foot(const double *qpos)
{
    double torso = qpos[2], thigh = torso - qpos[3], leg = thigh - qpos[4], foot = leg - qpos[5];
    return -(rise(0, -0.3, torso) + rise(0, -0.45, thigh) + rise(0, -0.5, leg) +
             rise(0.06, 0, foot));
}

static double clipped(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void add_expected(const mjData *d, double *rewards)
{
    double height = torso_above_foot(d->qpos), upright = cos(d->qpos[2]);
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

static void assert_rewards_follow(double amplitude, double length, uint64_t episode,
                                  double range[5][2])
{
    const wk_domain *domain = &wk_terrain_walker;
    void *env = make_env(domain, default_options);
    reset_env(domain, env, amplitude, length, 1, episode);
    twin t = make_twin("walker.xml", domain, env, amplitude, length);
    wk_rng rng = wk_rng_stream(6, "test", episode);
    for (int i = 0; i < 60; i++) {
        float action[6];
        wk_outcome out = {0};
        double expected[5] = {0};
        draw_action(domain, &rng, action);
        domain->step(env, action, &out);
        for (int repeat = 0; repeat < 2; repeat++) {
            step_twin(t, action, 10);
            add_expected(t.data, expected);
        }
        for (int k = 0; k < 5; k++) {
            assert_near(out.rewards[k], expected[k], 2e-5);
            range[k][0] = fmin(range[k][0], expected[k]);
            range[k][1] = fmax(range[k][1], expected[k]);
        }
    }
    free_twin(t);
    domain->destroy(env);
}

static void rewards_follow_their_formulas(void **state)
{
    (void)state;
    double range[5][2] = {{9, -9}, {9, -9}, {9, -9}, {9, -9}, {9, -9}};
    for (uint64_t episode = 0; episode < 6; episode++)
        assert_rewards_follow(episode % 2 ? 1 : 0.3, episode % 2 ? 0.2 : 1, episode, range);
    // Every task must have shown more than one value for this to mean anything.
    for (int k = 0; k < 5; k++)
        assert_true(range[k][1] - range[k][0] > 0.2);
}

// Standing straight on flat ground: hips, knees and ankles stretched, torso 1.25 above the foot.
static void an_upright_walker_earns_the_full_stand_reward(void **state)
{
    (void)state;
    const wk_domain *domain = &wk_terrain_walker;
    wk_error err = {0};
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

static void tasks_have_the_papers_names_and_the_authors_aliases(void **state)
{
    (void)state;
    static const char *const names[] = {"stand", "walk", "run", "flip", "walk-backward"};
    assert_int_equal(wk_terrain_walker.n_tasks, 5);
    for (int k = 0; k < 5; k++)
        assert_string_equal(wk_terrain_walker.tasks[k].name, names[k]);
    assert_string_equal(wk_terrain_walker.tasks[4].alias, "walk-bwd");
}

static void the_motors_have_the_described_strength_and_order(void **state)
{
    (void)state;
    wk_error err = {0};
    mjModel *model;
    assert_ok(wk_physics_load("walker.xml", wk_asset_find("walker.xml")->content, &model, &err));
    static const double gears[] = {100, 50, 20, 100, 50, 20};
    for (int u = 0; u < 6; u++) {
        assert_true(model->actuator_gear[6 * u] == gears[u]);
        assert_int_equal(model->actuator_trnid[2 * u], 3 + u);
    }
    mj_deleteModel(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewards_follow_their_formulas),
        cmocka_unit_test(an_upright_walker_earns_the_full_stand_reward),
        cmocka_unit_test(tasks_have_the_papers_names_and_the_authors_aliases),
        cmocka_unit_test(the_motors_have_the_described_strength_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
