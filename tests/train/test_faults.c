// Runs, adaptations and checkpoints when memory and disks fail: one call after another, every one
// or in strides, fails once while a run is begun, stepped, saved or continued. The error is clear,
// what was saved before still loads, and the same call afterwards ends in the same bytes.
#include "support/faults.h"
#include "support/trainer.h"
#include "train/adapt.h"
#include "train/runs.h"

#define RUN "faults.tmp"
#define SAVED "faults-saved.tmp" // what every fault begins with
#define CALM "faults-calm.tmp"   // ended without faults

static wk_error err;

// A piece of work that one call after another fails in.
typedef struct job {
    const char *name;         // of the test
    void (*begin)(void);      // makes what all faults share
    void (*prepare)(void);    // what one begins with
    wk_status (*work)(void);  // fills `err` when it fails
    void (*check)(void);      // what has to hold after each
    void (*end)(void);        // and after all; NULL: nothing more
    int file_stride;          // between file calls that fail; 0: none of them does
    int dense;                // so many at the beginning fail without strides
    int alloc_stride, faults; // the same of allocations; how many faults there are at least
} job;

static int fail_calls(const job *j, fault_call call, int code, int stride)
{
    int faults = 0;
    for (int n = 0;; n += n < j->dense ? 1 : fault_stride(stride), faults++) {
        j->prepare();
        err = (wk_error){0};
        fault_arm(call, n, code);
        wk_status status = j->work();
        bool happened = fault_disarm(call);
        if (status != WK_OK && (!*err.message || !happened))
            fail_msg("call %d of kind %d, %s: '%s'", n, call, strerror(code), err.message);
        j->check();
        if (!happened) return faults;
    }
}

static void every_fault_is_survived(void **state)
{
    const job *j = *state;
    int faults = 0;
    remove_tree(RUN);
    remove_tree(SAVED);
    remove_tree(CALM);
    j->begin();
    for (int k = 0; j->file_stride && k < N_FAULT_FILES; k++)
        faults += fail_calls(j, fault_files[k].call, fault_files[k].error, j->file_stride);
    if (j->alloc_stride) faults += fail_calls(j, FAULT_ALLOC, ENOMEM, j->alloc_stride);
    if (j->end) j->end();
    print_message("%d calls failed\n", faults);
    assert_true(faults > j->faults / FAULT_SPARSE);
    remove_tree(RUN);
    remove_tree(SAVED);
    remove_tree(CALM);
}

static void copy_saved(void)
{
    run_command("rm -rf " RUN " && cp -r " SAVED " " RUN);
}

// Whole runs.

enum { HALF = 48, ALL = 66 };

static wk_status train(const char *directory, int64_t steps)
{
    wk_run_control control = {0};
    wk_run_end end;
    wk_run_config config = tiny_run();
    config.steps = steps;
    config.checkpoint_keep = 1;
    config.prefill = 30, config.snapshot_every = 40, config.log_every = 12;
    config.checkpoint_every_steps = 20;
    config.log_images_every = 0;
    snprintf(config.exploration, sizeof config.exploration, "random");
    return wk_train(&config, directory, NULL, &control, &end, &err);
}

static void begin_run(void)
{
    assert_ok(train(SAVED, HALF));
    run_command("cp -r " SAVED " " CALM);
    assert_ok(train(CALM, ALL));
}

static void remove_run(void)
{
    remove_tree(RUN);
}

static wk_status train_run(void)
{
    return train(RUN, ALL);
}

// What has the name of a checkpoint is whole, whatever failed.
static void run_ends_as_the_calm_one(void)
{
    wk_steps steps = {0};
    assert_ok(wk_checkpoint_list(RUN, &steps, &err));
    for (size_t i = 0; i < steps.count; i++)
        assert_ok(wk_checkpoint_verify(RUN, steps.items[i], &err));
    wk_array_free(&steps);
    assert_ok(train(RUN, ALL));
    same_learning(CALM, RUN);
}

// Adaptations.

static char weights[128];

static wk_status adapt(const char *directory, int64_t updates)
{
    wk_run_control control = {0};
    wk_run_end end;
    wk_adapt_config config = {
        .directory = directory, .snapshot = WK_STEP_LAST, .tasks = "east", .updates = updates};
    return wk_adapt(&config, &control, &end, &err);
}

static void begin_adaptation(void)
{
    wk_run_config config = quiet_run();
    config.steps = 120;
    snprintf(config.exploration, sizeof config.exploration, "random");
    run_to_end(&config, SAVED);
    assert_ok(adapt(SAVED, 2));
    run_command("cp -r " SAVED " " CALM);
    assert_ok(adapt(CALM, 4));
    snprintf(weights, sizeof weights, "adapt/step-%012" PRIu64 "/weights.safetensors",
             newest_step(CALM));
}

static wk_status adapt_run(void)
{
    return adapt(RUN, 4);
}

static void adaptation_ends_as_the_calm_one(void)
{
    assert_ok(adapt(RUN, 4));
    same_file(CALM, RUN, weights, 0, 0);
}

// Checkpoints.

static wk_trainer *trainer; // that is stepped or saved
static uint64_t expected;   // step of the checkpoint that is resumed from

