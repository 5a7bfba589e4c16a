// The table of θ: clean grid values, probabilities, drawing and finding.
#include "support/check.h"
#include "support/toy_domain.h"

static wk_error err;

static wk_space *make(const wk_domain *domain, bool continuous)
{
    wk_space *space = NULL;
    assert_ok(wk_space_create(domain, continuous, &space, &err));
    return space;
}

TEST_CASE(the_default_grid_is_every_combination_in_clean_decimals)
{
    toy t = toy_make(TOY_SOUND);
    wk_space *space = make(&t.domain, false);
    const double gains[] = {0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5};
    assert_int_equal(wk_space_count(space), 27);
    for (size_t i = 0; i < 27; i++) {
        const double *theta = wk_space_params(space, i);
        assert_true(theta[0] == gains[i / 3] && theta[1] == (double)(i % 3));
        assert_near(wk_space_probability(space, i), 1.0 / 27, 1e-15);
    }
    wk_space_destroy(space);
    wk_space_destroy(NULL);
}

TEST_CASE(values_without_noise_are_left_alone)
{
    const wk_param params[] = {{"wide", "", 0, 4e9, 1e9, 0, 4e9, false},
                               {"narrow", "", 0, 1e-8, 2.5e-9, 0, 1, false}};
    for (int i = 0; i < 2; i++) {
        toy t = toy_make(TOY_SOUND);
        t.domain.n_params = 1;
        t.domain.params = &params[i];
        t.domain.check = NULL;
        wk_space *space = make(&t.domain, false);
        assert_int_equal(wk_space_count(space), 5);
        assert_true(wk_space_params(space, 1)[0] == params[i].step);
        assert_true(wk_space_params(space, 3)[0] == 3 * params[i].step);
        wk_space_destroy(space);
    }
}

static wk_status only_small_sums(const double *theta, wk_error *e)
{
    return theta[0] + theta[1] < 0.32 ? WK_OK : wk_fail(e, WK_E_INPUT, "too much");
}

static wk_status nothing_at_all(const double *theta, wk_error *e)
{
    return wk_fail(e, WK_E_INPUT, "never");
}

TEST_CASE(combinations_that_check_refuses_are_left_out)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.check = only_small_sums;
    wk_space *space = make(&t.domain, false);
    assert_int_equal(wk_space_count(space), 5); // 0.1 ... 0.3 with drift 0
    assert_near(wk_space_probability(space, 4), 0.2, 1e-15);
    wk_space_destroy(space);
    t.domain.check = nothing_at_all;
    assert_refused(wk_space_create(&t.domain, false, &space, &err), WK_E_INPUT, "every θ");
}

TEST_CASE(a_grid_too_fine_is_refused)
{
    toy t = toy_make(TOY_SOUND);
    const wk_param fine[] = {{"a", "", 0, 1, 1e-4, 0, 1, true}, {"b", "", 0, 1, 1e-3, 0, 1, true}};
    t.domain.params = fine;
    wk_space *space;
    assert_refused(wk_space_create(&t.domain, false, &space, &err), WK_E_INPUT, "combinations");
}

// A grid of four points, one of them impossible, listed by the domain itself.
static const double listed[4][2] = {{0.3, 1}, {0.1, 0}, {0.2, 2}, {0.5, 0}};
static const double chances[4] = {0.25, 0.5, 0.25, 0};

static size_t four(void)
{
    return 4;
}

static void listed_point(size_t i, double *theta, double *probability)
{
    memcpy(theta, listed[i], sizeof listed[i]);
    *probability = chances[i];
}

static toy with_listed_grid(void)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.grid_count = four;
    t.domain.grid_point = listed_point;
    return t;
}

TEST_CASE(picking_follows_the_probabilities)
{
    toy t = with_listed_grid();
    wk_space *space = make(&t.domain, false);
    const double u[] = {0, 0.2499, 0.25, 0.7499, 0.75, 1 - 0x1p-53};
    const size_t expected[] = {0, 0, 1, 1, 2, 2};
    for (int i = 0; i < 6; i++) {
        double theta[2];
        assert_int_equal(wk_space_pick(space, &u[i], theta), expected[i]);
        assert_memory_equal(theta, listed[expected[i]], sizeof theta);
    }
    wk_space_destroy(space);
}

TEST_CASE(sampling_is_pure_and_has_the_right_frequencies)
{
    enum { DRAWS = 20000 };
    toy t = with_listed_grid();
    wk_space *space = make(&t.domain, false);
    int counts[4] = {0};
    double theta[2], again[2];
    for (uint64_t episode = 0; episode < DRAWS; episode++)
        counts[wk_space_sample(space, 1, episode, theta)]++;
    for (int i = 0; i < 4; i++) // four standard deviations of a binomial
        assert_near(counts[i], DRAWS * chances[i], 4 * sqrt(DRAWS * chances[i] * (1 - chances[i])));
    size_t index = wk_space_sample(space, 2, 77, theta);
    assert_int_equal(wk_space_sample(space, 2, 77, again), index);
    assert_memory_equal(theta, again, sizeof theta);
    int differing = 0;
    for (uint64_t episode = 0; episode < 100; episode++)
        differing +=
            wk_space_sample(space, 1, episode, theta) != wk_space_sample(space, 2, episode, again);
    assert_true(differing > 20);
    wk_space_destroy(space);
}

