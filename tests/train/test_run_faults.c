// Whole runs when disks fail: every kind of file call, one call after another in strides, fails
// once while a run is begun or continued to its end. The error is clear, and the same command
// afterwards ends in the same bytes.
#include "support/faults.h"
#include "train/runs.h"
#include "train/train.h"

#define RUN "run-faults.tmp"
#define SAVED "run-faults-saved.tmp" // with a checkpoint to go on from
#define CALM "run-faults-calm.tmp"   // ended without faults

static wk_error err;

static wk_run_config a_run(int64_t steps)
{
    wk_run_config config = tiny_run();
    config.steps = steps;
    config.checkpoint_keep = 1;
    config.prefill = 30, config.snapshot_every = 40, config.log_every = 12;
    config.checkpoint_every_steps = 20;
    config.log_images_every = 0;
    snprintf(config.exploration, sizeof config.exploration, "random");
    return config;
}

static wk_status train(const char *directory, int64_t steps)
{
    wk_run_control control = {0};
    wk_run_end end;
    wk_run_config config = a_run(steps);
    err = (wk_error){0};
    return wk_train(&config, directory, NULL, &control, &end, &err);
}

enum { HALF = 48, ALL = 66 };

static int begin(void **state)
{
    (void)state;
    remove_tree(SAVED);
    remove_tree(CALM);
    assert_ok(train(SAVED, HALF));
    assert_int_equal(system("cp -r " SAVED " " CALM), 0);
    assert_ok(train(CALM, ALL));
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    remove_tree(RUN);
    remove_tree(SAVED);
    remove_tree(CALM);
    return 0;
}

// What has the name of a checkpoint is whole, whatever failed.
static void expect_whole_checkpoints(void)
{
    wk_steps steps = {0};
    wk_error said = {0};
    assert_ok(wk_checkpoint_list(RUN, &steps, &said));
    for (size_t i = 0; i < steps.count; i++)
        assert_ok(wk_checkpoint_verify(RUN, steps.items[i], &said));
    wk_array_free(&steps);
}

// Runs to the end with call `n` of a kind failing; false once there is no such call any more.
static bool train_with_fault(fault_call call, int n, int code)
{
    fault_arm(call, n, code);
    wk_status status = train(RUN, ALL);
    bool happened = fault_disarm(call);
    if (status != WK_OK && !*err.message) fail_msg("call %d of kind %d: no message", n, call);
    if (!happened) assert_ok(status);
    expect_whole_checkpoints();
    return happened;
}

static void sweep(const char *prepare, int stride, int least)
{
    int faults = 0;
    for (int k = 0; k < N_FAULT_FILES; k++) {
        // The first calls are those that open and decide; what follows repeats itself.
        for (int n = 0;; n += n < 9 ? 1 : fault_stride(stride)) {
            assert_int_equal(system(prepare), 0);
            bool more = train_with_fault(fault_files[k].call, n, fault_files[k].error);
            if (train(RUN, ALL) != WK_OK)
                fail_msg("call %d of kind %d, %s: %s", n, fault_files[k].call,
                         strerror(fault_files[k].error), err.message);
            same_learning(CALM, RUN);
            if (!more) break;
            faults++;
        }
    }
    assert_true(faults > least / FAULT_SPARSE);
    print_message("%d file calls failed\n", faults);
}

static void a_run_that_goes_on_loses_nothing(void **state)
{
    (void)state;
    sweep("rm -rf " RUN " && cp -r " SAVED " " RUN, 13, 100);
}

static void a_run_that_begins_can_be_begun_again(void **state)
{
    (void)state;
    sweep("rm -rf " RUN, 29, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_goes_on_loses_nothing),
        cmocka_unit_test(a_run_that_begins_can_be_begun_again),
    };
    return cmocka_run_group_tests(tests, begin, end_all);
}
