// Task policies from snapshots: the world model is left alone, later data is not looked at, the
// same bytes come out however often it is interrupted, and what cannot be done is said.
#include "run/saved_run.h"
#include "run/weights.h"
#include "train/adapt.h"
#include "train/runs.h"
#include <fcntl.h>
#include <sys/file.h>

#define ORIGIN "adapt-origin.tmp" // made once, copied for each test
#define A "adapt-a.tmp"
#define B "adapt-b.tmp"

static wk_error err;
static uint64_t first_step, last_step; // of ORIGIN's two snapshots

static int setup(void **state)
{
    (void)state;
    remove_tree(ORIGIN);
    wk_run_config config = quiet_run();
    run_to_end(&config, ORIGIN);
    uint64_t steps[8];
    assert_int_equal(weights_steps(ORIGIN, WK_WEIGHTS_SNAPSHOT, steps, 8), 2);
    first_step = steps[0];
    last_step = steps[1];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_tree(ORIGIN);
    return 0;
}

static int copy_runs(void **state)
{
    (void)state;
    remove_tree(A);
    remove_tree(B);
    return system("cp -r " ORIGIN " " A " && cp -r " ORIGIN " " B);
}

static int remove_copies(void **state)
{
    (void)state;
    remove_tree(A);
    remove_tree(B);
    return 0;
}

static wk_adapt_config both_tasks(const char *directory)
{
    return (wk_adapt_config){
        .directory = directory, .snapshot = WK_STEP_LAST, .tasks = "all", .updates = 30};
}

static wk_run_end adapt(const wk_adapt_config *config)
{
    wk_run_control control = {0};
    wk_run_end end = WK_RUN_INTERRUPTED;
    assert_ok(wk_adapt(config, &control, &end, &err));
    return end;
}

static void assert_not_adapted(const wk_adapt_config *config, wk_status status, const char *part)
{
    wk_run_control control = {0};
    wk_run_end end;
    assert_refused(wk_adapt(config, &control, &end, &err), status, part);
}

static const char *adapted_file(uint64_t step, const char *name, char out[128])
{
    snprintf(out, 128, "adapt/step-%012" PRIu64 "/%s", step, name);
    return out;
}

static void same_policies(const char *a, const char *b, uint64_t step)
{
    char name[128];
    same_file(a, b, adapted_file(step, "weights.safetensors", name), 0, 0);
    same_file(a, b, adapted_file(step, "metrics.jsonl", name), 0, 0);
}

static wk_safetensors *open_tensors(const char *run, wk_weights_kind kind, uint64_t step)
{
    char path[WK_PATH_MAX];
    wk_safetensors *file;
    wk_weights_path(run, (wk_weights_source){.kind = kind}, step, path);
    assert_ok(wk_safetensors_open(path, &file, &err));
    return file;
}

static void assert_same_tensor(const wk_safetensors *a, const wk_safetensors *b,
                               const wk_safetensors_spec *spec)
{
    const wk_safetensors_spec *other = wk_safetensors_find(b, spec->name);
    assert_non_null(other);
    size_t size = wk_safetensors_spec_bytes(spec);
    assert_int_equal(size, wk_safetensors_spec_bytes(other));
    char *x = malloc(size + 1), *y = malloc(size + 1);
    assert_ok(wk_safetensors_read(a, spec, x, &err));
    assert_ok(wk_safetensors_read(b, other, y, &err));
    if (memcmp(x, y, size) != 0) fail_msg("'%s' has changed", spec->name);
    free(x);
    free(y);
}

static void every_tensor_of_the_snapshot_is_left_as_it_was(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A);
    adapt(&config);
    wk_safetensors *before = open_tensors(A, WK_WEIGHTS_SNAPSHOT, last_step);
    wk_safetensors *after = open_tensors(A, WK_WEIGHTS_ADAPTED, last_step);
    for (size_t i = 0; i < wk_safetensors_count(before); i++)
        assert_same_tensor(before, after, wk_safetensors_at(before, i));
    assert_true(wk_safetensors_count(after) > wk_safetensors_count(before));
    assert_string_equal(wk_safetensors_metadata(after, "tasks"), "west,east");
    wk_safetensors_close(before);
    wk_safetensors_close(after);
    same_file(ORIGIN, A, "metrics.jsonl", 0, 0);
}

