// waker bench env and bench update: they measure and say so; numbers are only checked for
// plausibility.
#include "support/check.h"
#include "support/program.h"
#include <stdlib.h>

#define BALL "--plugin " WAKER_BINARY_DIR "/tests/plugins/ball.so "

static double number_after(const char *text, const char *key)
{
    const char *found = strstr(text, key);
    if (!found) fail_msg("no %s in: %s", key, text);
    return strtod(found + strlen(key), NULL);
}

TEST_CASE(a_plug_in_is_measured_without_a_comparison)
{
    program_result r = program_succeed("bench env " BALL "--seconds 0.05 --envs 3 --threads 2");
    expect_parts(r.out, "agent steps per second (3 environments in the vector)", "2 threads",
                 "no comparison");
    expect_parts(r.err, "measuring");
}

TEST_CASE(the_json_has_rates_that_fit_their_times)
{
    program_result r = program_succeed(
        "bench env --domain terrain-hopper --seconds 0.05 --envs 2 --threads 1 --json");
    program_expect_json(r.out);
    double physics = number_after(r.out, "\"physics_s\": ");
    double image = number_after(r.out, "\"image_s\": ");
    assert_true(physics > 0 && image > 0);
    assert_near(number_after(r.out, "\"physics_steps_per_s\": ") * physics, 1, 1e-9);
    assert_near(number_after(r.out, "\"image_steps_per_s\": ") * (physics + image), 1, 1e-9);
    assert_int_equal((int)number_after(r.out, "\"envs\": "), 2);
    assert_true(number_after(r.out, "\"worlds\": ") >= 3);
    assert_true(number_after(r.out, "\"bytes_per_env\": ") > 0);
}

// Where OSMesa is missing the reason is given instead.
TEST_CASE(a_built_in_domain_is_compared_or_the_reason_is_reported)
{
    program_result r = program_succeed(
        "bench env --domain terrain-hopper --seconds 0.05 --envs 1 --threads 1 --json");
    if (strstr(r.out, "not_compared")) return;
    double theirs =
        number_after(r.out, "\"stock_physics_s\": ") + number_after(r.out, "\"opengl_image_s\": ");
    double ours = number_after(r.out, "\"physics_s\": ") + number_after(r.out, "\"image_s\": ");
    assert_near(number_after(r.out, "\"ratio\": "), theirs / ours, 1e-6 * theirs / ours);
}

TEST_CASE(the_table_names_every_part)
{
    program_result r = program_succeed("bench update --iters 1 --threads 1");
    expect_parts(r.out, "preset quick on 1 thread, 1 update\n", "reward-free update", "encoder",
                 "recurrence", "decoder", "imagination", "ensemble reward", "policy", "optimiser",
                 "MiB peak of the process");
    assert_null(strstr(r.out, "task update"));
    expect_parts(r.err, "measuring");
}

static double sum_of_parts(const char *json)
{
    static const char *const parts[] = {
        "\"encoder\": ", "\"recurrence\": ",      "\"decoder\": ",  "\"imagination\": ",
        "\"policy\": ",  "\"ensemble reward\": ", "\"ensemble\": ", "\"optimiser\": "};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double ms = number_after(json, parts[i]);
        assert_true(ms > 0);
        sum += ms;
    }
    return sum;
}

TEST_CASE(the_parts_of_the_json_fill_the_update)
{
    program_result r = program_succeed("bench update --iters 1 --threads 1 --actions 2 --json");
    program_expect_json(r.out);
    double median = number_after(r.out, "\"median_ms\": ");
    assert_true(number_after(r.out, "\"least_ms\": ") <= median);
    // What is not in a part: uploading the batch, and the loop over the nodes.
    double sum = sum_of_parts(r.out);
    assert_true(sum <= median && sum > 0.7 * median);
    assert_int_equal((int)number_after(r.out, "\"actions\": "), 2);
    assert_int_equal((int)number_after(r.out, "\"threads\": "), 1);
    double state_bytes = number_after(r.out, "\"state_bytes\": ");
    double planned = number_after(r.out, "\"planned_bytes\": ");
    assert_true(state_bytes > 1e6 && planned > 1e6);
    // Pages that no run has touched are planned but not resident.
    assert_true(number_after(r.out, "\"peak_resident_bytes\": ") > state_bytes);
}

TEST_CASE(tasks_have_an_update_of_their_own)
{
    program_result r = program_succeed("bench update --iters 1 --threads 1 --tasks 2 --json");
    const char *tasks = strstr(r.out, "\"task_update\"");
    assert_non_null(tasks);
    assert_true(number_after(tasks, "\"reward heads\": ") > 0);
    assert_true(number_after(tasks, "\"median_ms\": ") > 0);
    assert_true(number_after(tasks, "\"both_ms\": ") > number_after(tasks, "\"median_ms\": "));
}

TEST_CASE(random_exploration_has_no_policy_to_train)
{
    program_result r =
        program_succeed("bench update --iters 1 --threads 1 --exploration random --json");
    assert_null(strstr(r.out, "\"policy\""));
}

TEST_CASE(wrong_names_are_refused_with_the_nearest)
{
    program_refuses("bench env --domain terrain-hoper", "terrain-hopper");
    program_refuses("bench env --plugin none.so", "none.so");
    program_refuses("bench update --preset smal", "small");
    program_refuses("bench update --exploration randon", "random");
    program_refuses("bench update --iters 0", "iters");
}

TEST_CASE(a_population_is_compared_with_one_run)
{
    program_prints("bench update --iters 1 --threads 1 --population 2",
                   "preset quick on 1 thread, 2 runs together, 1 update\n",
                   "reward-free update of all runs: ", " ms per run; one run alone: ");
    program_result r =
        program_succeed("bench update --iters 1 --threads 1 --population 2 --tasks 1 --json");
    program_expect_json(r.out);
    assert_int_equal((int)number_after(r.out, "\"population\": "), 2);
    double both = number_after(r.out, "\"both_ms\": ");
    assert_true(both > number_after(r.out, "\"median_ms\": ") * 0.5);
    assert_near(number_after(r.out, "\"per_run_ms\": "), both / 2, 0.01 * both);
    assert_near(number_after(r.out, "\"ratio\": "), both / number_after(r.out, "\"alone_ms\": "),
                0.01);
    double median = number_after(r.out, "\"median_ms\": "), sum = sum_of_parts(r.out);
    assert_true(sum > 0.5 * median && sum < 1.5 * median); // parts of both runs
    program_refuses("bench update --population 65", "outside 1 to 64");
}

TEST_MAIN(program_setup, program_teardown)
