// What a run does to its directory, and what it leaves alone: listings that fail, checkpoints that
// are missing, links, names that only look like ours, directories that are moved and locks that are
// deleted while it runs.
#include "support/faults.h"
#include "support/trainer.h"
#include "train/adapt.h"
#include "train/finetune.h"
#include "train/runs.h"
#include "train/train.h"
#include <sys/stat.h>

#define A "directory-a.tmp"
#define B "directory-b.tmp"
#define CALM "directory-calm.tmp"
#define OUTSIDE "directory-outside.tmp"

static wk_error err;

static wk_run_config short_run(void)
{
    wk_run_config config = quiet_run();
    config.steps = 150;
    snprintf(config.exploration, sizeof config.exploration, "random");
    return config;
}

static int clean(void **state)
{
    remove_tree(A);
    remove_tree(B);
    remove_tree(OUTSIDE);
    return 0;
}

static wk_status train(const wk_run_config *config, const char *directory)
{
    wk_run_control control = {0};
    wk_run_end end;
    err = (wk_error){0};
    return wk_train(config, directory, NULL, &control, &end, &err);
}

// A finished short run in A, which goes on with more steps.
static wk_run_config finished_run(void)
{
    wk_run_config config = short_run();
    assert_ok(train(&config, A));
    config.steps = 250;
    return config;
}

static void keep_copy(void)
{
    run_command("rm -rf " B " && cp -a " A " " B);
}

static void expect_copy(void)
{
    run_command("diff -r --no-dereference -x lock " A " " B);
}

// The text of a file outside that a run must not touch.
static void make_outside(void)
{
    run_command("rm -rf " OUTSIDE " && mkdir " OUTSIDE " && echo thesis > " OUTSIDE "/run.bin && "
                "echo thesis > " OUTSIDE "/file");
}

static void expect_outside(void)
{
    run_command("test \"$(cat " OUTSIDE "/run.bin " OUTSIDE "/file)\" = 'thesis\nthesis'");
}

TEST_CASE(a_listing_that_fails_is_an_error_and_changes_nothing)
{
    static const int codes[] = {ESTALE, EIO, EACCES, EMFILE};
    wk_run_config config = finished_run();
    keep_copy();
    for (int k = 0; k < 4; k++)
        for (int n = 0; n < 3; n++) {
            fault_arm(FAULT_LIST, n, codes[k]);
            assert_refused(train(&config, A), WK_E_IO, strerror(codes[k]));
            assert_true(fault_disarm(FAULT_LIST));
            expect_copy();
        }
    assert_ok(train(&config, A));
}

TEST_CASE(checkpoints_moved_aside_are_missed)
{
    wk_run_config config = finished_run();
    run_command("mv " A "/checkpoints " OUTSIDE);
    keep_copy();
    assert_refused(train(&config, A), WK_E_INPUT, "no checkpoint to resume from");
    assert_non_null(strstr(err.message, "put the checkpoints back into '" A "/checkpoints'"));
    expect_copy();
    run_command("mkdir " A "/checkpoints " B "/checkpoints");
    assert_refused(train(&config, A), WK_E_INPUT, "no checkpoint to resume from");
    expect_copy();
    run_command("rmdir " A "/checkpoints && mv " OUTSIDE " " A "/checkpoints");
    assert_ok(train(&config, A));
    remove_tree(B);
    assert_ok(train(&config, B));
    same_end(A, B);
}

TEST_CASE(every_result_without_a_checkpoint_is_kept)
{
    static const char *const made[] = {"echo mine > " A "/metrics.jsonl",
                                       "mkdir " A "/replay && touch " A "/replay/x",
                                       "mkdir " A "/snapshots && touch " A "/snapshots/x",
                                       "touch " A "/events.out.tfevents.0000000001.host.1.waker"};
    wk_run_config config = short_run();
    for (int i = 0; i < 4; i++) {
        run_command("rm -rf " A " && mkdir " A);
        run_command("%s", made[i]);
        keep_copy();
        assert_refused(train(&config, A), WK_E_INPUT, "a new run would overwrite it");
        expect_copy();
    }
}

TEST_CASE(a_run_killed_before_its_first_checkpoint_begins_again)
{
    wk_run_config config = short_run();
    for (int i = 0; i < 2; i++) {
        wk_trainer *t = NULL;
        assert_ok(trainer_create(&config, A, &t, &err));
        assert_int_equal(t->checkpoints.resumed_from, -1);
        assert_true(wk_path_exists(A "/checkpoints/none-yet"));
        for (int k = 0; k < 30; k++)
            assert_ok(trainer_step(t, NULL, &err));
        trainer_destroy(t);
    }
    assert_ok(train(&config, A));
    assert_false(wk_path_exists(A "/checkpoints/none-yet"));
    assert_ok(train(&config, B));
    same_end(A, B);
}

