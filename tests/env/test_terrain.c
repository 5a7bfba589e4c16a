// What the terrain domains promise, and all planar robots: the profile of the ground, θ, timing,
// starts, options, break-downs.
#include "env/domains/domains.h"
#include "env/domains/terrain_profile.h"
#include "support/check.h"
#include "support/worlds.h"

static void the_fixed_lattice_has_the_published_values(void **state)
{
    double v[52];
    wk_terrain_lattice_fixed(v, 52);
    assert_near(v[0], 0.6888437, 5e-8);
    assert_near(v[1], -0.7312715, 5e-8);
    assert_near(v[2], 0.9120685, 5e-8);
    assert_near(v[50], -0.0049269, 5e-8);
    assert_near(v[51], -0.5129645, 5e-8);
}

// With a length of 10 columns' spacing, every tenth column lies on a lattice point.
static void heights_meet_the_lattice_at_its_points_and_their_mean_halfway(void **state)
{
    double lattice[WK_TERRAIN_LATTICE], length = 1000.0 / 1999;
    float heights[WK_TERRAIN_COLUMNS];
    int count = wk_terrain_lattice_count(length);
    assert_int_equal(count, 201);
    wk_terrain_lattice_fixed(lattice, count);
    wk_terrain_noise(lattice, 0.7, length, heights);
    for (int k = 0; k < 198; k++) {
        assert_near(heights[10 * k], 0.5 + 0.35 * lattice[k], 1e-6);
        assert_near(heights[10 * k + 5], 0.5 + 0.35 * (lattice[k] + lattice[k + 1]) / 2, 1e-6);
    }
}

static void heights_follow_the_cosine_between_lattice_points(void **state)
{
    double lattice[WK_TERRAIN_LATTICE];
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_lattice_fixed(lattice, wk_terrain_lattice_count(2));
    wk_terrain_noise(lattice, 1, 2, heights);
    for (int i = 0; i < 2000; i += 7) {
        double q = 100.0 * i / 1999 / 2, part = q - (int)q;
        double blend = sin(M_PI / 2 * part) * sin(M_PI / 2 * part); // = (1 - cos(pi part)) / 2
        double n = lattice[(int)q] + (lattice[(int)q + 1] - lattice[(int)q]) * blend;
        assert_near(heights[i], 0.5 + 0.5 * n, 1e-6);
    }
}

static void amplitude_zero_is_flat_and_no_height_leaves_the_unit_interval(void **state)
{
    double lattice[WK_TERRAIN_LATTICE];
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_lattice_fixed(lattice, wk_terrain_lattice_count(0.1));
    wk_terrain_noise(lattice, 0, 0.2, heights);
    for (int i = 0; i < WK_TERRAIN_COLUMNS; i++)
        assert_true(heights[i] == 0.5f);
    wk_terrain_noise(lattice, 1, 0.1, heights);
    for (int i = 0; i < WK_TERRAIN_COLUMNS; i++)
        assert_true(heights[i] >= 0 && heights[i] <= 1);
}

static void fresh_lattices_are_uniform_and_follow_their_stream(void **state)
{
    double a[1000], b[1000], sum = 0, squares = 0;
    wk_rng rng = wk_rng_stream(1, "test", 5), same = rng, other = wk_rng_stream(1, "test", 6);
    wk_terrain_lattice_fresh(&rng, a, 1000);
    wk_terrain_lattice_fresh(&same, b, 1000);
    assert_memory_equal(a, b, sizeof a);
    wk_terrain_lattice_fresh(&other, b, 1000);
    assert_memory_not_equal(a, b, sizeof a);
    for (int k = 0; k < 1000; k++) {
        assert_true(a[k] >= -1 && a[k] < 1);
        sum += a[k] / 1000;
        squares += a[k] * a[k] / 1000;
    }
    assert_near(sum, 0, 0.06);
    assert_near(squares, 1.0 / 3, 0.04);
}

static void stairs_change_where_the_published_ones_do(void **state)
{
    static const int changes[] = {23, 31, 56, 64, 88, 96, 120, 128};
    static const float levels[] = {0.5f, 0, 0.5f, 1};
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_stairs(heights);
    assert_true(heights[0] == 1);
    int found = 0;
    for (int i = 1; i < 130; i++) {
        if (heights[i] == heights[i - 1]) continue;
        assert_true(found < 8);
        assert_int_equal(i, changes[found]);
        assert_true(heights[i] == levels[found % 4]);
        found++;
    }
    assert_int_equal(found, 8);
}

static wk_error err;