static void adapting_twice_gives_the_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A);
    config.threads = 1;
    assert_int_equal(adapt(&config), WK_RUN_FINISHED);
    config = both_tasks(B);
    config.threads = 2;
    assert_int_equal(adapt(&config), WK_RUN_FINISHED);
    same_policies(A, B, last_step);
}

static void another_seed_gives_other_policies(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A), other = both_tasks(B);
    uint64_t seed = 99;
    other.seed = &seed;
    adapt(&config);
    adapt(&other);
    char name[128], path[512], *x, *y;
    size_t x_size, y_size;
    adapted_file(last_step, "metrics.jsonl", name);
    snprintf(path, sizeof path, A "/%s", name);
    assert_ok(wk_file_read(path, 1 << 20, &x, &x_size, &err));
    snprintf(path, sizeof path, B "/%s", name);
    assert_ok(wk_file_read(path, 1 << 20, &y, &y_size, &err));
    assert_true(x_size != y_size || memcmp(x, y, x_size) != 0);
    free(x);
    free(y);
}

static void interrupted_again_and_again_it_ends_in_the_same_bytes(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A), pieces = both_tasks(B);
    adapt(&config);
    wk_run_end end = WK_RUN_INTERRUPTED;
    int stops = 0;
    for (; end != WK_RUN_FINISHED; stops++) {
        stopper s = {.checkpoints = 1};
        wk_run_control control = {.stop = &s.stop, .log = {count_checkpoints, &s, WK_LOG_DEBUG}};
        assert_ok(wk_adapt(&pieces, &control, &end, &err));
        assert_true(stops < 20);
    }
    assert_true(stops > 2);
    same_policies(A, B, last_step);
}

static void more_updates_go_on_where_fewer_ended(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A), longer = both_tasks(B);
    config.updates = 12;
    adapt(&config);
    config.updates = 30;
    adapt(&config);
    adapt(&longer);
    same_policies(A, B, last_step);
    config.updates = 20;
    assert_not_adapted(&config, WK_E_INPUT, "30 updates already");
    config.updates = 0; // as before: nothing left to do
    assert_int_equal(adapt(&config), WK_RUN_FINISHED);
    same_policies(A, B, last_step);
}

// The same snapshot of a run that ended there gives the same policies: what came later is not seen.
static void data_collected_after_the_snapshot_is_not_looked_at(void **state)
{
    (void)state;
    remove_tree(B);
    wk_run_config run = quiet_run();
    run.steps = (int64_t)first_step;
    run_to_end(&run, B);
    wk_adapt_config config = both_tasks(A), then = both_tasks(B);
    config.snapshot = (int64_t)first_step;
    adapt(&config);
    adapt(&then);
    same_policies(A, B, first_step);
    // With everything the run has now they are others.
    config.all_data = true;
    config.restart = true;
    adapt(&config);
    char path[512], *x, *y;
    size_t x_size, y_size;
    snprintf(path, sizeof path, A "/adapt/step-%012" PRIu64 "/weights.safetensors", first_step);
    assert_ok(wk_file_read(path, 1 << 24, &x, &x_size, &err));
    snprintf(path, sizeof path, B "/adapt/step-%012" PRIu64 "/weights.safetensors", first_step);
    assert_ok(wk_file_read(path, 1 << 24, &y, &y_size, &err));
    assert_true(x_size != y_size || memcmp(x, y, x_size) != 0);
    free(x);
    free(y);
}

static void a_run_goes_on_after_an_adaptation_as_if_there_had_been_none(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A);
    adapt(&config);
    wk_run_config run = quiet_run();
    run.steps = 500;
    run_to_end(&run, A);
    run_to_end(&run, B);
    same_end(A, B);
}

