// Task policies from saved runs. Adaptation: the world model is left alone, and later data is not
// looked at. Fine-tuning: a run of its own that begins with a policy, its world model and the
// episodes of the run they come from. Of both: the same bytes come out however often they are
// interrupted, and what cannot be done is said.
#include "run/saved_run.h"
#include "run/weights.h"
#include "train/adapt.h"
#include "train/finetune.h"
#include "train/runs.h"
#include <fcntl.h>
#include <sys/file.h>

#define ORIGIN "policies-origin.tmp"   // made once, copied for each test
#define ADAPTED "policies-adapted.tmp" // the same with policies
#define A "policies-a.tmp"
#define B "policies-b.tmp"

static wk_error err;
static uint64_t first_step, last_step; // of ORIGIN's two snapshots

static int remove_copies(void **state)
{
    remove_tree(A);
    remove_tree(B);
    return 0;
}

static int copy_runs(void **state)
{
    const char *from = *state;
    remove_copies(NULL);
    run_command("cp -r %s " A " && cp -r %s " B, from, from);
    return 0;
}

static wk_adapt_config both_tasks(const char *directory)
{
    return (wk_adapt_config){
        .directory = directory, .snapshot = WK_STEP_LAST, .tasks = "all", .updates = 30};
}

static wk_status adapting(const void *config, const wk_run_control *control, wk_run_end *end,
                          wk_error *why)
{
    return wk_adapt(config, control, end, why);
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

static int setup(void **state)
{
    remove_tree(ORIGIN);
    remove_tree(ADAPTED);
    wk_run_config config = quiet_run();
    run_to_end(&config, ORIGIN);
    uint64_t steps[8];
    assert_int_equal(weights_steps(ORIGIN, WK_WEIGHTS_SNAPSHOT, steps, 8), 2);
    first_step = steps[0];
    last_step = steps[1];
    run_command("cp -r " ORIGIN " " ADAPTED);
    wk_adapt_config both = both_tasks(ADAPTED);
    adapt(&both);
    return 0;
}

static int teardown(void **state)
{
    remove_tree(ORIGIN);
    remove_tree(ADAPTED);
    return 0;
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

static void another_seed_gives_other_policies(void **state)
{
    wk_adapt_config config = both_tasks(A), other = both_tasks(B);
    uint64_t seed = 99;
    other.seed = &seed;
    char name[128];
    adapt(&config);
    adapt(&other);
    other_file(A, B, adapted_file(last_step, "metrics.jsonl", name));
}

static void more_updates_go_on_where_fewer_ended(void **state)
{
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
    char name[128];
    other_file(A, B, adapted_file(first_step, "weights.safetensors", name));
}

static void a_run_goes_on_after_an_adaptation_as_if_there_had_been_none(void **state)
{
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
    static const struct {
        const char *run, *tasks;
        int64_t snapshot;
        wk_status status;
        const char *part;
    } cases[] = {
        {A, "east,north", WK_STEP_LAST, WK_E_NOT_FOUND, "'north'"},
        {A, "none", WK_STEP_LAST, WK_E_INPUT, "name the tasks"},
        {A, "all", 7, WK_E_NOT_FOUND, "no snapshot at agent step 7"},
        {"no-such-run", "all", WK_STEP_LAST, WK_E_NOT_FOUND, "holds no run"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_adapt_config config = both_tasks(cases[i].run);
        config.tasks = cases[i].tasks;
        config.snapshot = cases[i].snapshot;
        assert_not_adapted(&config, cases[i].status, cases[i].part);
    }
}

static void a_run_without_its_replay_is_refused(void **state)
{
    remove_tree(A "/replay");
    wk_adapt_config config = both_tasks(A);
    assert_not_adapted(&config, WK_E_NOT_FOUND, "the data of the run in '" A "'");
    remove_tree(B "/checkpoints");
    config = both_tasks(B);
    assert_not_adapted(&config, WK_E_NOT_FOUND, "no checkpoint");
}

static void a_damaged_checkpoint_is_refused_and_can_be_restarted(void **state)
{
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
    config.snapshot = WK_STEP_ALL;
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

// Opens weights for the task east (1) as A has them; `tasks` (NULL: any) are those they have.
static void assert_opens(const wk_weights_choice *choice, const char *tasks)
{
    wk_saved_run run = {0};
    int policy = -1;
    assert_ok(wk_saved_run_open(A, &(wk_saved_run_options){.weights = choice}, &run, &err));
    assert_int_equal(run.weights.step, last_step);
    if (tasks) assert_string_equal(run.weights.config.tasks, tasks);
    assert_ok(wk_saved_run_policy(&run, 1, &policy, &err));
    assert_int_equal(policy, 0);
    wk_saved_run_close(&run);
}

static void adapted_policies_open_with_the_run(void **state)
{
    wk_adapt_config config = both_tasks(A);
    config.tasks = "east";
    adapt(&config);
    assert_opens(&(wk_weights_choice){.kind = WK_WEIGHTS_ADAPTED, .step = WK_STEP_LAST}, "east");
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
    wk_adapt_config config = both_tasks(A);
    config.updates = 0;
    adapt(&config);
    assert_int_equal(last_step, 402);
    assert_updates(A, last_step, 67);
}

static void all_snapshots_are_adapted_as_one_by_one(void **state)
{
    wk_adapt_config all = both_tasks(A), one = both_tasks(B);
    all.snapshot = WK_STEP_ALL;
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
    wk_adapt_config all = both_tasks(A), pieces = both_tasks(B);
    all.snapshot = pieces.snapshot = WK_STEP_ALL;
    adapt(&all);
    in_pieces(adapting, &pieces, 2, 2);
    same_policies(A, B, first_step);
    same_policies(A, B, last_step);
}

static void steps_are_named_by_their_kind(void **state)
{
    char text[WK_STEPS_TEXT_MAX];
    wk_steps_text(3700000, 2, text);
    assert_string_equal(text, "3700000 agent steps (7400000 control steps)");
    wk_steps_text(402, 1, text);
    assert_string_equal(text, "402 agent steps");
}

static void a_data_cutoff_reads_back_from_its_text(void **state)
{
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

static wk_finetune_config east(const char *directory)
{
    return (wk_finetune_config){
        .directory = directory, .snapshot = WK_STEP_LAST, .task = "east", .steps = 150};
}

static wk_status tuning(const void *config, const wk_run_control *control, wk_run_end *end,
                        wk_error *why)
{
    return wk_finetune(config, control, end, why);
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
    snprintf(out, 128, "%s/finetune/step-%012" PRIu64 "-east", run, last_step);
    return out;
}

// Which files a way to policies ends in: those of the last snapshot's.
static void same_results(bool tuned)
{
    char a[128], b[128];
    if (!tuned) {
        same_policies(A, B, last_step);
        return;
    }
    same_end(place(A, a), place(B, b));
    same_file(a, b, "weights.safetensors", 0, 0);
}

// With one thread, with two, and in pieces, both ways to policies.
static void whatever_the_threads_and_interruptions_the_same_bytes_come_out(void **state)
{
    for (int tuned = 0; tuned < 2; tuned++) {
        copy_runs(&(void *){tuned ? ADAPTED : ORIGIN});
        wk_adapt_config adapt_a = both_tasks(A), adapt_b = both_tasks(B);
        wk_finetune_config tune_a = east(A), tune_b = east(B);
        work_of *work = tuned ? tuning : adapting;
        const void *config = tuned ? (void *)&tune_b : (void *)&adapt_b;
        adapt_a.threads = tune_a.threads = 1;
        in_pieces(work, tuned ? (void *)&tune_a : (void *)&adapt_a, 1000, 0);
        adapt_b.threads = tune_b.threads = 2;
        in_pieces(work, config, 1000, 0);
        same_results(tuned);
        remove_tree(tuned ? B "/finetune" : B "/adapt");
        in_pieces(work, config, 1, tuned ? 1 : 2);
        same_results(tuned);
    }
}

// Names, times and inodes of all files of a fine-tuning of A, but for the lock.
static void list_files(const char *out)
{
    char a[128];
    run_command("(cd %s && find . ! -name lock ! -name . -printf '%%p %%T@ %%i %%s\\n' | sort) > " B
                "/%s",
                place(A, a), out);
}

static void a_finished_fine_tuning_that_is_started_again_changes_nothing(void **state)
{
    wk_finetune_config config = east(A);
    assert_int_equal(finetune(&config), WK_RUN_FINISHED);
    list_files("before");
    assert_int_equal(finetune(&config), WK_RUN_FINISHED);
    list_files("after");
    run_command("test -s " B "/before && cmp " B "/before " B "/after");
}

// A longer run was killed after its last checkpoint and snapshot, before it wrote its weights.
static void tuned_weights_of_fewer_steps_are_replaced(void **state)
{
    char a[128], b[128];
    wk_finetune_config shorter = east(A), longer = east(A), straight = east(B);
    shorter.steps = 90;
    finetune(&shorter);
    run_command("cp %s/weights.safetensors " A "/shorter", place(A, a));
    finetune(&longer);
    run_command("cp " A "/shorter %s/weights.safetensors", a);
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

static void fine_tuning_begins_with_the_episodes_of_the_run_and_adds_its_own(void **state)
{
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
    wk_weights_path(A, (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT}, last_step, path);
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
static void the_curriculum_of_a_fine_tuning_scores_its_own_episodes(void **state)
{
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

static void a_fine_tuning_is_told_by_its_configuration(void **state)
{
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

static void tuned_policies_open_with_the_run(void **state)
{
    wk_finetune_config config = east(A);
    finetune(&config);
    wk_weights_choice choice = {.kind = WK_WEIGHTS_FINETUNED, .step = WK_STEP_LAST, .task = "east"};
    const wk_saved_run_options options = {.weights = &choice};
    wk_saved_run run = {0};
    assert_opens(&choice, NULL);
    choice.task = "west";
    assert_refused(wk_saved_run_open(A, &options, &run, &err), WK_E_NOT_FOUND, "for 'west'");
    wk_saved_run_close(&run);
}

static void policies_trained_alongside_serve_where_nothing_was_adapted(void **state)
{
    remove_tree(A);
    wk_run_config run = quiet_run();
    snprintf(run.tasks, sizeof run.tasks, "all");
    run_to_end(&run, A);
    wk_finetune_config config = east(A);
    assert_int_equal(finetune(&config), WK_RUN_FINISHED);
}

static void fine_tuning_without_a_policy_to_begin_with_says_so(void **state)
{
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

#define TEST_OF(from, name)                                                                        \
    {                                                                                              \
#name, name, copy_runs, remove_copies, (void *)(from)                                      \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OF(ORIGIN, every_tensor_of_the_snapshot_is_left_as_it_was),
        TEST_OF(ORIGIN, another_seed_gives_other_policies),
        TEST_OF(ORIGIN, more_updates_go_on_where_fewer_ended),
        TEST_OF(ORIGIN, data_collected_after_the_snapshot_is_not_looked_at),
        TEST_OF(ORIGIN, a_run_goes_on_after_an_adaptation_as_if_there_had_been_none),
        TEST_OF(ORIGIN, an_adaptation_of_all_data_keeps_to_the_data_it_began_with),
        TEST_OF(ORIGIN, another_configuration_in_the_same_place_is_refused_or_restarted),
        TEST_OF(ORIGIN, a_second_process_is_refused),
        TEST_OF(ORIGIN, tasks_and_steps_that_do_not_exist_are_named),
        TEST_OF(ORIGIN, a_run_without_its_replay_is_refused),
        TEST_OF(ORIGIN, a_damaged_checkpoint_is_refused_and_can_be_restarted),
        TEST_OF(ORIGIN, a_snapshot_ahead_of_the_newest_checkpoint_has_to_wait),
        TEST_OF(ORIGIN, a_run_whose_episodes_all_still_run_has_to_go_on),
        TEST_OF(ORIGIN, data_that_has_left_the_replay_is_missed),
        TEST_OF(ORIGIN, adapted_policies_open_with_the_run),
        TEST_OF(ORIGIN, without_a_number_it_makes_one_update_for_each_train_every_steps),
        TEST_OF(ORIGIN, all_snapshots_are_adapted_as_one_by_one),
        TEST_OF(ORIGIN, all_snapshots_go_on_where_they_were_interrupted),
        cmocka_unit_test(steps_are_named_by_their_kind),
        cmocka_unit_test(a_data_cutoff_reads_back_from_its_text),
        TEST_OF(ADAPTED, whatever_the_threads_and_interruptions_the_same_bytes_come_out),
        TEST_OF(ADAPTED, a_finished_fine_tuning_that_is_started_again_changes_nothing),
        TEST_OF(ADAPTED, tuned_weights_of_fewer_steps_are_replaced),
        TEST_OF(ADAPTED, fine_tuning_begins_with_the_episodes_of_the_run_and_adds_its_own),
        TEST_OF(ADAPTED, the_curriculum_of_a_fine_tuning_scores_its_own_episodes),
        TEST_OF(ADAPTED, a_fine_tuning_is_told_by_its_configuration),
        TEST_OF(ADAPTED, tuned_policies_open_with_the_run),
        TEST_OF(ADAPTED, policies_trained_alongside_serve_where_nothing_was_adapted),
        TEST_OF(ADAPTED, fine_tuning_without_a_policy_to_begin_with_says_so),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