TEST_CASE(what_links_lead_to_is_neither_deleted_nor_pruned)
{
    wk_run_config config = finished_run();
    make_outside();
    run_command("ln -s ../../" OUTSIDE " " A "/checkpoints/unfinished-step-000000000160 && "
                "ln -s ../../" OUTSIDE " " A "/checkpoints/unfinished-thesis && "
                "ln -s ../../" OUTSIDE " " A "/checkpoints/step-000000000007");
    assert_ok(train(&config, A));
    expect_outside();
    run_command("test -L " A "/checkpoints/unfinished-step-000000000160 -a -L " A
                "/checkpoints/step-000000000007");
}

TEST_CASE(a_checkpoint_with_files_of_others_is_not_deleted)
{
    wk_run_config config = finished_run();
    run_command("mkdir " A "/checkpoints/unfinished-step-000000000009 && touch " A
                "/checkpoints/unfinished-step-000000000009/run.bin && "
                "mkdir " A "/checkpoints/unfinished-step-000000000010 && touch " A
                "/checkpoints/unfinished-step-000000000010/notes && "
                "cp -r " A "/checkpoints/step-000000000150 " A "/checkpoints/step-000000000008 && "
                "touch " A "/checkpoints/step-000000000008/notes");
    assert_ok(train(&config, A));
    assert_false(wk_path_exists(A "/checkpoints/unfinished-step-000000000009"));
    assert_true(wk_path_exists(A "/checkpoints/unfinished-step-000000000010/notes"));
    assert_true(wk_path_exists(A "/checkpoints/step-000000000008/run.bin"));
    assert_false(wk_path_exists(A "/checkpoints/step-000000000150"));
}

TEST_CASE(names_that_only_look_like_checkpoints_do_not_count)
{
    wk_run_config config = finished_run();
    run_command("cp -r " A "/checkpoints/step-000000000150 " A
                "/checkpoints/step-000000000150.bak && "
                "mkdir " A "/checkpoints/step-000000000999.bad " A "/checkpoints/step-998 " A
                "/checkpoints/step--00000000001");
    assert_ok(train(&config, A));
    assert_true(wk_path_exists(A "/checkpoints/step-000000000150.bak/run.bin"));
    assert_true(wk_path_exists(A "/checkpoints/step-000000000999.bad"));
    wk_steps steps = {0};
    assert_ok(wk_checkpoint_list(A, &steps, &err));
    assert_int_equal(steps.count, config.checkpoint_keep);
    assert_true(steps.items[steps.count - 1] >= 250 && steps.items[steps.count - 1] < 260);
    wk_array_free(&steps);
    assert_ok(train(&config, B));
    same_end(A, B);
}

// Moves NAME of the run outside and puts a link in its place.
static void link_outside(const char *name)
{
    run_command("mkdir -p " OUTSIDE "/kept && cp -a " A "/%s " OUTSIDE "/kept/ && cp -a " OUTSIDE
                "/kept " OUTSIDE "/before && rm -rf " A "/%s && ln -s $PWD/" OUTSIDE
                "/kept/$(basename "
                "%s) " A "/%s",
                name, name, name, name);
}

TEST_CASE(what_a_run_writes_to_may_be_no_link)
{
    static const char *const names[] = {"metrics.jsonl", "replay", "checkpoints",
                                        "snapshots",     "lock",   "replay/replay-00000000.log"};
    wk_run_config config = finished_run();
    run_command("cp -a " A " " CALM);
    for (int i = 0; i < 6; i++) {
        run_command("rm -rf " A " " OUTSIDE " && cp -a " CALM " " A);
        link_outside(names[i]);
        assert_refused(train(&config, A), WK_E_INPUT, "is a symbolic link");
        run_command("diff -r " OUTSIDE "/kept " OUTSIDE "/before");
    }
    remove_tree(CALM);
}

TEST_CASE(an_event_file_may_be_no_link)
{
    wk_run_config config = short_run();
    config.log_tensorboard = true;
    assert_ok(train(&config, A));
    config.steps = 200;
    run_command("mkdir " OUTSIDE " && mv " A "/events* " OUTSIDE "/ && cp -r " OUTSIDE " " B
                " && ln -s $PWD/" OUTSIDE "/* " A "/");
    assert_refused(train(&config, A), WK_E_INPUT, "is a symbolic link");
    run_command("diff -r " OUTSIDE " " B);
}

