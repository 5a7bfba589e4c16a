// Fine-tuning: a run of its own that begins with a policy, its world model and the episodes of the
// run they come from.
#include "run/saved_run.h"
#include "run/weights.h"
#include "train/adapt.h"
#include "train/finetune.h"
#include "train/runs.h"

#define ORIGIN "finetune-origin.tmp" // made once, copied for each test
#define A "finetune-a.tmp"
#define B "finetune-b.tmp"

static wk_error err;
static uint64_t step; // of the last snapshot

static int setup(void **state)
{
    (void)state;
    remove_tree(ORIGIN);
    wk_run_config config = quiet_run();
    run_to_end(&config, ORIGIN);
    wk_run_control control = {0};
    wk_run_end end;
    wk_adapt_config adapt = {
        .directory = ORIGIN, .snapshot = WK_STEP_LAST, .tasks = "all", .updates = 20};
    assert_ok(wk_adapt(&adapt, &control, &end, &err));
    step = newest_step(ORIGIN);
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

static wk_finetune_config east(const char *directory)
{
    return (wk_finetune_config){
        .directory = directory, .snapshot = WK_STEP_LAST, .task = "east", .steps = 150};
}

static wk_run_end finetune(const wk_finetune_config *config)
{
    wk_run_control control = {0};
    wk_run_end end = WK_RUN_INTERRUPTED;
    assert_ok(wk_finetune(config, &control, &end, &err));
    return end;
}

static void assert_not_tuned(const wk_finetune_config *config, wk_status status, const char *part)
{
    wk_run_control control = {0};
    wk_run_end end;
    assert_refused(wk_finetune(config, &control, &end, &err), status, part);
}

// Its directory, of the task east.
static const char *place(const char *run, char out[128])
{
    snprintf(out, 128, "%s/finetune/step-%012" PRIu64 "-east", run, step);
    return out;
}

static void the_same_twice_gives_the_same_bytes(void **state)
{
    (void)state;
    char a[128], b[128];
    wk_finetune_config config = east(A), threads = east(B);
    threads.threads = 2;
    assert_int_equal(finetune(&config), WK_RUN_FINISHED);
    assert_int_equal(finetune(&threads), WK_RUN_FINISHED);
    same_end(place(A, a), place(B, b));
    same_file(a, b, "weights.safetensors", 0, 0);
}

static void interrupted_at_every_checkpoint_it_ends_in_the_same_bytes(void **state)
{
    (void)state;
    char a[128], b[128];
    wk_finetune_config config = east(A), pieces = east(B);
    finetune(&config);
    wk_run_end end = WK_RUN_INTERRUPTED;
    int stops = 0;
    for (; end != WK_RUN_FINISHED; stops++) {
        stopper s = {.checkpoints = 1};
        wk_run_control control = {.stop = &s.stop, .log = {count_checkpoints, &s, WK_LOG_DEBUG}};
        assert_ok(wk_finetune(&pieces, &control, &end, &err));
        assert_true(stops < 20);
    }
    assert_true(stops > 1);
    same_end(place(A, a), place(B, b));
    same_file(a, b, "weights.safetensors", 0, 0);
}

// Names, times and inodes of all files of its directory, but for the lock.
static void list_files(const char *run, const char *out)
{
    char a[128], command[512];
    snprintf(
        command, sizeof command,
        "cd %s && find . ! -name lock ! -name . -printf '%%p %%T@ %%i %%s\\n' | sort > ../../../%s",
        place(run, a), out);
    assert_int_equal(system(command), 0);
}

static void one_that_is_finished_and_started_again_changes_nothing(void **state)
{
    (void)state;
    wk_finetune_config config = east(A);
    assert_int_equal(finetune(&config), WK_RUN_FINISHED);
    list_files(A, "finetune-before.tmp");
    assert_int_equal(finetune(&config), WK_RUN_FINISHED);
    list_files(A, "finetune-after.tmp");
    assert_int_equal(system("test -s finetune-before.tmp && "
                            "diff finetune-before.tmp finetune-after.tmp && "
                            "rm finetune-before.tmp finetune-after.tmp"),
                     0);
}

// A longer run was killed after its last checkpoint and snapshot, before it wrote its weights.
static void weights_of_fewer_steps_are_replaced(void **state)
{
    (void)state;
    char a[128], b[128], command[512];
    wk_finetune_config shorter = east(A), longer = east(A), straight = east(B);
    shorter.steps = 90;
    finetune(&shorter);
    snprintf(command, sizeof command, "cp %s/weights.safetensors " A "/shorter", place(A, a));
    assert_int_equal(system(command), 0);
    finetune(&longer);
    snprintf(command, sizeof command, "cp " A "/shorter %s/weights.safetensors", a);
    assert_int_equal(system(command), 0);
    assert_int_equal(finetune(&longer), WK_RUN_FINISHED);
    finetune(&straight);
    same_file(a, place(B, b), "weights.safetensors", 0, 0);
}

// Every row of an episode, as sums that any change would show in.
typedef struct digest {
    int64_t rows; // no padding: digests are compared as bytes
    int64_t theta_index;
    double pixels, numbers;
} digest;

static digest digest_of(wk_replay *replay, size_t i, const wk_domain *domain)
{
    wk_replay_episode episode = wk_replay_at(replay, i);
    digest d = {.rows = episode.rows, .theta_index = episode.theta_index};
    uint8_t *image = malloc(WK_IMAGE_BYTES);
    float actions[16], rewards[WK_TASKS_MAX];
    for (uint32_t t = 0; t < episode.rows; t++) {
        wk_replay_batch row = {.images = image, .actions = actions, .rewards = rewards};
        wk_replay_read(replay, i, t, 1, &row);
        for (int k = 0; k < WK_IMAGE_BYTES; k++)
            d.pixels += image[k] * (double)(k % 97 + (int)t);
        for (int k = 0; k < domain->action_size; k++)
            d.numbers += actions[k] * (t + k + 1.0);
        for (int k = 0; k < domain->n_tasks; k++)
            d.numbers += rewards[k] * (t + k + 10.0);
    }
    free(image);
    return d;
}

static void it_begins_with_the_episodes_of_the_run_and_adds_its_own(void **state)
{
    (void)state;
    char a[128];
    wk_saved_run run = {0}, tuned = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD};
    wk_data_cutoff cutoff;
    wk_replay *before, *after;
    char path[WK_PATH_MAX];
    wk_finetune_config east_of_a = east(A);
    finetune(&east_of_a);
    assert_ok(wk_saved_run_open(A, &options, &run, &err));
    assert_ok(wk_saved_run_open_replay(&run, NULL, &before, &err));
    wk_weights_path(A, (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT}, step, path);
    assert_ok(wk_weights_data_cutoff(path, &cutoff, &err));
    wk_data_cutoff_apply(before, &cutoff);
    assert_ok(wk_saved_run_open(place(A, a), &options, &tuned, &err));
    assert_ok(wk_saved_run_open_replay(&tuned, NULL, &after, &err));
    const wk_domain *toy = run.world.domain;
    size_t old = wk_replay_count(before);
    assert_true(old > 10);
    assert_true(wk_replay_count(after) > old);
    for (size_t i = 0; i < old; i++) {
        digest x = digest_of(before, i, toy), y = digest_of(after, i, toy);
        assert_memory_equal(&x, &y, sizeof x);
    }
    wk_replay_stats stats = wk_replay_get_stats(after);
    assert_int_equal(stats.steps, wk_replay_get_stats(before).steps + newest_step(a));
    wk_replay_destroy(before);
    wk_replay_destroy(after);
    wk_saved_run_close(&run);
    wk_saved_run_close(&tuned);
}

