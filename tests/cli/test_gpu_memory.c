// A learner that does not fit the GPU is refused before the run begins, with what it needs, what is
// free and what to do. Skipped where there is no GPU. A run that is not refused, on a GPU with room
// for the batch, ends by itself.
#include "cli/long_runs.h"
#include "support/backend.h"
#include "tensor/cuda/cuda.h"

// Fails unless a command ended with code 1 and named a need beyond what is free.
static void expect_refusal(program_result r)
{
    program_expect_error(r, 1, "smaller batch");
    const char *message = strstr(r.err, "the learner needs at least ");
    size_t need, available, all;
    assert_non_null(message);
    assert_int_equal(sscanf(message, "the learner needs at least %zu MiB", &need), 1);
    const char *rest = strstr(message, "), and ");
    assert_non_null(rest);
    assert_int_equal(sscanf(rest, "), and %zu of its %zu MiB are free", &available, &all), 2);
    assert_true(need > available);
    assert_true(available <= all);
    wk_cuda_device device;
    wk_error err = {0};
    assert_ok(wk_cuda_device_describe(0, &device, &err));
    assert_int_equal(all, device.memory >> 20);
}

TEST_CASE(training_is_refused_and_leaves_nothing_behind)
{
    expect_refusal(program_run("train --logdir run --configs terrain-walker paper --batch 1024 "
                               "--precision f32 --device cuda --quiet --minutes 0.01"));
    shell("! test -e run");
}

TEST_CASE(measuring_is_refused)
{
    expect_refusal(
        program_run("bench update --preset paper --batch 1024 --tasks 5 --iters 1 --device cuda "
                    "--precision f32"));
}

int main(void)
{
    if (wk_cuda_device_count() == 0) {
        puts("skipped: no GPU");
        return TEST_SKIPPED;
    }
    return run_all_tests(setup, teardown);
}
