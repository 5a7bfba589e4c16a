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

static void a_plug_in_is_measured_without_a_comparison(void **state)
{
    program_result r = program_run("bench env " BALL "--seconds 0.05 --envs 3 --threads 2");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "agent steps per second (3 environments in the vector)"));
    assert_non_null(strstr(r.out, "2 threads"));
    assert_non_null(strstr(r.out, "no comparison"));
    assert_non_null(strstr(r.err, "measuring"));
}

static void the_json_has_rates_that_fit_their_times(void **state)
{
    program_result r =
        program_run("bench env --domain terrain-hopper --seconds 0.05 --envs 2 --threads 1 --json");
    program_expect_success(r);
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
static void a_built_in_domain_is_compared_or_the_reason_is_reported(void **state)
{
    program_result r =
        program_run("bench env --domain terrain-hopper --seconds 0.05 --envs 1 --threads 1 --json");
    program_expect_success(r);
    if (strstr(r.out, "not_compared")) return;
    double theirs =
        number_after(r.out, "\"stock_physics_s\": ") + number_after(r.out, "\"opengl_image_s\": ");
    double ours = number_after(r.out, "\"physics_s\": ") + number_after(r.out, "\"image_s\": ");
    assert_near(number_after(r.out, "\"ratio\": "), theirs / ours, 1e-6 * theirs / ours);
}

static void wrong_worlds_are_refused(void **state)
{
    program_expect_error(program_run("bench env --domain terrain-hoper"), 2, "terrain-hopper");
    program_expect_error(program_run("bench env --plugin none.so"), 2, "none.so");
}

static void the_table_names_every_part(void **state)
{
    program_result r = program_run("bench update --iters 1 --threads 1");
    program_expect_success(r);
    static const char *const words[] = {
        "preset quick on 1 thread, 1 update\n",
        "reward-free update",
        "encoder",
        "recurrence",
        "decoder",
        "imagination",
        "ensemble reward",
        "policy",
        "optimiser",
        "MiB peak of the process",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(r.out, words[i])) fail_msg("no '%s' in: %s", words[i], r.out);
    assert_null(strstr(r.out, "task update"));
    assert_non_null(strstr(r.err, "measuring"));
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

static void the_parts_of_the_json_fill_the_update(void **state)
{
    program_result r = program_run("bench update --iters 1 --threads 1 --actions 2 --json");
    program_expect_success(r);
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

static void tasks_have_an_update_of_their_own(void **state)
{
    program_result r = program_run("bench update --iters 1 --threads 1 --tasks 2 --json");
    program_expect_success(r);
    const char *tasks = strstr(r.out, "\"task_update\"");
    assert_non_null(tasks);
    assert_true(number_after(tasks, "\"reward heads\": ") > 0);
    assert_true(number_after(tasks, "\"median_ms\": ") > 0);
    assert_true(number_after(tasks, "\"both_ms\": ") > number_after(tasks, "\"median_ms\": "));
}

static void random_exploration_has_no_policy_to_train(void **state)
{
    program_result r =
        program_run("bench update --iters 1 --threads 1 --exploration random --json");
    program_expect_success(r);
    assert_null(strstr(r.out, "\"policy\""));
}

static void wrong_names_are_refused_with_the_nearest(void **state)
{
    program_expect_error(program_run("bench update --preset smal"), 2, "small");
    program_expect_error(program_run("bench update --exploration randon"), 2, "random");
    program_expect_error(program_run("bench update --iters 0"), 2, "iters");
}

static void a_population_is_compared_with_one_run(void **state)
{
    program_result r = program_run("bench update --iters 1 --threads 1 --population 2");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "preset quick on 1 thread, 2 runs together, 1 update\n"));
    assert_non_null(strstr(r.out, "reward-free update of all runs: "));
    assert_non_null(strstr(r.out, " ms per run; one run alone: "));
    r = program_run("bench update --iters 1 --threads 1 --population 2 --tasks 1 --json");
    program_expect_success(r);
    program_expect_json(r.out);
    assert_int_equal((int)number_after(r.out, "\"population\": "), 2);
    double both = number_after(r.out, "\"both_ms\": ");
    assert_true(both > number_after(r.out, "\"median_ms\": ") * 0.5);
    assert_near(number_after(r.out, "\"per_run_ms\": "), both / 2, 0.01 * both);
    assert_near(number_after(r.out, "\"ratio\": "), both / number_after(r.out, "\"alone_ms\": "),
                0.01);
    double median = number_after(r.out, "\"median_ms\": "), sum = sum_of_parts(r.out);
    assert_true(sum > 0.5 * median && sum < 1.5 * median); // parts of both runs
    program_expect_error(program_run("bench update --population 65"), 2, "outside 1 to 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plug_in_is_measured_without_a_comparison),
        cmocka_unit_test(the_json_has_rates_that_fit_their_times),
        cmocka_unit_test(a_built_in_domain_is_compared_or_the_reason_is_reported),
        cmocka_unit_test(wrong_worlds_are_refused),
        cmocka_unit_test(the_table_names_every_part),
        cmocka_unit_test(the_parts_of_the_json_fill_the_update),
        cmocka_unit_test(tasks_have_an_update_of_their_own),
        cmocka_unit_test(a_population_is_compared_with_one_run),
        cmocka_unit_test(random_exploration_has_no_policy_to_train),
        cmocka_unit_test(wrong_names_are_refused_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
