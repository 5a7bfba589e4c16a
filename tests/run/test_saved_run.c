// Saved runs opened for looking: which weights there are, that the right ones are taken, and what
// is said when they are not there, damaged or another run's.
#include "run/saved_run.h"
#include "train/runs.h"
#include "train/train.h"

#define RUN "saved-run.tmp"
#define OTHER "saved-run-other.tmp"

static wk_error err;

// One run for all tests: snapshots at 201, 402 (the last), policies of both tasks alongside.
static int setup(void **state)
{
    remove_tree(RUN);
    wk_run_config config = tiny_run();
    config.log_tensorboard = false;
    snprintf(config.tasks, sizeof config.tasks, "all");
    run_to_end(&config, RUN);
    return 0;
}

static int teardown(void **state)
{
    remove_tree(RUN);
    remove_tree(OTHER);
    return 0;
}

static wk_weights_choice newest(wk_weights_kind kind)
{
    return (wk_weights_choice){.kind = kind, .step = WK_STEP_LAST};
}

static wk_status open_with(const wk_weights_choice *choice, wk_saved_run *run)
{
    return wk_saved_run_open(RUN, &(wk_saved_run_options){.weights = choice}, run, &err);
}

static void assert_not_opened(const wk_weights_choice *choice, wk_status status, const char *part)
{
    wk_saved_run run = {0};
    assert_refused(open_with(choice, &run), status, part);
    wk_saved_run_close(&run);
}

TEST_CASE(the_steps_of_a_run_are_listed_oldest_first)
{
    uint64_t steps[8];
    assert_int_equal(weights_steps(RUN, WK_WEIGHTS_SNAPSHOT, steps, 8), 2);
    assert_true(steps[0] >= 200 && steps[0] < 210);
    assert_int_equal(steps[1], newest_step(RUN));
    assert_int_equal(weights_steps(RUN, WK_WEIGHTS_ADAPTED, steps, 8), 0);
    assert_int_equal(weights_steps("no-such-run", WK_WEIGHTS_SNAPSHOT, steps, 8), 0);
}

// Names that only look like ours, and folders without weights in them, do not count.
TEST_CASE(other_files_are_not_taken_for_weights)
{
    uint64_t steps[8];
    const char *const names[] = {RUN "/snapshots/step-7.safetensors",
                                 RUN "/snapshots/step-000000000007.safetensors.tmp",
                                 RUN "/snapshots/notes"};
    for (int i = 0; i < 3; i++)
        assert_ok(wk_file_write(names[i], "x", 1, &err));
    assert_ok(wk_dir_create(RUN "/adapt/step-000000000201", &err));
    assert_int_equal(weights_steps(RUN, WK_WEIGHTS_SNAPSHOT, steps, 8), 2);
    assert_int_equal(weights_steps(RUN, WK_WEIGHTS_ADAPTED, steps, 8), 0);
    for (int i = 0; i < 3; i++)
        remove(names[i]);
    remove_tree(RUN "/adapt");
}

// Everything a learner knows, as the bytes of its file.
static char *weights_of(const wk_saved_run *run, size_t *size)
{
    char *bytes;
    assert_ok(wk_learner_save_weights(run->weights.learner, NULL, RUN "/now.tmp", NULL, 0, &err));
    assert_ok(wk_file_read(RUN "/now.tmp", 1 << 26, &bytes, size, &err));
    remove(RUN "/now.tmp");
    return bytes;
}

static bool same_choice(const wk_weights_choice *a, const wk_weights_choice *b)
{
    wk_saved_run x = {0}, y = {0};
    size_t x_size, y_size;
    assert_ok(open_with(a, &x));
    assert_ok(open_with(b, &y));
    char *x_bytes = weights_of(&x, &x_size), *y_bytes = weights_of(&y, &y_size);
    bool same = x_size == y_size && memcmp(x_bytes, y_bytes, x_size) == 0;
    free(x_bytes);
    free(y_bytes);
    wk_saved_run_close(&x);
    wk_saved_run_close(&y);
    return same;
}

