// Runs started through the public API: the same bytes as the command's, stopped and continued by
// either, and never with code that the caller did not name.
#include "cli/long_runs.h"
#include "run/disk.h"
#include "waker/train.h"
#include <locale.h>

static wk_error err;
static const char *const toy[] = {"toy", NULL};

// What TINY_OPTIONS says, without TensorBoard files.
static const wk_train_setting tiny[] = {{"seed", "5"},
                                        {"steps", "400"},
                                        {"prefill", "60"},
                                        {"env.count", "3"},
                                        {"env.threads", "1"},
                                        {"train_every", "6"},
                                        {"replay.capacity", "2000"},
                                        {"encoder.depth", "1"},
                                        {"rssm.deter", "6"},
                                        {"rssm.hidden", "6"},
                                        {"rssm.stoch", "3"},
                                        {"rssm.classes", "3"},
                                        {"units", "6"},
                                        {"layers", "1"},
                                        {"ensemble.size", "2"},
                                        {"batch", "2"},
                                        {"length", "6"},
                                        {"horizon", "3"},
                                        {"checkpoint.every_steps", "50"},
                                        {"snapshot.every", "200"},
                                        {"log.every", "30"},
                                        {"log.images_every", "90"},
                                        {"log.tensorboard", "false"},
                                        {NULL, NULL}};
#define OPTIONS TINY_OPTIONS " --log.tensorboard false"

// The command's run, for all tests to compare with.
static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --quiet --logdir command " OPTIONS));
    return 0;
}

static wk_train_config tiny_config(const char *directory)
{
    wk_train_config config = wk_train_config_default();
    config.directory = directory;
    config.blocks = toy;
    config.settings = tiny;
    return config;
}

static void expect_end(const wk_train_config *config, wk_run_end expected)
{
    wk_run_end end;
    err = (wk_error){0};
    assert_ok(wk_train_run(config, &end, &err));
    assert_string_equal(err.message, ""); // what was not there and need not be is no error
    assert_int_equal(end, expected);
}

static void expect_the_commands_bytes(const char *directory)
{
    char command[512];
    inside("command", command);
    same_end(command, directory);
    same_file(command, directory, "config.yaml", 0, 0);
}

typedef struct watcher {
    int calls, messages;
    int64_t stop_at;
    volatile sig_atomic_t stop;
    wk_train_progress last;
} watcher;

static void on_progress(void *context, const wk_train_progress *now)
{
    watcher *w = context;
    assert_true(now->steps >= w->last.steps && now->total == 400);
    w->calls++;
    w->last = *now;
    if (w->stop_at && now->steps >= w->stop_at) w->stop = 1;
}

static void on_message(void *context, bool is_warning, const char *line)
{
    watcher *w = context;
    assert_false(is_warning);
    if (strstr(line, "toy")) w->messages++;
}

