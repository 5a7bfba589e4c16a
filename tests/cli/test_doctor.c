// waker doctor: names every part, tells what to do about absent ones, and is happy on a machine
// that can build the tests.
#include "support/check.h"
#include "support/program.h"

TEST_CASE(every_part_is_named_and_the_required_ones_work)
{
    program_prints("doctor", "processor", "memory", "MuJoCo", "domains", "zlib", "BLAS", "CUDA",
                   "device", "OSMesa", "Everything required works.");
}

TEST_CASE(the_json_can_be_parsed)
{
    program_result r = program_succeed("doctor --json");
    program_expect_json(r.out);
    expect_parts(r.out, "\"broken\": 0");
}

TEST_CASE(the_device_that_a_run_takes_is_named_with_the_reason)
{
    program_result r = program_succeed("doctor");
    bool gpu = strstr(r.out, "cuda:0 (") != NULL;
    expect_parts(r.out, gpu ? ", bf16): device auto, first of " : "cpu: device auto, ");
}

TEST_MAIN(program_setup, program_teardown)