TEST_CASE(the_last_snapshot_is_the_last_checkpoint_and_not_the_first_snapshot)
{
    uint64_t steps[8];
    weights_steps(RUN, WK_WEIGHTS_SNAPSHOT, steps, 8);
    wk_weights_choice last = newest(WK_WEIGHTS_SNAPSHOT), first = last, named = last,
                      saved = newest(WK_WEIGHTS_CHECKPOINT);
    first.step = (int64_t)steps[0];
    named.step = (int64_t)steps[1];
    assert_true(same_choice(&last, &named));
    assert_true(same_choice(&last, &saved));
    assert_false(same_choice(&last, &first));
}

TEST_CASE(a_loaded_learner_says_what_it_is)
{
    wk_weights_choice config = newest(WK_WEIGHTS_SNAPSHOT);
    config.device = "cpu";
    config.threads = 2;
    wk_saved_run run = {0};
    int policy = -1;
    assert_ok(open_with(&config, &run));
    assert_int_equal(run.weights.step, newest_step(RUN));
    assert_string_equal(run.world.domain->name, "toy");
    assert_string_equal(run.weights.device.name, "cpu");
    assert_int_equal(run.weights.n_tasks, run.world.domain->n_tasks);
    assert_ok(wk_saved_run_policy(&run, 1, &policy, &err));
    assert_int_equal(policy, 1);
    wk_saved_run_close(&run);
}

TEST_CASE(the_learner_gets_the_tasks_asked_for)
{
    wk_weights_choice config = newest(WK_WEIGHTS_SNAPSHOT);
    wk_saved_run run = {0};
    int policy = -1;
    const wk_domain *toy;
    assert_ok(wk_domain_find("toy", &toy, &err));
    config.tasks = toy->tasks[1].name;
    assert_ok(open_with(&config, &run));
    assert_int_equal(wk_learner_get_config(run.weights.learner)->tasks, 1);
    assert_ok(wk_saved_run_policy(&run, 1, &policy, &err));
    assert_int_equal(policy, 0);
    assert_refused(wk_saved_run_policy(&run, 0, &policy, &err), WK_E_NOT_FOUND, toy->tasks[0].name);
    wk_saved_run_close(&run);
    config.tasks = "none";
    assert_ok(open_with(&config, &run));
    assert_int_equal(run.weights.n_tasks, 0);
    wk_saved_run_close(&run);
    config.tasks = "fly";
    assert_not_opened(&config, WK_E_NOT_FOUND, "fly");
}

TEST_CASE(a_run_is_opened_as_deep_as_asked)
{
    static const wk_saved_depth depths[] = {WK_SAVED_CONFIG, WK_SAVED_WORLD, WK_SAVED_CHECKPOINT,
                                            WK_SAVED_CURRICULUM};
    for (int i = 0; i < 4; i++) {
        wk_saved_run run = {0};
        wk_saved_depth depth = depths[i];
        assert_ok(wk_saved_run_open(RUN, &(wk_saved_run_options){.depth = depth}, &run, &err));
        assert_int_equal(run.config.seed, 5);
        assert_int_equal(run.world.domain != NULL, depth >= WK_SAVED_WORLD);
        assert_int_equal(run.step, depth >= WK_SAVED_CHECKPOINT ? newest_step(RUN) : 0);
        assert_int_equal(run.space != NULL, depth >= WK_SAVED_CHECKPOINT);
        assert_int_equal(run.curriculum != NULL, depth >= WK_SAVED_CURRICULUM);
        assert_null(run.weights.learner);
        wk_saved_run_close(&run);
    }
}

// Loading again replaces the learner and leaves the run's own configuration alone.
TEST_CASE(another_step_can_be_loaded_into_the_same_run)
{
    uint64_t steps[8];
    weights_steps(RUN, WK_WEIGHTS_SNAPSHOT, steps, 8);
    wk_weights_choice choice = newest(WK_WEIGHTS_SNAPSHOT);
    wk_saved_run run = {0};
    choice.tasks = "none";
    assert_ok(open_with(&choice, &run));
    assert_string_equal(run.weights.config.tasks, "none");
    choice = (wk_weights_choice){.step = (int64_t)steps[0]};
    assert_ok(wk_saved_run_load(&run, &choice, &err));
    assert_int_equal(run.weights.step, steps[0]);
    assert_string_equal(run.weights.config.tasks, "all");
    assert_string_equal(run.config.tasks, "all");
    wk_saved_run_close(&run);
}