TEST_CASE(a_run_has_the_bytes_of_the_commands)
{
    watcher w = {0};
    char path[512];
    wk_train_config config = tiny_config(inside("library", path));
    config.progress = on_progress, config.message = on_message, config.context = &w;
    expect_end(&config, WK_RUN_FINISHED);
    expect_the_commands_bytes(path);
    assert_true(w.calls > 50);
    assert_int_equal(w.messages, 1);
    assert_true(w.last.steps >= 400 && w.last.updates > 0);
    assert_true(isfinite(w.last.model_loss) && isfinite(w.last.mean_error));
    assert_true(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
    // A run that is done is left as it is.
    expect_end(&config, WK_RUN_FINISHED);
    expect_the_commands_bytes(path);
}

static void stop_in(const char *directory)
{
    watcher w = {.stop_at = 150};
    wk_train_config config = tiny_config(directory);
    config.progress = on_progress, config.context = &w, config.stop = &w.stop;
    expect_end(&config, WK_RUN_INTERRUPTED);
    assert_in_range(w.last.steps, 150, 160);
}

TEST_CASE(a_stopped_run_goes_on_by_its_directory_alone)
{
    char path[512];
    stop_in(inside("stopped", path));
    wk_train_config config = wk_train_config_default();
    config.directory = path;
    expect_end(&config, WK_RUN_FINISHED);
    expect_the_commands_bytes(path);
}

TEST_CASE(the_command_goes_on_with_the_librarys_run)
{
    char path[512];
    stop_in(inside("handed", path));
    program_expect_success(program_run("train --quiet --logdir handed"));
    expect_the_commands_bytes(path);
}

TEST_CASE(another_runs_settings_are_taken_with_from)
{
    char path[512], from[512];
    wk_train_config config = wk_train_config_default();
    config.directory = inside("other", path);
    config.from = inside("command", from);
    expect_end(&config, WK_RUN_FINISHED);
    expect_the_commands_bytes(path);
}

TEST_CASE(bad_input_is_said_and_leaves_no_directory)
{
    wk_run_end end;
    char path[512];
    wk_train_config config = wk_train_config_default();
    assert_refused(wk_train_run(&config, &end, &err), WK_E_INPUT, "directory");
    config.directory = inside("bad", path);
    assert_refused(wk_train_run(&config, &end, &err), WK_E_INPUT, "holds no run");
    config.blocks = (const char *const[]){"toi", NULL};
    assert_refused(wk_train_run(&config, &end, &err), WK_E_NOT_FOUND, "did you mean 'toy'");
    config.blocks = toy;
    config.settings = (const wk_train_setting[]){{"stepz", "4"}, {NULL, NULL}};
    assert_refused(wk_train_run(&config, &end, &err), WK_E_INPUT, "stepz");
    config.settings = (const wk_train_setting[]){{"steps", NULL}, {NULL, NULL}};
    assert_refused(wk_train_run(&config, &end, &err), WK_E_INPUT, "steps: the value is missing");
    assert_false(wk_path_exists(path));
}

TEST_CASE(a_stop_ends_the_wait_for_another_process)
{
    char path[512];
    static const volatile sig_atomic_t stop = 1;
    wk_dir *dir;
    wk_lock lock = {0};
    wk_train_config config = tiny_config(inside("held", path));
    config.stop = &stop;
    assert_ok(wk_dir_create(path, &err));
    assert_ok(wk_dir_open(NULL, path, &dir, &err));
    assert_ok(wk_lock_take(dir, &lock, &err));
    expect_end(&config, WK_RUN_INTERRUPTED);
    wk_lock_release(&lock);
    wk_dir_close(dir);
    shell("ls held | grep -qx lock");
}

// The plug-in leaves a file behind when it is loaded.
TEST_CASE(code_is_loaded_only_where_the_settings_name_it)
{
    char path[512], from[512], mark[512], plugin[512];
    wk_run_end end;
    setenv("MARK_FILE", inside("../LOADED", mark), 1);
    setenv("XDG_CONFIG_HOME", place, 1);
    shell("cp " WAKER_BINARY_DIR "/tests/plugins/marker1.so m.so");
    wk_train_setting settings[sizeof tiny / sizeof *tiny + 1];
    memcpy(settings, tiny, sizeof tiny);
    settings[sizeof tiny / sizeof *tiny - 1] = (wk_train_setting){"plugin", inside("m.so", plugin)};
    settings[sizeof tiny / sizeof *tiny] = (wk_train_setting){NULL, NULL};
    wk_train_config config = tiny_config(inside("made", path));
    config.settings = settings;
    expect_end(&config, WK_RUN_FINISHED);
    assert_true(wk_path_exists(mark));
    remove(mark);
    wk_train_config next = wk_train_config_default();
    next.directory = path;
    assert_refused(wk_train_run(&next, &end, &err), WK_E_INPUT, "add --plugin");
    next.directory = inside("next", path), next.from = inside("made", from);
    assert_refused(wk_train_run(&next, &end, &err), WK_E_INPUT, "add --plugin");
    assert_false(wk_path_exists(mark));
}

TEST_MAIN(setup_run, teardown)