static void theta_outside_the_legal_worlds_is_refused_with_advice(void **state)
{
    const wk_domain *domain = *state;
    assert_refused(domain->check((const double[]){-0.5, 1}, &err), WK_E_INPUT, "stairs");
    assert_refused(domain->check((const double[]){0.5, 0.05}, &err), WK_E_INPUT, "length 0.05");
    assert_refused(domain->check((const double[]){-1, 0.2}, &err), WK_E_INPUT, "amplitude -1");
    assert_refused(domain->check((const double[]){0.5, 0}, &err), WK_E_INPUT, "length 0");
    assert_ok(domain->check((const double[]){-1, 0}, &err));
    assert_ok(domain->check((const double[]){1, 0.1125}, &err));
}

static void every_listed_theta_is_a_legal_world(void **state)
{
    const wk_domain *domain = *state;
    void *env = make_env(domain, default_options);
    for (int i = 0; i < domain->n_cases; i++) {
        const wk_case *c = &domain->cases[i];
        assert_int_equal(c->episodes, c->count == 1 ? 20 : 100); // a list of θ is played once
        for (int k = 0; k < c->count; k++) {
            const double *theta = c->params + (ptrdiff_t)k * domain->n_params;
            assert_ok(domain->check(theta, &err));
            reset_env(domain, env, theta[0], theta[1], 1, 0);
        }
    }
    assert_int_equal(domain->n_complex, 25);
    for (int i = 0; i < 25; i++) {
        // A in {.8, ..., 1}, L in {.2, ..., .4}, each once.
        assert_true(domain->most_complex[2 * i] == (16 + i / 5) / 20.0);
        assert_true(domain->most_complex[2 * i + 1] == (4 + i % 5) / 20.0);
    }
    assert_true(domain->hardest[0] == 1 && domain->hardest[1] == 0.2);
    domain->destroy(env);
}

static bool walks(const wk_domain *domain)
{
    return domain->action_size == 6;
}

static void a_step_takes_its_simulated_time(void **state)
{
    const wk_domain *domain = *state;
    void *env = make_env(domain, default_options);
    reset_env(domain, env, 0, 1, 1, 0);
    step_env(domain, env, (const float[WK_ACTION_MAX]){0});
    double *numbers = saved_numbers(domain, env);
    assert_near(numbers[0], walks(domain) ? 0.05 : 0.04, 1e-12);
    assert_near(domain->step_seconds, numbers[0], 1e-12);
    assert_int_equal(domain->action_repeat, 2);
    assert_int_equal(domain->episode_steps, 500);
    free(numbers);
    domain->destroy(env);
}

// Joint ranges in degrees, as the robots' description gives them; {0,0}: a slide, which starts at
// 0.
static const double walker_ranges[][2] = {{0, 0},    {0, 0},     {-180, 180}, {-20, 100}, {-150, 0},
                                          {-45, 45}, {-20, 100}, {-150, 0},   {-45, 45}};
static const double hopper_ranges[][2] = {{0, 0},     {0, 0},   {-180, 180}, {-30, 30},
                                          {-170, 10}, {5, 150}, {-45, 45}};

static void poses_start_uniform_in_the_joint_ranges_and_at_rest(void **state)
{
    const wk_domain *domain = *state;
    enum { RESETS = 1000, BINS = 10 };
    const double(*ranges)[2] = walks(domain) ? walker_ranges : hopper_ranges;
    const int joints = walks(domain) ? 9 : 7;
    int counts[9][BINS] = {{0}};
    void *env = make_env(domain, default_options);
    for (int e = 0; e < RESETS; e++) {
        reset_env(domain, env, 0, 2, 11, (uint64_t)e);
        double *numbers = saved_numbers(domain, env);
        for (int j = 0; j < joints; j++) {
            double degrees = numbers[1 + j] * 180 / M_PI, low = ranges[j][0], high = ranges[j][1];
            assert_true(numbers[1 + joints + j] == 0);
            assert_true(degrees >= low - 1e-9 && degrees <= high + 1e-9);
            if (high > low) counts[j][(int)((degrees - low) / (high - low + 1e-9) * BINS)]++;
        }
        free(numbers);
    }
    for (int j = 2; j < joints; j++) {
        // Chi-square with 9 degrees of freedom exceeds 27.9 once in a thousand; the seed is fixed.
        double chi = 0;
        for (int b = 0; b < BINS; b++)
            chi += pow(counts[j][b] - RESETS / BINS, 2) / (RESETS / BINS);
        assert_true(chi < 27.9);
    }
    domain->destroy(env);
}

// Steps `env` 40 times and writes rewards and final state.
static double *run(const wk_domain *domain, void *env, uint64_t stream, float rewards[40][8])
{
    wk_rng rng = wk_rng_stream(5, "test", stream);
    for (int i = 0; i < 40; i++) {
        float action[WK_ACTION_MAX];
        wk_outcome out = {0};
        draw_action(domain, &rng, action);
        domain->step(env, action, &out);
        assert_false(out.diverged || out.terminal);
        memcpy(rewards[i], out.rewards, sizeof rewards[i]);
    }
    return saved_numbers(domain, env);
}