TEST_CASE(what_is_not_there_is_said_with_what_is)
{
    wk_weights_choice config = newest(WK_WEIGHTS_SNAPSHOT);
    char steps[32];
    config.step = 7;
    snprintf(steps, sizeof steps, ", %" PRIu64, newest_step(RUN));
    assert_not_opened(&config, WK_E_NOT_FOUND, steps);
    wk_saved_run run = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CONFIG};
    assert_ok(wk_dir_create(OTHER, &err));
    assert_refused(wk_saved_run_open(OTHER, &options, &run, &err), WK_E_NOT_FOUND, "holds no run");
}

TEST_CASE(snapshots_say_which_run_they_are_of)
{
    char path[WK_PATH_MAX], tasks[WK_RUN_TEXT_MAX];
    wk_weights_path(RUN, (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT}, newest_step(RUN), path);
    assert_ok(wk_weights_tasks(path, tasks, &err));
    const wk_domain *toy;
    assert_ok(wk_domain_find("toy", &toy, &err));
    assert_non_null(strstr(tasks, toy->tasks[0].name));
    wk_safetensors *file;
    assert_ok(wk_safetensors_open(path, &file, &err));
    assert_string_equal(wk_safetensors_metadata(file, "domain"), "toy");
    assert_string_equal(wk_safetensors_metadata(file, "seed"), "5");
    wk_safetensors_close(file);
}

// The snapshot of a run of another size, put into ours.
TEST_CASE(weights_of_another_run_are_refused_by_their_label)
{
    wk_run_config config = tiny_run();
    config.log_tensorboard = false;
    config.steps = 100, config.units = 7, config.seed = 77;
    remove_tree(OTHER);
    run_to_end(&config, OTHER);
    char from[WK_PATH_MAX];
    wk_weights_path(OTHER, (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT}, newest_step(OTHER),
                    from);
    assert_int_equal(rename(from, RUN "/snapshots/step-000000000999.safetensors"), 0);
    wk_weights_choice which = newest(WK_WEIGHTS_SNAPSHOT);
    which.tasks = "none";
    assert_not_opened(&which, WK_E_FORMAT, "seed 77");
    remove(RUN "/snapshots/step-000000000999.safetensors");
}

TEST_CASE(a_damaged_snapshot_is_refused)
{
    assert_ok(wk_file_write(RUN "/snapshots/step-000000000999.safetensors", "nonsense", 8, &err));
    wk_weights_choice which = newest(WK_WEIGHTS_SNAPSHOT);
    assert_not_opened(&which, WK_E_FORMAT, "step-000000000999");
    remove(RUN "/snapshots/step-000000000999.safetensors");
}

// A path that does not fit is refused; what is left of it when it is cut, "././.", is another
// directory.
TEST_CASE(a_path_that_is_too_long_is_not_taken_for_another)
{
    char directory[WK_PATH_MAX + 64] = "";
    for (size_t i = 0; i + 2 < sizeof directory; i += 2)
        memcpy(directory + i, "./", 2);
    wk_steps steps = {0};
    wk_weights_folders folders = {0};
    wk_saved_run run = {0};
    assert_refused(wk_checkpoint_list(directory, &steps, &err), WK_E_INPUT, "is too long");
    assert_refused(wk_weights_list(directory, WK_WEIGHTS_ADAPTED, &folders, &err), WK_E_INPUT,
                   "is too long");
    assert_refused(wk_saved_run_open(directory, &(wk_saved_run_options){0}, &run, &err), WK_E_INPUT,
                   "is too long");
    wk_saved_run_close(&run);
}

TEST_MAIN(setup, teardown)
