// Whole runs in a directory: the same bytes twice, with and without logs, interrupted or not; and
// what a directory with a run in it refuses.
#include "train/runs.h"
#include "train/train.h"
#include <fcntl.h>
#include <sys/file.h>

#define A "run-a.tmp"
#define B "run-b.tmp"

static wk_error err;

static int clean(void **state)
{
    remove_tree(A);
    remove_tree(B);
    return 0;
}

static wk_status training(const void *config, const wk_run_control *control, wk_run_end *end,
                          wk_error *why)
{
    return wk_train(config, B, NULL, control, end, why);
}

TEST_CASE(the_same_seed_twice_gives_the_same_bytes_and_another_seed_others)
{
    wk_run_config config = quiet_run();
    run_to_end(&config, A);
    config.env_threads = 2; // and whatever the number of threads
    run_to_end(&config, B);
    same_end(A, B);
    char name[128];
    snprintf(name, sizeof name, "checkpoints/step-%012" PRIu64 "/run.bin", newest_step(A));
    same_file(A, B, name, 0, 0);
    remove_tree(B);
    config.seed++;
    run_to_end(&config, B);
    other_file(A, B, "metrics.jsonl");
}

TEST_CASE(logs_and_pictures_do_not_change_a_run)
{
    wk_run_config config = tiny_run();
    run_to_end(&config, A);
    config = quiet_run();
    config.log_images_every = 0;
    run_to_end(&config, B);
    same_learning(A, B);
}

// Whether the event files of a run hold `text`, a regular expression.
static bool events_hold(const char *directory, const char *text)
{
    char command[256];
    snprintf(command, sizeof command, "LC_ALL=C grep -aqP '%s' %s/events.*", text, directory);
    return system(command) == 0;
}

TEST_CASE(the_logs_hold_heat_maps_and_a_clip_of_predictions)
{
    wk_run_config config = tiny_run();
    config.steps = 200;
    run_to_end(&config, A);
    // Maps of the report, one to an image: 440 pixels. Single environments are in them alone.
    assert_true(events_hold(A, "train_env/episodes"));
    assert_true(events_hold(A, "IHDR\\x00\\x00\\x01\\xB8"));
    assert_true(events_hold(A, "train_env/probability"));
    assert_false(events_hold(A, "num_episodes"));
    assert_true(events_hold(A, "train_openl_image"));
    assert_true(events_hold(A, "GIF89a"));
    config.log_images_every = 0;
    run_to_end(&config, B);
    assert_true(events_hold(B, "losses/model_loss"));
    assert_false(events_hold(B, "train_openl_image"));
}

TEST_CASE(a_run_that_is_stopped_again_and_again_ends_in_the_same_bytes)
{
    wk_run_config config = quiet_run();
    run_to_end(&config, A);
    in_pieces(training, &config, 1, 3);
    same_end(A, B);
}

TEST_CASE(a_run_out_of_time_is_saved_and_continues)
{
    wk_run_config config = quiet_run();
    config.minutes = 1e-7;
    wk_run_control control = {0};
    wk_run_end end;
    assert_ok(wk_train(&config, A, NULL, &control, &end, &err));
    assert_int_equal(end, WK_RUN_OUT_OF_TIME);
    assert_true(newest_step(A) < 400);
    config.minutes = 0;
    run_to_end(&config, A);
    run_to_end(&config, B);
    same_end(A, B);
}

TEST_CASE(a_finished_run_can_be_made_longer)
{
    wk_run_config config = quiet_run();
    config.steps = 200;
    run_to_end(&config, A);
    config.steps = 400;
    run_to_end(&config, A);
    run_to_end(&config, B);
    same_end(A, B);
}

TEST_CASE(a_finished_run_that_is_started_again_changes_nothing)
{
    wk_run_config config = tiny_run();
    config.steps = 150;
    run_to_end(&config, A);
    run_command("rm -rf " B " && cp -r " A " " B);
    config.steps = 120;
    config.log_every = 7;
    run_to_end(&config, A);
    run_command("diff -r " A " " B);
}

TEST_CASE(temporary_files_of_killed_processes_are_swept)
{
    wk_run_config config = quiet_run();
    config.steps = 150;
    run_to_end(&config, A);
    run_command("cd " A " && touch config.yaml.tmp.77.0 plugin.json.tmp.8.1 "
                "snapshots/step-000000000150.safetensors.tmp.77.3 mine.tmp.1.1 "
                "config.yaml.tmp.x snapshots/step-15.safetensors.tmp.1.1");
    config.steps = 200;
    run_to_end(&config, A);
    run_command("cd " A " && test $(find . -name '*.tmp.*' | wc -l) = 3 && "
                "ls mine.tmp.1.1 config.yaml.tmp.x "
                "snapshots/step-15.safetensors.tmp.1.1 >/dev/null");
}

TEST_CASE(two_processes_cannot_train_in_one_directory)
{
    wk_run_config config = quiet_run();
    assert_ok(wk_dir_create(A, &err));
    int lock = open(A "/lock", O_RDWR | O_CREAT, 0666);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    wk_run_control control = {0};
    wk_run_end end;
    assert_refused(wk_train(&config, A, NULL, &control, &end, &err), WK_E_INPUT, "another process");
    close(lock);
    config.steps = 60;
    run_to_end(&config, A);
}

TEST_CASE(a_directory_with_another_run_is_refused_naming_the_key)
{
    wk_run_config config = quiet_run();
    config.steps = 60;
    run_to_end(&config, A);
    config.deter = 7;
    wk_run_control control = {0};
    wk_run_end end;
    assert_refused(wk_train(&config, A, NULL, &control, &end, &err), WK_E_INPUT, "rssm.deter");
    assert_non_null(strstr(err.message, A));
    // What was refused has not touched the run.
    config.deter = 6;
    run_to_end(&config, A);
}

TEST_CASE(keep_says_how_many_checkpoints_stay)
{
    wk_run_config config = quiet_run();
    config.checkpoint_keep = 3;
    run_to_end(&config, A);
    wk_steps steps = {0};
    assert_ok(wk_checkpoint_list(A, &steps, &err));
    assert_int_equal(steps.count, 3);
    for (int i = 0; i < 3; i++)
        assert_ok(wk_checkpoint_verify(A, steps.items[i], &err));
    assert_true(steps.items[0] < steps.items[1] && steps.items[1] < steps.items[2]);
    wk_array_free(&steps);
}

TEST_MAIN_EACH(clean, clean)
