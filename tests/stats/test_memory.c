// Every allocation of the statistics fails once: an error, and nothing leaks.
#include "stats/resamples.h"
#include "support/check.h"
#include "support/faults.h"
#include "waker/stats.h"

static const double values[] = {3, 1, 2, 5, 4, 6};
static const wk_scores scores = {.values = values, .runs = 3, .tasks = 2};
static const wk_bootstrap_config config = {.reps = 4, .size = 0.5};

static wk_status percentile(void)
{
    double out;
    return wk_stats_percentile(values, 6, 50, &out, NULL);
}

static wk_status cvar(void)
{
    double out;
    return wk_stats_cvar(values, 6, 0.5, WK_WORST_LOW, &out, NULL);
}

static wk_status cvar_curve(void)
{
    const double shares[] = {0.5, 1};
    wk_estimate out[2];
    return wk_stats_cvar_curve(values, 6, shares, 2, WK_WORST_LOW, &config, out, NULL);
}

static wk_status correlation(void)
{
    double out;
    return wk_stats_rank_correlation(values, values + 3, 3, &out, NULL);
}

static wk_status gap(void)
{
    double out;
    return wk_stats_optimality_gap(&scores, 4, &out, NULL);
}

static wk_status bootstrap(void)
{
    wk_estimate out;
    return wk_stats_bootstrap(&scores, WK_AGGREGATE_IQM, &config, &out, NULL);
}

static wk_status improvement(void)
{
    wk_estimate out;
    return wk_stats_improvement_bootstrap(&scores, &scores, &config, &out, NULL);
}

static wk_status kept_improvement(void)
{
    wk_estimate out;
    wk_resamples resamples = {0};
    wk_status status =
        wk_improvement_bootstrap_cached(&scores, &scores, &config, &resamples, &out, NULL);
    wk_resamples_free(&resamples);
    return status;
}

TEST_CASE(failing_allocations_are_reported_and_nothing_leaks)
{
    static wk_status (*const calls[])(void) = {
        percentile, cvar, cvar_curve, correlation, gap, bootstrap, improvement, kept_improvement};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        long allocation = 1;
        for (bool reached = true; reached; allocation++) {
            fault_sweep_arm((fault_plan){.call = allocation});
            wk_status status = calls[i]();
            reached = fault_sweep_disarm();
            assert_int_equal(status, reached ? WK_E_MEMORY : WK_OK);
            assert_int_equal(fault_sweep.blocks, 0);
        }
        assert_true(allocation > 2);
    }
}

TEST_MAIN(NULL, NULL)