TEST_CASE(the_directory_of_a_run_may_be_a_link)
{
    wk_run_config config = short_run();
    run_command("mkdir " OUTSIDE " && ln -s " OUTSIDE " " A);
    config.steps = 100;
    assert_ok(train(&config, A));
    config.steps = 150;
    assert_ok(train(&config, A));
    assert_ok(train(&config, B));
    same_end(A, B);
    assert_int_equal(unlink(A), 0);
}

// What is done to a run when it tells of its first checkpoint.
typedef struct intrusion {
    const char *message;
    void (*act)(void);
    bool done;
} intrusion;

static void intrude(void *context, wk_log_level level, const char *message)
{
    intrusion *i = context;
    (void)level;
    if (i->done || !i->act || !strstr(message, i->message)) return;
    i->done = true;
    i->act();
}

static wk_status train_disturbed(const wk_run_config *config, void (*act)(void),
                                 wk_status_line *line)
{
    wk_run_end end;
    intrusion disturb = {"checkpoint at agent step", act, false};
    wk_run_control control = {.log = {intrude, &disturb, WK_LOG_DEBUG}, .line = line};
    wk_error said = {0};
    wk_status status = wk_train(config, A, NULL, &control, &end, &said);
    assert_true(disturb.done);
    err = said;
    return status;
}

// Moves the run and lets another, whole one run at its place.
static void move_and_train(void)
{
    wk_run_config config = short_run();
    config.seed = 8;
    assert_int_equal(rename(A, B), 0);
    assert_ok(train(&config, A));
}

TEST_CASE(a_run_that_is_moved_goes_on_where_it_is)
{
    wk_run_config config = short_run(), other = config;
    snprintf(config.tasks, sizeof config.tasks, "east");
    config.eval_every = 60, config.eval_envs = 2;
    other.seed = 8;
    assert_ok(train_disturbed(&config, move_and_train, NULL));
    assert_ok(train(&config, CALM));
    same_end(CALM, B);
    run_command("diff -r " CALM "/eval " B "/eval && diff -r " CALM "/snapshots " B "/snapshots");
    remove_tree(CALM);
    assert_ok(train(&other, CALM));
    same_end(CALM, A);
    run_command("test $(ls " A "/snapshots | wc -l) = 1");
    remove_tree(CALM);
}

static void take_lock_away_and_train(void)
{
    wk_run_config config = short_run();
    assert_int_equal(unlink(A "/lock"), 0);
    assert_ok(train(&config, A));
    keep_copy();
}

TEST_CASE(a_run_whose_lock_was_taken_away_stops_before_it_writes)
{
    wk_run_config config = short_run();
    assert_refused(train_disturbed(&config, take_lock_away_and_train, NULL), WK_E_IO,
                   "'" A "/lock' was deleted or replaced");
    expect_copy();
    assert_ok(train(&config, CALM));
    same_end(CALM, A);
    remove_tree(CALM);
}

static void delete_run(void)
{
    remove_tree(A);
}

// On a terminal the message would else stand behind the status line.
TEST_CASE(a_run_whose_directory_was_deleted_stops_and_ends_its_status_line)
{
    wk_run_config config = short_run();
    wk_status_line line;
    char last[2] = "";
    FILE *terminal = tmpfile();
    assert_non_null(terminal);
    wk_status_line_start(&line, fileno(terminal), 0);
    line.live = true;
    assert_refused(train_disturbed(&config, delete_run, &line), WK_E_IO, "was deleted or replaced");
    assert_false(wk_path_exists(A));
    assert_int_equal(fseek(terminal, -1, SEEK_END), 0);
    assert_non_null(fgets(last, sizeof last, terminal));
    assert_string_equal(last, "\n");
    fclose(terminal);
}

TEST_CASE(errors_of_the_lock_say_what_they_are)
{
    wk_run_config config = short_run();
    fault_arm(FAULT_LOCK, 0, ENOLCK);
    assert_refused(train(&config, A), WK_E_IO, strerror(ENOLCK));
    assert_true(fault_disarm(FAULT_LOCK));
}

static wk_adapt_config one_task(const char *directory)
{
    return (wk_adapt_config){
        .directory = directory, .snapshot = WK_STEP_LAST, .tasks = "east", .updates = 30};
}

// Adapts; `act` (NULL: nothing) happens at the first checkpoint.
static wk_status adapt(const wk_adapt_config *config, void (*act)(void))
{
    wk_run_end end;
    intrusion disturb = {"checkpoint at update", act, false};
    wk_run_control control = {.log = {intrude, &disturb, WK_LOG_DEBUG}};
    err = (wk_error){0};
    wk_status status = wk_adapt(config, &control, &end, &err);
    assert_int_equal(disturb.done, act != NULL);
    return status;
}

