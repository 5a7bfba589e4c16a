// Adaptation when memory and disks fail: one allocation or file call after another, in strides,
// fails while one is continued. The error is clear, and the same call afterwards ends in the same
// bytes.
#include "run/weights.h"
#include "support/faults.h"
#include "train/adapt.h"
#include "train/runs.h"

#define RUN "adapt-faults.tmp"
#define SAVED "adapt-faults-saved.tmp" // half adapted
#define CALM "adapt-faults-calm.tmp"   // adapted without faults

enum { HALF = 2, ALL = 4, ALLOC_STRIDE = 7, FILE_STRIDE = 5 };

static wk_error err;
static char weights[128];

static wk_status adapt(const char *directory, int64_t updates)
{
    wk_run_control control = {0};
    wk_run_end end;
    wk_adapt_config config = {
        .directory = directory, .snapshot = WK_STEP_LAST, .tasks = "east", .updates = updates};
    err = (wk_error){0};
    return wk_adapt(&config, &control, &end, &err);
}

static int begin(void **state)
{
    (void)state;
    remove_tree(SAVED);
    wk_run_control control = {0};
    wk_run_end end;
    wk_run_config config = tiny_run();
    config.log_tensorboard = false;
    config.steps = 120;
    snprintf(config.exploration, sizeof config.exploration, "random");
    assert_ok(wk_train(&config, SAVED, NULL, &control, &end, &err));
    assert_ok(adapt(SAVED, HALF));
    assert_int_equal(system("rm -rf " CALM " && cp -r " SAVED " " CALM), 0);
    assert_ok(adapt(CALM, ALL));
    snprintf(weights, sizeof weights, "adapt/step-%012" PRIu64 "/weights.safetensors",
             newest_step(CALM));
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

static void restore_run(void)
{
    assert_int_equal(system("rm -rf " RUN " && cp -r " SAVED " " RUN), 0);
}

// Continues with call `n` of a kind failing; false once there is no such call any more.
static bool adapt_with_fault(fault_call call, int n, int code)
{
    fault_arm(call, n, code);
    wk_status status = adapt(RUN, ALL);
    bool happened = fault_disarm(call);
    if (status != WK_OK && !*err.message) fail_msg("call %d of kind %d: no message", n, call);
    if (!happened) assert_ok(status);
    return happened;
}

static void a_failing_disk_is_reported_and_costs_nothing(void **state)
{
    (void)state;
    int faults = 0;
    for (int k = 0; k < N_FAULT_FILES; k++) {
        bool more = true;
        for (int n = 0; more; n += fault_stride(FILE_STRIDE)) {
            restore_run();
            more = adapt_with_fault(fault_files[k].call, n, fault_files[k].error);
            assert_ok(adapt(RUN, ALL));
            same_file(CALM, RUN, weights, 0, 0);
            faults += more;
        }
    }
    assert_true(faults > 50 / FAULT_SPARSE);
    print_message("%d file calls failed\n", faults);
}

static void missing_memory_is_reported_and_costs_nothing(void **state)
{
    (void)state;
    int faults = 0;
    restore_run();
    while (adapt_with_fault(FAULT_ALLOC, faults * fault_stride(ALLOC_STRIDE), ENOMEM))
        faults++;
    assert_true(faults > 100 / FAULT_SPARSE);
    same_file(CALM, RUN, weights, 0, 0);
    print_message("%d allocations failed\n", faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_memory_is_reported_and_costs_nothing),
        cmocka_unit_test(a_failing_disk_is_reported_and_costs_nothing),
    };
    return cmocka_run_group_tests(tests, begin, end_all);
}
