// waker doctor: names every part, tells what to do about absent ones, and is happy on a machine
// that can build the tests.
#include "support/check.h"
#include "support/program.h"

static void every_part_is_named_and_the_required_ones_work(void **state)
{
    program_result r = program_run("doctor");
    program_expect_success(r);
    const char *const parts[] = {"processor", "memory", "MuJoCo", "domains", "zlib",
                                 "BLAS",      "CUDA",   "device", "OSMesa"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(r.out, parts[i]));
    assert_non_null(strstr(r.out, "Everything required works."));
}

static void the_json_can_be_parsed(void **state)
{
    program_result r = program_run("doctor --json");
    program_expect_success(r);
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"broken\": 0"));
}

static void the_device_that_a_run_takes_is_named_with_the_reason(void **state)
{
    program_result r = program_run("doctor");
    program_expect_success(r);
    bool gpu = strstr(r.out, "cuda:0 (") != NULL;
    assert_non_null(strstr(r.out, gpu ? ", bf16): device auto, first of " : "cpu: device auto, "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_named_and_the_required_ones_work),
        cmocka_unit_test(the_device_that_a_run_takes_is_named_with_the_reason),
        cmocka_unit_test(the_json_can_be_parsed),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
