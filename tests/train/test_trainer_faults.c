// Saving and resuming when memory and disks fail: every allocation and every file call of a save
// and of a resumption fails once in turn. The error is clear, and what was saved before still
// loads.
#include "support/faults.h"
#include "support/trainer.h"
#include "train/runs.h"

#define FOLDER "trainer-faults.tmp"
#define SAVED "trainer-faults-saved.tmp"

static wk_run_config config;

static int begin(void **state)
{
    (void)state;
    remove_tree(FOLDER);
    config = tiny_run();
    snprintf(config.exploration, sizeof config.exploration, "random");
    return 0;
}

static int end(void **state)
{
    (void)state;
    remove_tree(FOLDER);
    remove_tree(SAVED);
    return 0;
}

static wk_trainer *trained(int iterations)
{
    wk_error err = {0};
    wk_trainer *t = NULL;
    assert_ok(trainer_create(&config, FOLDER, &t, &err));
    for (int i = 0; i < iterations; i++)
        assert_ok(trainer_step(t, NULL, &err));
    return t;
}

static void remove_checkpoint(uint64_t step)
{
    char path[128];
    snprintf(path, sizeof path, FOLDER "/checkpoints/step-%012" PRIu64, step);
    remove_tree(path);
}

static uint64_t step_of(const wk_trainer *t)
{
    return wk_trainer_progress(t).steps;
}

// Saves with call `n` of a kind failing; false once there is no such call any more.
static bool save_with_fault(wk_trainer *t, uint64_t before, fault_call call, int n, int code)
{
    wk_error err = {0};
    remove_checkpoint(step_of(t));
    fault_arm(call, n, code);
    wk_status status = wk_trainer_save(t, &err);
    bool happened = fault_disarm(call);
    if (status != WK_OK && !*err.message) fail_msg("call %d of kind %d: no message", n, call);
    if (!happened) assert_ok(status);
    wk_error ignored = {0};
    if (wk_checkpoint_verify(FOLDER, before, &ignored) != WK_OK)
        fail_msg("call %d of kind %d spoilt the checkpoint before: %s", n, call, ignored.message);
    return happened;
}

static void a_failed_save_says_why_and_leaves_the_one_before(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_trainer *t = trained(40);
    assert_ok(wk_trainer_save(t, &err));
    uint64_t before = step_of(t);
    for (int i = 0; i < 3; i++)
        assert_ok(trainer_step(t, NULL, &err));
    int faults = 0;
    for (int k = 0; k < N_FAULT_FILES; k++)
        for (int n = 0; save_with_fault(t, before, fault_files[k].call, n, fault_files[k].error);
             n += fault_stride(1))
            faults++;
    for (int n = 0; save_with_fault(t, before, FAULT_ALLOC, n, ENOMEM); n += fault_stride(1))
        faults++;
    assert_true(faults > 40 / FAULT_SPARSE);
    // The run goes on, can be saved, and what it saved is good.
    for (int i = 0; i < 5; i++)
        assert_ok(trainer_step(t, NULL, &err));
    assert_ok(wk_trainer_save(t, &err));
    uint64_t last = step_of(t);
    trainer_destroy(t);
    t = trained(0);
    assert_int_equal(wk_trainer_resumed_from(t), last);
    trainer_destroy(t);
}

// Iterations up to the second update, with allocation `n` failing.
static bool step_with_fault(int n)
{
    wk_error err = {0};
    wk_trainer *t = trained(15);
    wk_status status = WK_OK;
    fault_arm(FAULT_ALLOC, n, ENOMEM);
    while (status == WK_OK && wk_trainer_progress(t).updates < 2)
        status = trainer_step(t, NULL, &err);
    bool happened = fault_disarm(FAULT_ALLOC);
    if (status != WK_OK && !*err.message) fail_msg("allocation %d: no message", n);
    if (!happened) assert_ok(status);
    trainer_destroy(t);
    return happened;
}

static void a_step_without_memory_says_so(void **state)
{
    (void)state;
    int n = 0;
    while (step_with_fault(n))
        n++;
    assert_true(n > 0);
    print_message("%d allocations\n", n);
}

static bool resume_with_fault(fault_call call, int n, int code, uint64_t newest)
{
    wk_error err = {0};
    wk_trainer *t = NULL;
    fault_arm(call, n, code);
    wk_status status = trainer_create(&config, FOLDER, &t, &err);
    bool happened = fault_disarm(call);
    if (status != WK_OK && !*err.message) fail_msg("call %d of kind %d: no message", n, call);
    if (status == WK_OK) assert_int_equal(wk_trainer_resumed_from(t), newest);
    trainer_destroy(t);
    return happened;
}

