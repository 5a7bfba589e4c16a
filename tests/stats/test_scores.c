// The statistics on cases worked out by hand: tails that are no whole number, ties, ragged
// matrices, refusals, repeatability.
#include "stats/resamples.h"
#include "support/check.h"
#include "waker/stats.h"

TEST_CASE(cvar_of_a_hundred_scores_is_the_mean_of_the_ten_worst)
{
    wk_error err = {0};
    double scores[100], low, high;
    for (int i = 0; i < 100; i++)
        scores[i] = (i * 37) % 100; // 0 ... 99 in another order
    assert_ok(wk_stats_cvar(scores, 100, 0.1, WK_WORST_LOW, &low, &err));
    assert_ok(wk_stats_cvar(scores, 100, 0.1, WK_WORST_HIGH, &high, &err));
    assert_near(low, 4.5, 0);
    assert_near(high, 94.5, 0);
}

TEST_CASE(a_tail_is_rounded_up_to_whole_values)
{
    assert_int_equal(wk_stats_tail(100, 0.1), 10);
    assert_int_equal(wk_stats_tail(24, 0.1), 3);
    assert_int_equal(wk_stats_tail(1, 0.01), 1);
    assert_int_equal(wk_stats_tail(7, 1), 7);
    // 100 * 0.07 and 100 * 0.29 are not whole in binary.
    assert_int_equal(wk_stats_tail(100, 0.07), 7);
    assert_int_equal(wk_stats_tail(100, 0.29), 29);
    assert_int_equal(wk_stats_tail(0, 0.5), 0);
    assert_int_equal(wk_stats_tail(5, 0), 0);
    assert_int_equal(wk_stats_tail(5, 1.5), 0);
    assert_int_equal(wk_stats_tail(5, NAN), 0);
}

TEST_CASE(cvar_refuses_what_has_no_tail)
{
    wk_error err = {0};
    double out, scores[] = {1, NAN, 2};
    assert_refused(wk_stats_cvar(scores, 0, 0.1, WK_WORST_LOW, &out, &err), WK_E_INPUT,
                   "at least 1");
    assert_refused(wk_stats_cvar(scores, 3, 0.1, WK_WORST_LOW, &out, &err), WK_E_INPUT,
                   "value 2 of 3");
    assert_refused(wk_stats_cvar(scores, 1, 0, WK_WORST_LOW, &out, &err), WK_E_INPUT, "fraction");
    assert_refused(wk_stats_cvar(scores, 1, 1.5, WK_WORST_LOW, &out, &err), WK_E_INPUT, "fraction");
}

TEST_CASE(the_standard_deviation_is_the_population_one)
{
    double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    assert_near(wk_stats_sd(values, 8), 2, 0);
    assert_near(wk_stats_sd(values, 1), 0, 0);
    assert_true(isnan(wk_stats_sd(values, 0)));
}

TEST_CASE(a_constant_list_has_no_rank_correlation)
{
    wk_error err = {0};
    double x[] = {1, 2, 3}, flat[] = {4, 4, 4}, ties[] = {1, 2, 2}, out;
    assert_ok(wk_stats_rank_correlation(x, flat, 3, &out, &err));
    assert_true(isnan(out));
    // Ranks 1, 2.5, 2.5: covariance 1.5, variances 2 and 1.5.
    assert_ok(wk_stats_rank_correlation(x, ties, 3, &out, &err));
    assert_near(out, 1.5 / sqrt(2 * 1.5), 1e-15);
    assert_refused(wk_stats_rank_correlation(x, ties, 1, &out, &err), WK_E_INPUT, "at least 2");
}

static const char *const tasks[] = {"walk", "run"};

TEST_CASE(a_missing_cell_is_refused_by_run_and_task)
{
    wk_error err = {0};
    double values[] = {1, 2, 3, NAN}, out;
    wk_scores scores = {
        .values = values, .runs = 2, .tasks = 2, .name = "waker-m", .task_names = tasks};
    assert_refused(wk_stats_aggregate(&scores, WK_AGGREGATE_IQM, &out, &err), WK_E_INPUT,
                   "waker-m: the score of run 2 on task 'run' is missing");
    assert_refused(wk_stats_aggregate(&scores, (wk_aggregate)99, &out, &err), WK_E_INPUT,
                   "there is no aggregate 99");
    values[3] = INFINITY;
    assert_refused(wk_scores_check(&scores, &err), WK_E_INPUT, "infinite");
    scores.runs = 0;
    assert_refused(wk_scores_check(&scores, &err), WK_E_INPUT, "0 runs by 2 tasks");
}

