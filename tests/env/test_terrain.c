// What both terrain domains promise: θ, timing, starts, exact continuation, options, break-downs;
// some of it all planar robots do.
#include "env/domains/domains.h"
#include "support/terrain.h"

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

static void a_step_takes_its_simulated_time(void **state)
{
    const wk_domain *domain = *state;
    void *env = make_env(domain, default_options);
    reset_env(domain, env, 0.5, 1, 1, 0);
    wk_outcome out = {0};
    domain->step(env, (const float[WK_ACTION_MAX]){0}, &out);
    double *numbers = saved_numbers(domain, env);
    assert_near(numbers[0], domain->step_seconds, 1e-12);
    assert_int_equal(domain->episode_steps * domain->action_repeat, 1000);
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
    const bool walker = domain == &wk_terrain_walker;
    const double(*ranges)[2] = walker ? walker_ranges : hopper_ranges;
    const int joints = walker ? 9 : 7;
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
    size_t pose = (domain == &wk_terrain_walker ? 9 : 7) * sizeof(double);
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

static void a_breakdown_is_flagged_and_reset_recovers(void **state)
{
    const wk_domain *domain = *state;
    const int joints = domain == &wk_terrain_walker ? 9 : 7;
    void *env = make_env(domain, default_options);
    reset_env(domain, env, 0.5, 1, 1, 0);
    double *numbers = saved_numbers(domain, env);
    for (int j = 0; j < joints; j++)
        numbers[1 + joints + j] = j % 2 ? 9e9 : -9e9;
    assert_ok(domain->load(env, numbers, domain->state_size(env), &err));
    wk_outcome out = {0};
    domain->step(env, (const float[WK_ACTION_MAX]){0}, &out);
    assert_true(out.diverged);
    numbers[3] = NAN;
    assert_refused(domain->load(env, numbers, domain->state_size(env), &err), WK_E_FORMAT,
                   "finite");
    free(numbers);
    reset_env(domain, env, 0.5, 1, 1, 0);
    out = (wk_outcome){0};
    domain->step(env, (const float[WK_ACTION_MAX]){0}, &out);
    assert_false(out.diverged);
    domain->destroy(env);
}

// The image 20 steps into an episode.
static void draw_after_steps(const wk_domain *domain, const int *options, double length,
                             uint8_t *rgb)
{
    void *env = make_env(domain, options);
    reset_env(domain, env, 1, length, 4, 1);
    for (int i = 0; i < 20; i++) {
        wk_outcome out = {0};
        domain->step(env, (const float[WK_ACTION_MAX]){0.3f, -0.5f}, &out);
    }
    domain->render(env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, rgb);
    domain->destroy(env);
}

static void images_are_reproducible_and_follow_theta_and_options(void **state)
{
    const wk_domain *domain = *state;
    const int no_shadows[WK_OPTIONS_MAX] = {0, 1, 0}, one_sample[WK_OPTIONS_MAX] = {0, 0, 1};
    static uint8_t base[WK_IMAGE_BYTES], other[WK_IMAGE_BYTES];
    draw_after_steps(domain, default_options, 0.3, base);
    draw_after_steps(domain, default_options, 0.3, other);
    assert_memory_equal(base, other, sizeof base);
    draw_after_steps(domain, default_options, 0.8, other);
    assert_memory_not_equal(base, other, sizeof base);
    draw_after_steps(domain, no_shadows, 0.3, other);
    assert_memory_not_equal(base, other, sizeof base);
    draw_after_steps(domain, one_sample, 0.3, other);
    assert_memory_not_equal(base, other, sizeof base);
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
        BOTH(theta_outside_the_legal_worlds_is_refused_with_advice),
        BOTH(every_listed_theta_is_a_legal_world),
        ALL(a_step_takes_its_simulated_time),
        BOTH(poses_start_uniform_in_the_joint_ranges_and_at_rest),
        BOTH(a_fresh_lattice_changes_the_ground_but_not_the_start),
        BOTH(a_breakdown_is_flagged_and_reset_recovers),
        BOTH(images_are_reproducible_and_follow_theta_and_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