// The store has room for an episode of each environment: when the first of its own end, those of
// the run have left.
static void the_curriculum_scores_its_own_episodes(void **state)
{
    (void)state;
    char a[128];
    remove_tree(A);
    wk_run_config config = quiet_run();
    config.replay_capacity = 60;
    config.steps = 420;
    snprintf(config.tasks, sizeof config.tasks, "all");
    run_to_end(&config, A);
    wk_finetune_config by_error = east(A);
    by_error.curriculum = "true-error";
    by_error.steps = 60;
    finetune(&by_error);
    const wk_saved_run_options options = {.depth = WK_SAVED_CURRICULUM};
    wk_saved_run tuned = {0};
    snprintf(a, sizeof a, A "/finetune/step-%012d-east", 420);
    assert_ok(wk_saved_run_open(a, &options, &tuned, &err));
    assert_true(scored_thetas(tuned.curriculum) > 0);
    wk_saved_run_close(&tuned);
}

static void it_is_told_by_its_configuration(void **state)
{
    (void)state;
    char a[128];
    wk_saved_run run = {0}, tuned = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CONFIG};
    wk_finetune_config east_of_a = east(A);
    finetune(&east_of_a);
    assert_ok(wk_saved_run_open(A, &options, &run, &err));
    assert_ok(wk_saved_run_open(place(A, a), &options, &tuned, &err));
    assert_string_equal(tuned.config.acting, "east");
    assert_string_equal(tuned.config.tasks, "east");
    assert_string_equal(tuned.config.curriculum_rule, "dr");
    assert_int_equal(tuned.config.prefill, 0);
    assert_int_equal(tuned.config.steps, 150);
    assert_true(tuned.config.seed != run.config.seed); // no episode begins like one of the run's
    east_of_a.curriculum = "run";
    assert_not_tuned(&east_of_a, WK_E_INPUT, "curriculum.rule 'dr'");
}