TEST_CASE(other_tasks_are_refused_and_swapped_axes_hinted_at)
{
    wk_error err = {0};
    static const char *const others[] = {"walk", "flip"};
    double values[12] = {0}, out;
    wk_scores x = {.values = values, .runs = 2, .tasks = 3, .name = "x"},
              y = {.values = values, .runs = 2, .tasks = 4, .name = "y"};
    assert_refused(wk_stats_improvement(&x, &y, &out, &err), WK_E_INPUT, "are the axes swapped?");
    y.runs = 3;
    assert_refused(wk_stats_improvement(&x, &y, &out, &err), WK_E_INPUT,
                   "x has 2 runs by 3 tasks and y has 3 by 4");
    x.tasks = y.tasks = 2;
    x.task_names = tasks;
    y.task_names = others;
    assert_refused(wk_stats_improvement(&x, &y, &out, &err), WK_E_INPUT,
                   "column 2 is task 'run' for x and task 'flip' for y");
}

TEST_CASE(tasks_may_have_different_numbers_of_runs)
{
    wk_error err = {0};
    // Walk: 1, 2, 3 against 2; run: 5 against 4, 5, 6.
    const double x_values[] = {1, 5, 2, NAN, 3, NAN}, y_values[] = {2, 4, NAN, 5, NAN, 6};
    const size_t x_runs[] = {3, 1}, y_runs[] = {1, 3};
    wk_scores x = {x_values, 3, 2, x_runs, "x", tasks}, y = {y_values, 3, 2, y_runs, "y", tasks};
    double out;
    assert_ok(wk_stats_improvement(&x, &y, &out, &err));
    assert_near(out, 0.5, 0); // (1 + 0.5) / 3 for both
    assert_ok(wk_stats_aggregate(&x, WK_AGGREGATE_MEAN, &out, &err));
    assert_near(out, 3.5, 0); // of 2 and 5
    wk_bootstrap_config config = {.reps = 200, .size = 0.9};
    wk_estimate e;
    assert_ok(wk_stats_improvement_bootstrap(&x, &y, &config, &e, &err));
    assert_true(e.low < 0.5 && e.high > 0.5);
}

// Whatever shape, seed or number of resamples the comparison before had.
TEST_CASE(kept_draws_give_the_intervals_of_draws_of_their_own)
{
    enum { RUNS = 5, TASKS = 4 };
    wk_error err = {0};
    double values[4][RUNS * TASKS];
    for (int i = 0; i < 4 * RUNS * TASKS; i++)
        values[i / (RUNS * TASKS)][i % (RUNS * TASKS)] = sin(i);
    const size_t fewer[] = {5, 2, 3, 5}, others[] = {5, 2, 4, 5};
    const size_t *const shapes[] = {NULL, NULL, fewer, others, NULL};
    const wk_bootstrap_config configs[] = {{.reps = 300, .size = 0.95},
                                           {.reps = 300, .size = 0.95, .seed = 1},
                                           {.reps = 200, .size = 0.95}};
    wk_resamples resamples = {0};
    for (int c = 0; c < 3; c++)
        for (int s = 0; s < 5; s++)
            for (size_t n = TASKS; n >= TASKS - 1; n--) {
                wk_scores x = {.values = values[s % 4], .runs = RUNS, .tasks = n};
                wk_scores y = {.values = values[(s + 1) % 4], .runs = RUNS, .tasks = n};
                x.runs_of = shapes[s];
                y.runs_of = shapes[4 - s];
                wk_estimate own, kept;
                assert_ok(wk_stats_improvement_bootstrap(&x, &y, &configs[c], &own, &err));
                assert_ok(
                    wk_improvement_bootstrap_cached(&x, &y, &configs[c], &resamples, &kept, &err));
                assert_memory_equal(&own, &kept, sizeof own);
            }
    wk_resamples_free(&resamples);
}

