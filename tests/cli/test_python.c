// Runs in environments that functions of Python make: trained, resumed, read, killed. The function
// runs by the caller's word only, and no process of it is left behind.
#include "cli/long_runs.h"
#include "support/python.h"
#include <stdlib.h>

#define OPTIONS TINY_OPTIONS " --log.tensorboard false --tasks all --quiet"
#define LONG_OPTIONS OPTIONS " --steps 1e9 --checkpoint.every_steps 30"

static int setup_runs(void **state)
{
    if (setup(state) != 0) return -1;
    setenv("SMALL_ENVS_LOADED", load_mark, 1);
    shell("cp " WAKER_SOURCE_DIR "/tests/plugins/small_envs.py small.py");
    return 0;
}

// With their guards.
static int count_workers(void)
{
    char command[1200], count[16] = "";
    snprintf(command, sizeof command, "pgrep -fc '[s]erve %s/small.py'", place);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(count, sizeof count, pipe));
    pclose(pipe);
    return atoi(count);
}

static void expect_no_workers(void)
{
    wait_until("! pgrep -f '[s]erve %s/small.py' >/dev/null", place);
}

TEST_CASE(a_run_is_trained_and_evaluated)
{
    python_for_workers();
    program_succeed("train --logdir made --python small:Walk " OPTIONS);
    assert_true(was_loaded());
    char path[1200];
    snprintf(path, sizeof path, "plugin: \"%s/small.py:Walk\"", place);
    expect_file_parts("made/config.yaml", path, "domain: walk");
    program_prints("eval made --python small.py:Walk --envs 2 --cases dr", "south");
    program_succeed("train --logdir numbers --python small:Numbers " OPTIONS);
    program_succeed("eval numbers --plugin small.py:Numbers --envs 2 --cases dr");
    expect_no_workers();
    was_loaded();
}

// What reads a run runs nothing of it.
TEST_CASE(code_is_run_only_when_named)
{
    python_for_workers();
    static const char *const readers[] = {"ckpt made",
                                          "report made --out page",
                                          "curriculum made",
                                          "top made --once",
                                          "export made --out episodes --episodes 2",
                                          "adapt made --task all --updates 2 --quiet"};
    static const char *const refused[] = {"eval made --envs 1 --cases dr",
                                          "openloop made --out x.gif",
                                          "model-error made --envs 1",
                                          "relabel made --reward none.so",
                                          "finetune made --task east --steps 10",
                                          "train --logdir made",
                                          "train --logdir new --from made",
                                          "config --config-file made/config.yaml"};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        program_succeed("%s", readers[i]);
    char said[2300];
    snprintf(said, sizeof said, " --plugin %s/small.py:Walk\n", place);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        program_refuses(refused[i], said);
    shell("sed 's#plugin: \".*#plugin: small:Walk#' made/config.yaml >module.yaml");
    program_refuses("config --config-file module.yaml", "add --plugin FILE");
    assert_false(was_loaded());
}

TEST_CASE(a_name_without_a_function_is_refused)
{
    static const char *const wrong[] = {"small.Walk", "small.py", "small.py:"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        program_expect_error(program_run("train --logdir new --python %s", wrong[i]), 2,
                             "--python takes MODULE:FUNCTION or FILE.py:FUNCTION");
        program_expect_error(program_run("eval new --python=%s", wrong[i]), 2,
                             "--python takes MODULE:FUNCTION or FILE.py:FUNCTION");
    }
    program_refuses("envs check small.py", "environments of Python are named FILE.py:FUNCTION");
}

static pid_t start_long(const char *directory, const char *function)
{
    char options[1024];
    snprintf(options, sizeof options, "train --logdir %s --python small:%s " LONG_OPTIONS,
             directory, function);
    pid_t child = start(options);
    wait_for_metrics(directory); // episodes have ended
    assert_int_equal(count_workers(), 2 * 3);
    return child;
}

TEST_CASE(a_run_that_goes_on_begins_new_episodes)
{
    python_for_workers();
    program_succeed("train --logdir on --python small:Walk " OPTIONS
                    " --steps 100"); // in the middle of episodes
    program_result r = program_succeed("train --logdir on --python small:Walk --steps 200");
    expect_parts(r.err, "cannot save their state: the 3 episodes that were running end");
    program_succeed("ckpt on --check");
}

TEST_CASE(an_interrupted_program_leaves_no_process)
{
    python_for_workers();
    pid_t child = start_long("long", "Walk");
    kill(child, SIGINT);
    assert_int_equal(exit_code(child), 75);
    expect_no_workers();
}