static wk_status open_trainer(void)
{
    wk_run_config config = tiny_run();
    snprintf(config.exploration, sizeof config.exploration, "random");
    return trainer_create(&config, RUN, &trainer, &err);
}

static uint64_t step_trainer(int iterations)
{
    for (int i = 0; i < iterations; i++)
        assert_ok(trainer_step(trainer, NULL, &err));
    return wk_trainer_progress(trainer).steps;
}

static void close_trainer(void)
{
    trainer_destroy(trainer);
    trainer = NULL;
}

static void open_fresh(void)
{
    assert_ok(open_trainer());
    step_trainer(15);
}

static wk_status step_twice(void)
{
    wk_status status = WK_OK;
    while (status == WK_OK && wk_trainer_progress(trainer).updates < 2)
        status = trainer_step(trainer, NULL, &err);
    return status;
}

static void begin_saving(void)
{
    assert_ok(open_trainer());
    expected = step_trainer(40);
    assert_ok(wk_checkpoints_save(&trainer->checkpoints, &err));
    step_trainer(3);
}

static void remove_checkpoint(void)
{
    run_command("rm -rf " RUN "/checkpoints/step-%012" PRIu64, wk_trainer_progress(trainer).steps);
}

static wk_status save(void)
{
    return wk_checkpoints_save(&trainer->checkpoints, &err);
}

static void the_one_before_is_whole(void)
{
    wk_error why = {0};
    if (wk_checkpoint_verify(RUN, expected, &why) != WK_OK)
        fail_msg("the checkpoint before is spoilt: %s", why.message);
}

static void resumes_as_expected(void)
{
    assert_ok(open_trainer());
    assert_int_equal(trainer->checkpoints.resumed_from, expected);
    step_trainer(1);
    close_trainer();
}

// The run goes on, can be saved, and what it saved is good.
static void end_saving(void)
{
    expected = step_trainer(5);
    assert_ok(save());
    close_trainer();
    resumes_as_expected();
}

static void begin_resuming(void)
{
    assert_ok(open_trainer());
    step_trainer(40);
    assert_ok(save());
    expected = step_trainer(5);
    assert_ok(save());
    close_trainer();
    run_command("cp -r " RUN " " SAVED);
}

// Flips a bit of the saved log between the marks of the two checkpoints.
static void begin_resuming_a_damaged_log(void)
{
    wk_steps steps = {0};
    wk_checkpoint_summary at[2];
    begin_resuming();
    assert_ok(wk_checkpoint_list(SAVED, &steps, &err));
    assert_int_equal(steps.count, 2);
    expected = steps.items[0];
    for (int i = 0; i < 2; i++)
        assert_ok(wk_checkpoint_summarise(SAVED, steps.items[i], &at[i], &err));
    wk_array_free(&steps);
    damage(SAVED "/replay/replay-00000000.log",
           (at[0].head.replay.offset + at[1].head.replay.offset) / 2);
}

static wk_status resume(void)
{
    wk_status status = open_trainer();
    if (status != WK_OK) return status;
    assert_int_equal(trainer->checkpoints.resumed_from, expected);
    close_trainer();
    return WK_OK;
}

static void resumes_from_the_older_one(void)
{
    resumes_as_expected();
    assert_true(wk_path_exists(RUN "/replay/damaged-replay-00000000.log"));
}

// The first calls of a run are those that open and decide; what follows repeats itself. A disk that
// fails for a moment does not make a checkpoint a damaged one.
static const job jobs[] = {
    {"a_run_that_goes_on_loses_nothing", begin_run, copy_saved, train_run, run_ends_as_the_calm_one,
     .file_stride = 13, .dense = 9, .faults = 100},
    {"a_run_that_begins_can_be_begun_again", begin_run, remove_run, train_run,
     run_ends_as_the_calm_one, .file_stride = 29, .dense = 9, .faults = 80},
    {"an_adaptation_that_goes_on_loses_nothing", begin_adaptation, copy_saved, adapt_run,
     adaptation_ends_as_the_calm_one, .file_stride = 5, .alloc_stride = 7, .faults = 150},
    {"a_step_without_memory_says_so", remove_run, open_fresh, step_twice, close_trainer,
     .alloc_stride = 1},
    {"a_failed_save_says_why_and_leaves_the_one_before", begin_saving, remove_checkpoint, save,
     the_one_before_is_whole, end_saving, .file_stride = 1, .alloc_stride = 1, .faults = 40},
    {"a_failed_resumption_says_why_and_sets_nothing_aside", begin_resuming, copy_saved, resume,
     resumes_as_expected, .file_stride = 1, .alloc_stride = 1, .faults = 200},
    {"a_failed_step_back_to_the_checkpoint_before_can_be_made_again", begin_resuming_a_damaged_log,
     copy_saved, resume, resumes_from_the_older_one, .file_stride = 1, .faults = 150},
};

// With an argument, the tests whose names match it: "*save*".
int main(int argc, char **argv)
{
    enum { COUNT = sizeof jobs / sizeof *jobs };
    struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = jobs[i].name,
                                       .test_func = every_fault_is_survived,
                                       .initial_state = (void *)&jobs[i]};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