// The folder as it was when two checkpoints had been written.
static void restore_folder(void)
{
    assert_int_equal(system("rm -rf " FOLDER " && cp -r " SAVED " " FOLDER), 0);
}

// Two checkpoints in a fresh folder, and a copy of it; returns the step of the newer.
static uint64_t two_checkpoints(void)
{
    wk_error err = {0};
    remove_tree(FOLDER);
    wk_trainer *t = trained(40);
    assert_ok(wk_trainer_save(t, &err));
    for (int i = 0; i < 5; i++)
        assert_ok(trainer_step(t, NULL, &err));
    assert_ok(wk_trainer_save(t, &err));
    uint64_t newest = step_of(t);
    trainer_destroy(t);
    assert_int_equal(system("rm -rf " SAVED " && cp -r " FOLDER " " SAVED), 0);
    return newest;
}

static void a_failed_resumption_says_why_and_sets_nothing_aside(void **state)
{
    (void)state;
    int faults = 0;
    uint64_t newest = two_checkpoints();
    for (int k = 0; k < N_FAULT_FILES; k++) {
        bool more = true;
        for (int n = 0; more; n += fault_stride(1)) {
            restore_folder();
            more = resume_with_fault(fault_files[k].call, n, fault_files[k].error, newest);
            // A disk that fails for a moment does not make a checkpoint a damaged one.
            wk_trainer *t = trained(1);
            assert_int_equal(wk_trainer_resumed_from(t), newest);
            trainer_destroy(t);
            faults += more;
        }
    }
    assert_true(faults > 100 / FAULT_SPARSE);
    print_message("%d file calls failed\n", faults);
}

// Flips a bit of the saved log between the marks of the two checkpoints; returns the older's step.
static uint64_t damage_log(void)
{
    wk_error err = {0};
    wk_steps steps = {0};
    wk_checkpoint_summary at[2];
    assert_ok(wk_checkpoint_list(SAVED, &steps, &err));
    assert_int_equal(steps.count, 2);
    uint64_t older = steps.items[0];
    for (int i = 0; i < 2; i++)
        assert_ok(wk_checkpoint_summarise(SAVED, steps.items[i], &at[i], &err));
    wk_array_free(&steps);
    FILE *log = fopen(SAVED "/replay/replay-00000000.log", "r+b");
    assert_non_null(log);
    long place = (long)(at[0].replay.offset + at[1].replay.offset) / 2;
    fseek(log, place, SEEK_SET);
    int byte = fgetc(log);
    fseek(log, place, SEEK_SET);
    fputc(byte ^ 1, log);
    fclose(log);
    return older;
}

static void a_failed_step_back_to_the_checkpoint_before_can_be_made_again(void **state)
{
    (void)state;
    int faults = 0;
    two_checkpoints();
    uint64_t older = damage_log();
    for (int k = 0; k < N_FAULT_FILES; k++) {
        bool more = true;
        for (int n = 0; more; n += fault_stride(1)) {
            restore_folder();
            more = resume_with_fault(fault_files[k].call, n, fault_files[k].error, older);
            wk_trainer *t = trained(1);
            assert_int_equal(wk_trainer_resumed_from(t), older);
            trainer_destroy(t);
            assert_true(wk_path_exists(FOLDER "/replay/damaged-replay-00000000.log"));
            faults += more;
        }
    }
    assert_true(faults > 150 / FAULT_SPARSE);
    print_message("%d file calls failed\n", faults);
}

static void a_resumption_without_memory_says_so_and_loses_nothing(void **state)
{
    (void)state;
    uint64_t newest = two_checkpoints();
    int faults = 0;
    while (resume_with_fault(FAULT_ALLOC, faults, ENOMEM, newest))
        faults++;
    assert_true(faults > 100 / FAULT_SPARSE);
    print_message("%d allocations failed\n", faults);
    wk_trainer *t = trained(0);
    assert_int_equal(wk_trainer_resumed_from(t), newest);
    trainer_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_step_without_memory_says_so, begin, end),
        cmocka_unit_test_setup_teardown(a_resumption_without_memory_says_so_and_loses_nothing,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_failed_save_says_why_and_leaves_the_one_before, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_failed_resumption_says_why_and_sets_nothing_aside, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            a_failed_step_back_to_the_checkpoint_before_can_be_made_again, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