// What was interrupted goes on with the data it began with, though the run has gone on.
static void an_adaptation_of_all_data_keeps_to_the_data_it_began_with(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A), pieces = both_tasks(B);
    config.all_data = pieces.all_data = true;
    adapt(&config);
    pieces.updates = 10;
    adapt(&pieces);
    wk_run_config run = quiet_run();
    run.steps = 500;
    run_to_end(&run, B);
    pieces.snapshot = (int64_t)last_step;
    pieces.updates = 30;
    adapt(&pieces);
    same_policies(A, B, last_step);
}

static void another_configuration_in_the_same_place_is_refused_or_restarted(void **state)
{
    (void)state;
    uint64_t seed = 99;
    wk_adapt_config config = both_tasks(A), plain = both_tasks(B);
    config.tasks = "east";
    adapt(&config);
    config.tasks = "west";
    assert_not_adapted(&config, WK_E_INPUT, "tasks is east there and west now");
    config.tasks = "east";
    config.seed = &seed;
    assert_not_adapted(&config, WK_E_INPUT, "seed is 5 there and 99 now");
    config.seed = NULL;
    config.all_data = true;
    assert_not_adapted(&config, WK_E_INPUT, "without --all-data");
    config = both_tasks(A);
    config.restart = true;
    adapt(&config);
    adapt(&plain);
    same_policies(A, B, last_step);
}

static void a_second_process_is_refused(void **state)
{
    (void)state;
    char path[256], name[128];
    snprintf(path, sizeof path, A "/adapt/step-%012" PRIu64, last_step);
    assert_ok(wk_dir_create(path, &err));
    snprintf(path, sizeof path, A "/%s", adapted_file(last_step, "lock", name));
    int lock = open(path, O_RDWR | O_CREAT, 0666);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    wk_adapt_config config = both_tasks(A);
    assert_not_adapted(&config, WK_E_INPUT, "another process");
    close(lock);
}

static void tasks_and_steps_that_do_not_exist_are_named(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A);
    config.tasks = "east,north";
    assert_not_adapted(&config, WK_E_NOT_FOUND, "'north'");
    config.tasks = "none";
    assert_not_adapted(&config, WK_E_INPUT, "name the tasks");
    config = both_tasks(A);
    config.snapshot = 7;
    assert_not_adapted(&config, WK_E_NOT_FOUND, "no snapshot at agent step 7");
    config = both_tasks("no-such-run");
    assert_not_adapted(&config, WK_E_NOT_FOUND, "holds no run");
}

static void a_run_without_its_replay_is_refused(void **state)
{
    (void)state;
    remove_tree(A "/replay");
    wk_adapt_config config = both_tasks(A);
    assert_not_adapted(&config, WK_E_NOT_FOUND, "the data of the run in '" A "'");
    remove_tree(B "/checkpoints");
    config = both_tasks(B);
    assert_not_adapted(&config, WK_E_NOT_FOUND, "no checkpoint");
}

static void a_damaged_checkpoint_is_refused_and_can_be_restarted(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A), plain = both_tasks(B);
    config.updates = 10;
    adapt(&config);
    char path[256], name[128];
    snprintf(path, sizeof path, A "/%s", adapted_file(last_step, "checkpoint.safetensors", name));
    assert_int_equal(truncate(path, 1000), 0);
    config.updates = 30;
    assert_not_adapted(&config, WK_E_FORMAT, "checkpoint.safetensors");
    config.restart = true;
    adapt(&config);
    adapt(&plain);
    same_policies(A, B, last_step);
}

static void a_snapshot_ahead_of_the_newest_checkpoint_has_to_wait(void **state)
{
    (void)state;
    wk_steps steps = {0};
    assert_ok(wk_checkpoint_list(A, &steps, &err));
    assert_int_equal(steps.count, 2);
    char path[256];
    snprintf(path, sizeof path, A "/checkpoints/step-%012" PRIu64, steps.items[1]);
    wk_array_free(&steps);
    remove_tree(path);
    wk_adapt_config config = both_tasks(A);
    assert_not_adapted(&config, WK_E_INPUT, "wait for the next checkpoint");
}