TEST_CASE(environments_are_examined)
{
    python_for_workers();
    program_prints("envs check small.py:Saved", "advice: episodes have at most 13 rows",
                   "domain 'saved' is sound (1 advice)\n");
    program_prints("envs check small:Numbers", "advice: its states cannot be saved");
    program_result r = program_run("envs check small.py:raises");
    assert_int_equal(r.code, 3);
    expect_parts(r.out, "ValueError: no such arena");
}

// Its own reason is the one finding, and nothing is said of functions in C.
static void expect_reason(const char *function, const char *reason)
{
    program_result r = program_run("envs check small.py:%s", function);
    assert_int_equal(r.code, 3);
    const char *first = strchr(r.out, '\n');
    if (!first || strncmp(r.out, "fault: θ (", 10) != 0 || !strstr(r.out, reason) ||
        strstr(r.out, reason) > first || !strstr(first, "has 1 fault\n") ||
        strchr(first + 1, '\n')[1] || strstr(r.out, "WAKER_PYTHON_TIMEOUT") ||
        strstr(r.out, "envs check"))
        fail_msg("%s: %s", function, r.out);
}

TEST_CASE(the_examination_gives_the_reason_of_python)
{
    python_for_workers();
    char fault[1100];
    snprintf(fault, sizeof fault, "%s/fault", place);
    setenv("SMALL_ENVS_FAULT", fault, 1);
    expect_reason("Raises", "step 1: step raises ArithmeticError: the point is stuck (");
    expect_reason("Unsaved", "step 6: save_state raises ArithmeticError: the film is full (");
    shell("echo raise >fault"); // in one episode of many
    expect_reason("Broken", "step 6: step raises ArithmeticError: the point fell off (");
    shell("echo tuple >fault");
    expect_reason("Broken", "step 6: step returned a tuple of 4; ");
    shell("echo hang >fault");
    setenv("WAKER_PYTHON_TIMEOUT", "2", 1);
    program_result r = program_run("envs check small.py:Broken");
    unsetenv("WAKER_PYTHON_TIMEOUT");
    assert_int_equal(r.code, 3);
    expect_parts(r.out, "did not answer for 2 s; an environment that needs longer gets "
                        "it by WAKER_PYTHON_TIMEOUT");
}

TEST_CASE(saved_states_continue_to_the_same_bytes)
{
    python_for_workers();
    static const char train[] = "train --python small:Saved " OPTIONS;
    program_succeed("%s --logdir whole --steps 300", train);
    program_succeed("%s --logdir parts --steps 100", train);
    program_succeed("%s --logdir parts --steps 300", train);
    shell("cmp whole/snapshots/step-000000000300.safetensors "
          "parts/snapshots/step-000000000300.safetensors");
}

TEST_CASE(a_killed_program_leaves_no_process)
{
    python_for_workers();
    char started[1100], fault[1100];
    snprintf(started, sizeof started, "%s/started", place);
    snprintf(fault, sizeof fault, "%s/no-fault", place);
    setenv("SMALL_ENVS_DETACHED", started, 1);
    setenv("SMALL_ENVS_FAULT", fault, 1);
    pid_t child = start_long("killed", "Detached");
    shell("test $(wc -l <started) -ge 3");
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_no_workers();
    // Nor what the environments have put into sessions of their own.
    wait_until("! pgrep -f '%s$' >/dev/null", started);
}

TEST_CASE(a_killed_worker_is_told_of_and_replaced)
{
    python_for_workers();
    char fault[1100];
    snprintf(fault, sizeof fault, "%s/fault", place);
    setenv("SMALL_ENVS_FAULT", fault, 1);
    shell("echo kill >fault");
    program_result r = program_succeed("train --logdir hurt --python small:Broken " TINY_OPTIONS
                                       " --log.tensorboard false");
    expect_parts(r.err, "was ended by signal 9 (Killed); its episode ends there, flagged, "
                        "and its process is started again (1 failed so far)");
    shell("echo exit always >fault");
    r = program_run("train --logdir hurt2 --python small:Broken " OPTIONS);
    assert_int_not_equal(r.code, 0);
    expect_parts(r.err, "failed in 3 episodes in a row, the last time because process ",
                 "waker envs check ");
    // The run ends before an environment has failed three times.
    shell("echo raise always >fault");
    r = program_run("train --logdir hurt4 --python small:Broken " OPTIONS
                    " --prefill 30 --steps 30");
    assert_int_not_equal(r.code, 0);
    expect_parts(r.err,
                 "episodes of the run diverged: an environment failed, the last time because "
                 "ArithmeticError: the point fell off (");
    shell("echo shape always >fault");
    program_expect_error(program_run("train --logdir hurt3 --python small:Broken " OPTIONS), 1,
                         "observation_space says uint8 (32, 48, 3)");
    program_refuses("train --logdir none --python nowhere:f " OPTIONS,
                    "there is no Python module 'nowhere'");
    expect_no_workers();
}

TEST_MAIN(setup_runs, teardown)