TEST_CASE(a_continuous_space_places_continuous_params_only)
{
    toy t = toy_make(TOY_SOUND);
    wk_space *space = make(&t.domain, true);
    assert_true(wk_space_is_continuous(space));
    assert_int_equal(wk_space_count(space), 1024);
    const double u[] = {0.5, 0.25, 0.9};
    double theta[2];
    size_t near = wk_space_pick(space, u, theta);
    assert_near(theta[0], 0.1 + 0.25 * 0.4, 1e-12);
    assert_true(theta[1] == 2);
    assert_near(wk_space_params(space, near)[0], theta[0], 0.01);
    assert_true(wk_space_params(space, near)[1] == 2);
    bool off_grid = false;
    for (uint64_t episode = 0; episode < 100; episode++) {
        wk_space_sample(space, 3, episode, theta);
        assert_true(theta[0] >= 0.1 && theta[0] <= 0.5);
        assert_true(theta[1] == 0 || theta[1] == 1 || theta[1] == 2);
        off_grid |= wk_space_find(space, theta) == SIZE_MAX;
    }
    assert_true(off_grid);
    wk_space_destroy(space);
}

// The table fills the ranges evenly, and what is placed around a point stays near it.
TEST_CASE(the_points_of_a_continuous_space_stand_for_what_is_around_them)
{
    toy t = toy_make(TOY_SOUND);
    wk_space *space = make(&t.domain, true);
    int low = 0, kinds[3] = {0};
    for (size_t i = 0; i < 1024; i++) {
        const double *point = wk_space_params(space, i);
        double theta[2];
        low += point[0] < 0.2;
        kinds[(int)point[1]]++;
        for (int side = 0; side < 2; side++) {
            wk_space_place(space, i, (const double[]){side, side}, theta);
            assert_true(theta[0] >= 0.1 && theta[0] <= 0.5);
            assert_near(theta[0], point[0], 0.4 / 1024);
            assert_true(theta[1] == point[1]);
        }
    }
    assert_int_equal(low, 256);
    for (int k = 0; k < 3; k++)
        assert_near(kinds[k], 1024 / 3.0, 1);
    wk_space_destroy(space);
}

TEST_CASE(a_continuous_draw_that_check_refuses_falls_back_to_the_grid)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.check = only_small_sums;
    wk_space *space = make(&t.domain, true);
    const double u[] = {0, 0.99, 0};
    double theta[2];
    assert_int_equal(wk_space_pick(space, u, theta), 0);
    assert_memory_equal(theta, wk_space_params(space, 0), sizeof theta);
    wk_space_destroy(space);
}

TEST_CASE(a_listed_grid_has_no_continuous_form)
{
    toy t = with_listed_grid();
    wk_space *space;
    assert_refused(wk_space_create(&t.domain, true, &space, &err), WK_E_INPUT, "lists its θ");
}

TEST_CASE(finding_is_exact)
{
    toy t = toy_make(TOY_SOUND), own = with_listed_grid();
    wk_space *spaces[] = {make(&t.domain, false), make(&own.domain, false)};
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < wk_space_count(spaces[s]); i++)
            assert_int_equal(wk_space_find(spaces[s], wk_space_params(spaces[s], i)), i);
    const double beside[] = {nextafter(0.15, 1), 0}, minus_zero[] = {0.1, -0.0};
    assert_true(wk_space_find(spaces[0], beside) == SIZE_MAX);
    assert_int_equal(wk_space_find(spaces[0], minus_zero), 0);
    wk_space_destroy(spaces[0]);
    wk_space_destroy(spaces[1]);
}

static size_t none(void)
{
    return 0;
}

static size_t two(void)
{
    return 2;
}

static void same_point(size_t i, double *theta, double *probability)
{
    memcpy(theta, listed[0], sizeof listed[0]);
    *probability = 0.5;
}

static void negative_point(size_t i, double *theta, double *probability)
{
    memcpy(theta, listed[i], sizeof listed[i]);
    *probability = i ? 1.5 : -0.5;
}

static void illegal_point(size_t i, double *theta, double *probability)
{
    theta[0] = 0.1;
    theta[1] = i ? 77 : 0;
    *probability = 0.5;
}

TEST_CASE(faulty_listed_grids_are_refused)
{
    static const struct {
        size_t (*count)(void);
        void (*point)(size_t i, double *theta, double *probability);
        const char *message;
    } cases[] = {{none, listed_point, "grid_count"},
                 {two, listed_point, "sum to 0.75"},
                 {two, same_point, "same θ"},
                 {two, negative_point, "probability is -0.5"},
                 {two, illegal_point, "grid_point(1): 'drift' = 77"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        toy t = toy_make(TOY_SOUND);
        wk_space *space;
        t.domain.grid_count = cases[i].count;
        t.domain.grid_point = cases[i].point;
        assert_refused(wk_space_create(&t.domain, false, &space, &err), WK_E_INPUT,
                       cases[i].message);
    }
}

TEST_MAIN(NULL, NULL)