static void the_result_opens_with_the_run(void **state)
{
    (void)state;
    wk_finetune_config config = east(A);
    finetune(&config);
    wk_weights_choice choice = {.kind = WK_WEIGHTS_FINETUNED, .step = WK_STEP_LAST, .task = "east"};
    const wk_saved_run_options options = {.weights = &choice};
    wk_saved_run run = {0};
    int policy = -1;
    assert_ok(wk_saved_run_open(A, &options, &run, &err));
    assert_int_equal(run.weights.step, step);
    assert_ok(wk_saved_run_policy(&run, 1, &policy, &err));
    assert_int_equal(policy, 0);
    wk_saved_run_close(&run);
    choice.task = "west";
    assert_refused(wk_saved_run_open(A, &options, &run, &err), WK_E_NOT_FOUND, "for 'west'");
    wk_saved_run_close(&run);
}

static void policies_trained_alongside_serve_where_nothing_was_adapted(void **state)
{
    (void)state;
    remove_tree(A);
    wk_run_config run = quiet_run();
    snprintf(run.tasks, sizeof run.tasks, "all");
    run_to_end(&run, A);
    wk_finetune_config config = east(A);
    assert_int_equal(finetune(&config), WK_RUN_FINISHED);
}

static void without_a_policy_to_begin_with_it_says_so(void **state)
{
    (void)state;
    wk_finetune_config config = east(A);
    config.snapshot = 7;
    assert_not_tuned(&config, WK_E_NOT_FOUND, "no policy to start from");
    config = east(A);
    config.task = "north";
    assert_not_tuned(&config, WK_E_NOT_FOUND, "'north'");
    remove_tree(A "/adapt");
    config = east(A);
    assert_not_tuned(&config, WK_E_NOT_FOUND, "create them with 'waker adapt'");
    config = east("no-such-run");
    assert_not_tuned(&config, WK_E_NOT_FOUND, "holds no run");
}

#define TUNE_TEST(name) cmocka_unit_test_setup_teardown(name, copy_runs, remove_copies)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TUNE_TEST(the_same_twice_gives_the_same_bytes),
        TUNE_TEST(interrupted_at_every_checkpoint_it_ends_in_the_same_bytes),
        TUNE_TEST(one_that_is_finished_and_started_again_changes_nothing),
        TUNE_TEST(weights_of_fewer_steps_are_replaced),
        TUNE_TEST(it_begins_with_the_episodes_of_the_run_and_adds_its_own),
        TUNE_TEST(the_curriculum_scores_its_own_episodes),
        TUNE_TEST(it_is_told_by_its_configuration),
        TUNE_TEST(the_result_opens_with_the_run),
        TUNE_TEST(policies_trained_alongside_serve_where_nothing_was_adapted),
        TUNE_TEST(without_a_policy_to_begin_with_it_says_so),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
