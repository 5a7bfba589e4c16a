// Results of runs read through the public API: rows of many runs, and curves of one.
#include "report/made_runs.h"
#include "waker/results.h"

static const made_run first = {"terrain-walker", "dr", "plan2explore", 1},
                      second = {"terrain-walker", "waker-m", "random", 2};
static const made_score scores[] = {{"walk", "dr", NULL, 700.25, 400.125, false},
                                    {"walk", "steep", NULL, 500, 200, false}};
static wk_error err;

TEST_CASE(every_score_is_a_row_that_says_whose_it_is)
{
    made_whole("runs/a", first, scores, 2);
    made_whole("runs/b", second, scores, 1);
    wk_results *results;
    assert_ok(wk_results_read("runs", &results, &err));
    assert_int_equal(results->count, 3);
    assert_int_equal(results->n_problems, 0);
    const wk_result *dr = &results->items[0], *steep = &results->items[1], *b = &results->items[2];
    assert_string_equal(dr->run, "runs/a");
    assert_string_equal(dr->domain, "terrain-walker");
    assert_string_equal(dr->curriculum, "dr");
    assert_string_equal(dr->exploration, "p2e");
    assert_int_equal(dr->seed, 1);
    assert_string_equal(dr->policy, "adapted");
    assert_int_equal(dr->step, 500000);
    assert_string_equal(dr->task, "walk");
    assert_string_equal(dr->set, "dr");
    assert_int_equal(dr->episodes, 100);
    assert_near(dr->mean, 700.25, 0);
    assert_near(dr->worst_tenth, 400.125, 0);
    assert_string_equal(steep->set, "steep");
    assert_string_equal(b->run, "runs/b");
    assert_string_equal(b->exploration, "random");
    wk_results_free(results);
}

TEST_CASE(one_measurement_in_two_files_is_one_row)
{
    made_whole("twice", first, scores, 2);
    made_eval_of("twice", &first, "adapted", 500000, (made_sample){100, 0, "-0123abcd"}, scores, 1);
    wk_results *results;
    assert_ok(wk_results_read("twice", &results, &err));
    assert_int_equal(results->count, 2);
    wk_results_free(results);
    made_eval_of("twice", &first, "adapted", 500000, (made_sample){100, 1, "-0123abcd"}, scores, 1);
    assert_ok(wk_results_read("twice", &results, &err)); // of another sample
    assert_int_equal(results->count, 3);
    wk_results_free(results);
}

TEST_CASE(what_is_left_out_is_said)
{
    made_whole("torn", first, scores, 2);
    made_file("torn/eval/adapted-000000000007.json", "{\"format\": ");
    wk_results *results;
    assert_ok(wk_results_read("torn", &results, &err));
    assert_int_equal(results->count, 2);
    assert_int_equal(results->n_problems, 1);
    assert_non_null(strstr(results->problems[0], "adapted-000000000007.json"));
    wk_results_free(results);
    wk_results_free(NULL);
    assert_refused(wk_results_read("nowhere", &results, &err), WK_E_NOT_FOUND, "does not exist");
}

// The last line is just being written; a number that was not finite is null in the file.
TEST_CASE(a_curve_is_one_metric_over_the_steps)
{
    made_file("log/metrics.jsonl", "%s",
              "{\"step\": 20, \"agent_step\": 10, \"train/model_loss\": 4.5, \"other\": 1}\n"
              "{\"step\": 24, \"agent_step\": 12, \"other\": 2}\n"
              "{\"step\": 40, \"agent_step\": 20, \"train/model_loss\": null}\n"
              "{\"step\": 60, \"agent_step\": 30, \"train/mod");
    wk_curve curve = {0};
    assert_ok(wk_curve_read("log", "train/model_loss", &curve, &err));
    assert_int_equal(curve.count, 2);
    assert_int_equal(curve.steps[0], 10);
    assert_near(curve.values[0], 4.5, 0);
    assert_int_equal(curve.steps[1], 20);
    assert_true(isnan(curve.values[1]));
    wk_curve_free(&curve);
    assert_null(curve.steps);
    wk_curve_free(&curve);
    assert_refused(wk_curve_read("log", "train/lost", &curve, &err), WK_E_NOT_FOUND,
                   "no line of 'log/metrics.jsonl' has 'train/lost'");
    assert_refused(wk_curve_read("nowhere", "fps", &curve, &err), WK_E_NOT_FOUND, "nowhere");
    made_file("bad/metrics.jsonl", "%s", "{\"agent_step\": 1, \"fps\": 2}\n{\"fps\": x}\n");
    assert_refused(wk_curve_read("bad", "fps", &curve, &err), WK_E_FORMAT, "line 2");
}

TEST_MAIN(made_setup, made_teardown)