static void a_run_whose_episodes_all_still_run_has_to_go_on(void **state)
{
    (void)state;
    remove_tree(A);
    wk_run_config run = quiet_run();
    run.prefill = 9, run.steps = 21;
    run_to_end(&run, A);
    wk_adapt_config config = both_tasks(A);
    for (int all = 0; all < 2; all++) {
        config.all_data = all;
        assert_not_adapted(&config, WK_E_INPUT, "resume the run");
    }
}

static void data_that_has_left_the_replay_is_missed(void **state)
{
    (void)state;
    remove_tree(A);
    wk_run_config run = quiet_run();
    run.steps = 1000, run.replay_capacity = 100, run.snapshot_every = 200;
    run_to_end(&run, A);
    uint64_t steps[16];
    size_t snapshots = weights_steps(A, WK_WEIGHTS_SNAPSHOT, steps, 16);
    assert_true(snapshots > 3);
    wk_adapt_config config = both_tasks(A);
    config.snapshot = (int64_t)steps[0];
    assert_not_adapted(&config, WK_E_INPUT, "--all-data");
    config.snapshot = WK_ADAPT_ALL;
    char missing[64];
    snprintf(missing, sizeof missing, "agent steps %" PRIu64 ", ", steps[0]);
    assert_not_adapted(&config, WK_E_INPUT, missing);
    uint64_t adapted[16];
    size_t count = weights_steps(A, WK_WEIGHTS_ADAPTED, adapted, 16);
    assert_true(count > 0);
    assert_int_equal(adapted[count - 1], steps[snapshots - 1]);
    config.snapshot = (int64_t)steps[0];
    config.all_data = true;
    assert_int_equal(adapt(&config), WK_RUN_FINISHED);
}

static void adapted_policies_open_with_the_run(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A);
    config.tasks = "east";
    adapt(&config);
    const wk_weights_choice choice = {.kind = WK_WEIGHTS_ADAPTED, .step = WK_STEP_LAST};
    wk_saved_run run = {0};
    int policy = -1;
    assert_ok(wk_saved_run_open(A, &(wk_saved_run_options){.weights = &choice}, &run, &err));
    assert_int_equal(run.weights.step, last_step);
    assert_string_equal(run.weights.config.tasks, "east");
    assert_ok(wk_saved_run_policy(&run, 1, &policy, &err));
    assert_int_equal(policy, 0);
    wk_saved_run_close(&run);
}

static void assert_updates(const char *run, uint64_t step, uint64_t updates)
{
    char name[128], path[256], *text, wanted[32];
    snprintf(path, sizeof path, "%s/%s", run, adapted_file(step, "adapt.yaml", name));
    assert_ok(wk_file_read(path, 1 << 20, &text, NULL, &err));
    snprintf(wanted, sizeof wanted, "\nupdates: %" PRIu64 "\n", updates);
    if (!strstr(text, wanted)) fail_msg("%s at %" PRIu64 ": %s", run, step, text);
    free(text);
}

// Snapshots of agent steps 201 and 402, one update for each six.
static void without_a_number_it_makes_one_update_for_each_train_every_steps(void **state)
{
    (void)state;
    wk_adapt_config config = both_tasks(A);
    config.updates = 0;
    adapt(&config);
    assert_int_equal(last_step, 402);
    assert_updates(A, last_step, 67);
}

static void all_snapshots_are_adapted_as_one_by_one(void **state)
{
    (void)state;
    wk_adapt_config all = both_tasks(A), one = both_tasks(B);
    all.snapshot = WK_ADAPT_ALL;
    all.updates = one.updates = 0;
    assert_int_equal(adapt(&all), WK_RUN_FINISHED);
    adapt(&one);
    one.snapshot = (int64_t)first_step;
    adapt(&one);
    assert_updates(A, first_step, 33);
    assert_updates(A, last_step, 67);
    same_policies(A, B, first_step);
    same_policies(A, B, last_step);
}

