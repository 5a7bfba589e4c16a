// Curricula on finite MDPs: the same for any number of threads, an oracle that gains, visits that
// add up, and the share of the gain.
#include "support/check.h"
#include "theory/curricula.h"

static wk_error err;

static wk_curricula_config small(const char *family)
{
    wk_curricula_config config = WK_CURRICULA_DEFAULT;
    assert_ok(wk_family_find(family, &config.family, &err));
    config.episodes = 400;
    config.rewards = 4;
    config.seeds = 4;
    return config;
}

static wk_curricula run(const wk_curricula_config *config, int threads)
{
    wk_pool *pool;
    wk_curricula result;
    assert_ok(wk_pool_create(threads, &pool, &err));
    assert_ok(wk_curricula_run(config, pool, &result, &err));
    wk_pool_destroy(pool);
    return result;
}

static uint64_t visits_of(const wk_curricula *c, int curriculum, size_t theta)
{
    return c->visits[(size_t)curriculum * wk_space_count(c->space) + theta];
}

TEST_CASE(results_do_not_depend_on_threads_and_regrets_keep_below_the_bounds)
{
    for (int kind = 0; kind < 2; kind++) {
        wk_curricula_config config = small("windy");
        config.episodes = 60;
        config.seeds = 2;
        config.shared = config.random = kind == 1;
        wk_curricula one = run(&config, 1), three = run(&config, 3);
        size_t points = (size_t)(WK_COMPARED * config.seeds) * WK_CURRICULA_POINTS;
        assert_memory_equal(one.points, three.points, points * sizeof *one.points);
        assert_memory_equal(one.visits, three.visits, WK_COMPARED * 24 * sizeof *one.visits);
        for (size_t i = 0; i < points; i++) {
            const wk_curricula_point *x = &one.points[i];
            assert_true(x->mean_regret <= x->max_regret && x->max_regret <= x->max_bound / 2);
            assert_true(x->max_bound > 0);
        }
        wk_curricula_free(&one);
        wk_curricula_free(&three);
    }
}

TEST_CASE(the_oracle_lowers_the_maximum_bound_and_waker_m_gets_a_share)
{
    wk_curricula_config config = small("chain");
    wk_curricula c = run(&config, 0);
    wk_curricula_summary s[WK_COMPARED];
    assert_ok(wk_curricula_summarise(&c, WK_MEASURE_MAX_BOUND, s, &err));
    assert_near(s[WK_COMPARE_DR].share, 0, 1e-12);
    assert_near(s[WK_COMPARE_ORACLE].share, 1, 1e-12);
    assert_true(s[WK_COMPARE_ORACLE].run < s[WK_COMPARE_DR].run);
    assert_true(s[WK_COMPARE_WAKER_M_KNOWN].share > 0.3);
    for (int k = 0; k < WK_COMPARED; k++)
        assert_true(s[k].share_low <= s[k].share && s[k].share <= s[k].share_high);
    assert_ok(wk_curricula_summarise(&c, WK_MEASURE_MEAN_REGRET, s, &err));
    for (int k = 0; k < WK_COMPARED; k++)
        assert_true(s[k].end >= 0 && s[k].end < s[k].run); // data helps
    wk_curricula_free(&c);
}

TEST_CASE(every_episode_is_a_visit_and_the_oracle_goes_where_it_is_hard)
{
    wk_curricula_config config = small("slippery");
    config.episodes = 300;
    wk_curricula c = run(&config, 0);
    uint64_t all = (uint64_t)(config.episodes * config.seeds);
    for (int k = 0; k < WK_COMPARED; k++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < 24; i++)
            sum += visits_of(&c, k, i);
        assert_int_equal(sum, all);
    }
    for (size_t i = 0; i < 24; i++) // evenly: 50 each
        assert_in_range(visits_of(&c, WK_COMPARE_DR, i), 25, 80);
    static const int seeking[] = {WK_COMPARE_WAKER_M, WK_COMPARE_WAKER_M_TRUE, WK_COMPARE_ORACLE};
    for (int k = 0; k < 3; k++) {
        uint64_t small_side = 0, large_side = 0; // 2 and 5 cells
        for (size_t i = 0; i < 6; i++) {
            small_side += visits_of(&c, seeking[k], i);
            large_side += visits_of(&c, seeking[k], 18 + i);
        }
        assert_true(2 * large_side > 3 * small_side);
    }
    wk_curricula_free(&c);
}

// Four episodes for each θ: a rule that knows the error only where it has been may not have been
// everywhere.
TEST_CASE(knowing_every_error_finds_the_unvisited)
{
    wk_curricula_config config = small("chain");
    config.episodes = 100;
    wk_curricula c = run(&config, 0);
    int missed[WK_COMPARED] = {0};
    for (int k = 0; k < WK_COMPARED; k++)
        for (int s = 0; s < config.seeds; s++)
            missed[k] += wk_curricula_at(&c, k, s, WK_CURRICULA_POINTS - 1)->max_bound > 1000;
    assert_true(missed[WK_COMPARE_ORACLE] < missed[WK_COMPARE_WAKER_M_TRUE]);
    wk_curricula_free(&c);
}

TEST_CASE(few_episodes_have_points_too)
{
    wk_curricula_config config = small("chain");
    config.episodes = 3;
    config.seeds = 1;
    wk_curricula c = run(&config, 1);
    wk_curricula_summary s[WK_COMPARED];
    assert_int_equal(c.episodes[0], 1);
    assert_int_equal(c.episodes[WK_CURRICULA_POINTS - 1], 3);
    for (int p = 0; p < WK_CURRICULA_POINTS; p++)
        assert_true(wk_curricula_at(&c, 0, 0, p)->max_bound > 0);
    assert_ok(wk_curricula_summarise(&c, WK_MEASURE_MAX_REGRET, s, &err));
    wk_curricula_free(&c);
}

// A result made by hand: of the run's mean DR has 4, the oracle 2, another 3 and 5.
TEST_CASE(the_share_is_that_of_the_oracles_gain)
{
    static const double means[WK_COMPARED] = {4, 3, 5, 2.5, 2.5, 2};
    wk_curricula_point points[WK_COMPARED * 2 * WK_CURRICULA_POINTS] = {0};
    wk_curricula c = {.config = {.seeds = 2}, .points = points};
    for (int i = 0; i < WK_COMPARED * 2 * WK_CURRICULA_POINTS; i++) {
        points[i].max_regret = means[i / (2 * WK_CURRICULA_POINTS)];
        points[i].max_bound = 1; // the oracle gains nothing
    }
    wk_curricula_summary s[WK_COMPARED];
    assert_ok(wk_curricula_summarise(&c, WK_MEASURE_MAX_REGRET, s, &err));
    assert_near(s[WK_COMPARE_WAKER_M].share, 0.5, 1e-12);
    assert_near(s[WK_COMPARE_WAKER_R].share, -0.5, 1e-12);
    assert_near(s[WK_COMPARE_WAKER_M].share_low, 0.5, 1e-12);
    assert_ok(wk_curricula_summarise(&c, WK_MEASURE_MAX_BOUND, s, &err));
    assert_true(isnan(s[WK_COMPARE_WAKER_M].share) && isnan(s[WK_COMPARE_ORACLE].share_high));
}

TEST_MAIN(NULL, NULL)