// Runs an episode's first steps under the options and returns the state after them.
static double *run_options(const wk_domain *domain, const int *options, uint64_t episode,
                           double **start)
{
    float rewards[40][8];
    void *env = make_env(domain, options);
    reset_env(domain, env, 1, 0.2, 3, episode);
    if (start) *start = saved_numbers(domain, env);
    double *end = run(domain, env, 0, rewards);
    domain->destroy(env);
    return end;
}

static void a_fresh_lattice_changes_the_ground_but_not_the_start(void **state)
{
    const wk_domain *domain = *state;
    const int fresh[WK_OPTIONS_MAX] = {1};
    size_t pose = (walks(domain) ? 9 : 7) * sizeof(double);
    double *start_fixed, *start_fresh;
    double *fixed = run_options(domain, default_options, 1, &start_fixed);
    double *changed = run_options(domain, fresh, 1, &start_fresh);
    double *again = run_options(domain, fresh, 1, NULL);
    assert_memory_equal(start_fixed + 1, start_fresh + 1, pose);
    assert_memory_not_equal(fixed + 1, changed + 1, pose);
    assert_memory_equal(again + 1, changed + 1, pose);
    free(start_fixed);
    free(start_fresh);
    free(fixed);
    free(changed);
    free(again);
}

static void a_breakdown_is_flagged_drawn_and_left_behind(void **state)
{
    const wk_domain *domain = *state;
    static uint8_t rgb[WK_IMAGE_BYTES];
    const float still[WK_ACTION_MAX] = {0};
    void *env = make_env(domain, default_options);
    const wk_physics_env *sim = env;
    for (int broken = 0; broken < 2; broken++) {
        reset_env(domain, env, 0, 1, 1, 0);
        for (int j = 0; j < sim->model->nv; j++)
            sim->data->qvel[j] = broken == 0 ? NAN : j % 2 ? 9e9 : -9e9;
        assert_true(step_env(domain, env, still).diverged);
        for (int i = 0; i < 3; i++)
            sim->data->cam_xpos[i] = sim->data->light_xpos[i] = NAN;
        domain->render(env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, rgb);
    }
    reset_env(domain, env, 0, 1, 1, 0);
    assert_false(step_env(domain, env, still).diverged);
    domain->destroy(env);
}

static void images_are_reproducible_and_follow_every_option(void **state)
{
    const wk_domain *domain = *state;
    static uint8_t base[WK_IMAGE_BYTES], other[WK_IMAGE_BYTES];
    for (int i = -2; i < domain->n_options; i++) {
        int options[WK_OPTIONS_MAX] = {0};
        if (i >= 0) options[i] = 1;
        void *env = make_env(domain, options);
        reset_env(domain, env, domain->n_params > 1, 0.3, 4, 1);
        for (int step = 0; step < 40; step++)
            step_env(domain, env, (const float[WK_ACTION_MAX]){0.3f, -0.5f});
        domain->render(env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, i == -2 ? base : other);
        domain->destroy(env);
        if (i == -1) assert_memory_equal(base, other, sizeof base);
        if (i >= 0) assert_memory_not_equal(base, other, sizeof base);
    }
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_prestate(test, (void *)&wk_terrain_walker),                                   \
        cmocka_unit_test_prestate(test, (void *)&wk_terrain_hopper)

#define ALL(test)                                                                                  \
    BOTH(test), cmocka_unit_test_prestate(test, (void *)&wk_dmc_walker),                           \
        cmocka_unit_test_prestate(test, (void *)&wk_dmc_hopper)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixed_lattice_has_the_published_values),
        cmocka_unit_test(heights_meet_the_lattice_at_its_points_and_their_mean_halfway),
        cmocka_unit_test(heights_follow_the_cosine_between_lattice_points),
        cmocka_unit_test(amplitude_zero_is_flat_and_no_height_leaves_the_unit_interval),
        cmocka_unit_test(fresh_lattices_are_uniform_and_follow_their_stream),
        cmocka_unit_test(stairs_change_where_the_published_ones_do),
        BOTH(theta_outside_the_legal_worlds_is_refused_with_advice),
        BOTH(every_listed_theta_is_a_legal_world),
        ALL(a_step_takes_its_simulated_time),
        ALL(poses_start_uniform_in_the_joint_ranges_and_at_rest),
        ALL(a_breakdown_is_flagged_drawn_and_left_behind),
        ALL(images_are_reproducible_and_follow_every_option),
        BOTH(a_fresh_lattice_changes_the_ground_but_not_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