#define ADAPTED "/adapt/step-000000000150"

static void move_away(void)
{
    assert_int_equal(rename(A, B), 0);
    run_command("mkdir -p " A ADAPTED);
}

TEST_CASE(an_adaptation_that_is_moved_goes_on_where_it_is)
{
    finished_run();
    run_command("cp -a " A " " CALM);
    wk_adapt_config config = one_task(A), calm = one_task(CALM);
    assert_ok(adapt(&config, move_away));
    assert_ok(adapt(&calm, NULL));
    same_file(CALM, B, ADAPTED "/weights.safetensors", 0, 0);
    run_command("rmdir " A ADAPTED);
    remove_tree(CALM);
}

static void take_adapt_lock_away(void)
{
    assert_int_equal(unlink(A ADAPTED "/lock"), 0);
    keep_copy();
}

TEST_CASE(an_adaptation_whose_lock_was_taken_away_stops_before_it_writes)
{
    finished_run();
    wk_adapt_config config = one_task(A);
    assert_refused(adapt(&config, take_adapt_lock_away), WK_E_IO, "was deleted or replaced");
    expect_copy();
}

TEST_CASE(a_restart_that_cannot_begin_leaves_the_policies)
{
    finished_run();
    wk_adapt_config config = one_task(A);
    assert_ok(adapt(&config, NULL));
    run_command("mv " A "/replay " OUTSIDE);
    keep_copy();
    config.restart = true;
    assert_refused(adapt(&config, NULL), WK_E_NOT_FOUND, "the data of the run");
    expect_copy();
    // Nor does one that is stopped before its first update.
    run_command("mv " OUTSIDE " " A "/replay");
    keep_copy();
    volatile sig_atomic_t stop = 1;
    wk_run_control control = {.stop = &stop};
    wk_run_end end;
    assert_ok(wk_adapt(&config, &control, &end, &err));
    assert_int_equal(end, WK_RUN_INTERRUPTED);
    expect_copy();
}

TEST_CASE(metrics_of_others_are_not_emptied_by_an_adaptation)
{
    finished_run();
    run_command("mkdir -p " A ADAPTED " && echo mine > " A ADAPTED "/metrics.jsonl");
    keep_copy();
    wk_adapt_config config = one_task(A);
    assert_refused(adapt(&config, NULL), WK_E_INPUT, "no adapt.yaml");
    expect_copy();
}

// Neither the folder of all of them nor that of one: what is behind it is another's.
TEST_CASE(the_folder_of_an_adaptation_or_a_fine_tuning_may_be_no_link)
{
    static const char *const links[] = {ADAPTED ".other", "/finetune/step-000000000150-east",
                                        "/finetune", "/adapt"};
    finished_run();
    wk_adapt_config adaptation = one_task(A);
    wk_finetune_config tuning = {
        .directory = A, .snapshot = WK_STEP_LAST, .task = "east", .steps = 20};
    wk_run_control control = {0};
    wk_run_end end;
    adaptation.updates = 3;
    assert_ok(adapt(&adaptation, NULL));
    adaptation.name = "other";
    run_command("mkdir " OUTSIDE);
    for (int i = 0; i < 4; i++) {
        bool tunes = strstr(links[i], "finetune") != NULL;
        run_command("mkdir -p $(dirname " A "%s) && rm -rf " A "%s && ln -s $PWD/" OUTSIDE " " A
                    "%s",
                    links[i], links[i], links[i]);
        assert_refused(tunes ? wk_finetune(&tuning, &control, &end, &err)
                             : adapt(&adaptation, NULL),
                       WK_E_INPUT, "is a symbolic link");
        run_command("test -z \"$(ls -A " OUTSIDE ")\"");
    }
}

TEST_CASE(the_newest_of_many_snapshots_is_found)
{
    uint64_t step = 0;
    run_command(
        "mkdir -p " A "/snapshots && cd " A "/snapshots && for i in $(seq 1 1500); do : > "
        "step-$(printf %%012d $i).safetensors; done && : > step-000000009999.safetensors.bak");
    assert_ok(wk_weights_find(A, (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT}, WK_STEP_LAST,
                              &step, &err));
    assert_int_equal(step, 1500);
    fault_arm(FAULT_LIST, 700, EIO);
    assert_refused(wk_weights_find(A, (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT},
                                   WK_STEP_LAST, &step, &err),
                   WK_E_IO, "snapshots");
    assert_true(fault_disarm(FAULT_LIST));
}

int main(void)
{
    return run_each_test(clean, clean);
}