static void all_snapshots_go_on_where_they_were_interrupted(void **state)
{
    (void)state;
    wk_adapt_config all = both_tasks(A), pieces = both_tasks(B);
    all.snapshot = pieces.snapshot = WK_ADAPT_ALL;
    adapt(&all);
    wk_run_end end = WK_RUN_INTERRUPTED;
    int stops = 0;
    for (; end != WK_RUN_FINISHED; stops++) {
        stopper s = {.checkpoints = 2};
        wk_run_control control = {.stop = &s.stop, .log = {count_checkpoints, &s, WK_LOG_DEBUG}};
        assert_ok(wk_adapt(&pieces, &control, &end, &err));
        assert_true(stops < 20);
    }
    assert_true(stops > 2);
    same_policies(A, B, first_step);
    same_policies(A, B, last_step);
}

static void steps_are_named_by_their_kind(void **state)
{
    (void)state;
    char text[WK_STEPS_TEXT_MAX];
    wk_steps_text(3700000, 2, text);
    assert_string_equal(text, "3700000 agent steps (7400000 control steps)");
    wk_steps_text(402, 1, text);
    assert_string_equal(text, "402 agent steps");
}

static void a_data_cutoff_reads_back_from_its_text(void **state)
{
    (void)state;
    wk_data_cutoff cutoff = {.begun = 40, .n_running = 2, .running = {37, 39}}, none = {.begun = 7},
                   out;
    wk_text text = {0};
    wk_data_cutoff_print(&cutoff, &text);
    assert_string_equal(wk_text_get(&text), "40 less 37,39");
    assert_ok(wk_data_cutoff_parse(wk_text_get(&text), &out, &err));
    assert_memory_equal(&out, &cutoff, sizeof out);
    wk_text_free(&text);
    assert_ok(wk_data_cutoff_parse("7", &out, &err));
    assert_memory_equal(&out, &none, sizeof out);
    const char *const bad[] = {"",          "x",   "7 less",     "7 less ",
                               "7 less 1,", "7,1", "7 less 1 2", "-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(wk_data_cutoff_parse(bad[i], &out, &err), WK_E_FORMAT, "which episodes");
}

#define ADAPT_TEST(name) cmocka_unit_test_setup_teardown(name, copy_runs, remove_copies)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ADAPT_TEST(every_tensor_of_the_snapshot_is_left_as_it_was),
        ADAPT_TEST(adapting_twice_gives_the_same_bytes_for_any_number_of_threads),
        ADAPT_TEST(another_seed_gives_other_policies),
        ADAPT_TEST(interrupted_again_and_again_it_ends_in_the_same_bytes),
        ADAPT_TEST(more_updates_go_on_where_fewer_ended),
        ADAPT_TEST(data_collected_after_the_snapshot_is_not_looked_at),
        ADAPT_TEST(a_run_goes_on_after_an_adaptation_as_if_there_had_been_none),
        ADAPT_TEST(an_adaptation_of_all_data_keeps_to_the_data_it_began_with),
        ADAPT_TEST(another_configuration_in_the_same_place_is_refused_or_restarted),
        ADAPT_TEST(a_second_process_is_refused),
        ADAPT_TEST(tasks_and_steps_that_do_not_exist_are_named),
        ADAPT_TEST(a_run_without_its_replay_is_refused),
        ADAPT_TEST(a_damaged_checkpoint_is_refused_and_can_be_restarted),
        ADAPT_TEST(a_snapshot_ahead_of_the_newest_checkpoint_has_to_wait),
        ADAPT_TEST(a_run_whose_episodes_all_still_run_has_to_go_on),
        ADAPT_TEST(data_that_has_left_the_replay_is_missed),
        ADAPT_TEST(adapted_policies_open_with_the_run),
        ADAPT_TEST(without_a_number_it_makes_one_update_for_each_train_every_steps),
        ADAPT_TEST(all_snapshots_are_adapted_as_one_by_one),
        ADAPT_TEST(all_snapshots_go_on_where_they_were_interrupted),
        cmocka_unit_test(steps_are_named_by_their_kind),
        cmocka_unit_test(a_data_cutoff_reads_back_from_its_text),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
