// waker bench env: it measures and says so; numbers are only checked for plausibility.
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
    (void)state;
    program_result r = program_run("bench env " BALL "--seconds 0.05 --envs 3 --threads 2");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "agent steps per second (3 environments in the vector)"));
    assert_non_null(strstr(r.out, "2 threads"));
    assert_non_null(strstr(r.out, "no comparison"));
    assert_non_null(strstr(r.err, "measuring"));
}

static void the_json_has_rates_that_fit_their_times(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    program_expect_error(program_run("bench env --domain terrain-hoper"), 2, "terrain-hopper");
    program_expect_error(program_run("bench env --plugin none.so"), 2, "none.so");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plug_in_is_measured_without_a_comparison),
        cmocka_unit_test(the_json_has_rates_that_fit_their_times),
        cmocka_unit_test(a_built_in_domain_is_compared_or_the_reason_is_reported),
        cmocka_unit_test(wrong_worlds_are_refused),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