TEST_CASE(a_seed_gives_the_same_interval_and_another_seed_another)
{
    wk_error err = {0};
    double values[20];
    for (int i = 0; i < 20; i++)
        values[i] = sin(i);
    wk_scores scores = {.values = values, .runs = 5, .tasks = 4};
    wk_bootstrap_config config = {.reps = 300, .size = 0.95, .seed = 1};
    wk_estimate a, b, c;
    assert_ok(wk_stats_bootstrap(&scores, WK_AGGREGATE_IQM, &config, &a, &err));
    assert_ok(wk_stats_bootstrap(&scores, WK_AGGREGATE_IQM, &config, &b, &err));
    config.seed = 2;
    assert_ok(wk_stats_bootstrap(&scores, WK_AGGREGATE_IQM, &config, &c, &err));
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(c.low != a.low && c.high != a.high && c.value == a.value);
}

TEST_CASE(one_run_has_an_interval_without_width)
{
    wk_error err = {0};
    double values[] = {0.25, 0.5};
    wk_scores scores = {.values = values, .runs = 1, .tasks = 2};
    wk_bootstrap_config config = {.reps = 50, .size = 0.95};
    wk_estimate e;
    assert_ok(wk_stats_bootstrap(&scores, WK_AGGREGATE_MEAN, &config, &e, &err));
    assert_near(e.low, 0.375, 0);
    assert_near(e.high, 0.375, 0);
}

// The curve has the CVaR at each share; its interval is around it, narrower for more values, and
// that of resamples drawn and sorted one by one.
TEST_CASE(a_cvar_curve_has_the_values_and_intervals_of_its_shares)
{
    enum { SHARES = 4, MANY = 1000 };
    wk_error err = {0};
    const double shares[SHARES] = {0.01, 0.1, 0.5, 1};
    const wk_bootstrap_config config = {.reps = 400, .size = 0.95};
    double scores[MANY];
    wk_estimate few[SHARES], many[SHARES], high[SHARES];
    for (int i = 0; i < MANY; i++)
        scores[i] = (i * 37) % 101;
    assert_ok(wk_stats_cvar_curve(scores, 50, shares, SHARES, WK_WORST_LOW, &config, few, &err));
    assert_ok(wk_stats_cvar_curve(scores, MANY, shares, SHARES, WK_WORST_LOW, &config, many, &err));
    assert_ok(
        wk_stats_cvar_curve(scores, MANY, shares, SHARES, WK_WORST_HIGH, &config, high, &err));
    for (int k = 0; k < SHARES; k++) {
        double alone;
        assert_ok(wk_stats_cvar(scores, MANY, shares[k], WK_WORST_LOW, &alone, &err));
        assert_near(many[k].value, alone, 0);
        assert_true(many[k].low <= many[k].value && many[k].value <= many[k].high);
        assert_true(k == 0 || many[k].high - many[k].low < few[k].high - few[k].low);
        assert_true(k == 0 || many[k].value > many[k - 1].value);
        assert_true(k == 0 || high[k].value < high[k - 1].value);
    }
    // The mean of n values: about 1.96 standard errors to either side.
    double error = 1.96 * wk_stats_sd(scores, MANY) / sqrt(MANY);
    assert_near(many[SHARES - 1].high - many[SHARES - 1].value, error, 0.2 * error);
    assert_near(many[SHARES - 1].value - many[SHARES - 1].low, error, 0.2 * error);
    assert_refused(wk_stats_cvar_curve(scores, 0, shares, SHARES, WK_WORST_LOW, &config, few, &err),
                   WK_E_INPUT, "at least 1");
}

TEST_CASE(a_bootstrap_refuses_impossible_settings)
{
    wk_error err = {0};
    double values[] = {1, 2};
    wk_scores scores = {.values = values, .runs = 2, .tasks = 1};
    wk_bootstrap_config config = {.reps = 1, .size = 0.95};
    wk_estimate e;
    assert_refused(wk_stats_bootstrap(&scores, WK_AGGREGATE_MEAN, &config, &e, &err), WK_E_INPUT,
                   "at least 2 resamples");
    config = (wk_bootstrap_config){.reps = 10, .size = 1};
    assert_refused(wk_stats_improvement_bootstrap(&scores, &scores, &config, &e, &err), WK_E_INPUT,
                   "share between 0 and 1");
}

TEST_MAIN(NULL, NULL)
