// How the program begins: signals that come before the work, standard streams that are closed, and
// files that have a size limit.
#include "cli/long_runs.h"

#define TRAIN "train --logdir %s " TINY_OPTIONS " --log.tensorboard false --tasks all --quiet"
#define MARKER WAKER_BINARY_DIR "/tests/plugins/marker1.so"

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed(TRAIN, "base");
    shell("cat >grid.yaml <<'END'\n"
          "blocks: {domain: toy}\n"
          "keys: {seed: 0, steps: 90, prefill: 60, env.count: 3, env.threads: 1, batch: 2, "
          "length: 6, horizon: 3, snapshot.every: 0, log.tensorboard: false}\n"
          "END\n" WAKER_BINARY_DIR "/waker sweep grid.yaml --logdir grid --launch print --quiet "
          ">/dev/null");
    return 0;
}

// A process that has the signal blocked starts the program, which gets it when it is ready.
static pid_t start_and_signal(const char *command, int number, int after_ms)
{
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, number);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    pid_t child = start(command);
    sigprocmask(SIG_SETMASK, &before, NULL);
    pause_ms(after_ms);
    kill(child, number);
    return child;
}

TEST_CASE(a_stop_before_the_work_begins_ends_with_code_75_and_loses_nothing)
{
    static const char *const commands[] = {
        "train --logdir one " TINY_OPTIONS " --quiet",
        "train --logdir all " TINY_OPTIONS " --each curriculum.rule=waker-m,dr --quiet",
        "adapt base --task all --updates 5 --quiet",
        "finetune base --task west --steps 60 --quiet",
        "sweep run grid seed0 --quiet",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int code = exit_code(start_and_signal(commands[i], SIGTERM, 0));
        if (code != 75) fail_msg("%s: exit code %d", commands[i], code);
        program_succeed("%s", commands[i]);
    }
}

TEST_CASE(the_first_moments_of_a_run_are_no_different)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};
    char command[1024];
    snprintf(command, sizeof command, TRAIN " --steps %d", "moments", LONG_STEPS);
    for (int i = 0; i < 20; i++) {
        shell("rm -rf moments");
        assert_int_equal(exit_code(start_and_signal(command, signals[i % 5], i / 2)), 75);
    }
}

// The plug-in sends it as soon as it is loaded, while settings are still being read.
TEST_CASE(a_stop_while_a_plug_in_is_loaded_is_noticed)
{
    shell("cp " MARKER " m.so");
    program_result r = program_run_after(
        "MARK_SIGNAL=15", "train --logdir loading --plugin m.so --configs quick --steps 500 "
                          "--prefill 200 --batch 2 --length 6 --env.count 1 --quiet");
    program_expect_error(r, 75, "");
}

TEST_CASE(what_cannot_resume_is_ended_by_the_signal)
{
    int status;
    pid_t child = start_and_signal("eval base --envs 50 --quiet", SIGTERM, 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

// Not quiet: what it says must not end up in a file that got the number of a stream.
TEST_CASE(a_run_does_not_need_standard_streams)
{
    static const char *const streams[] = {">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        program_succeed("train --logdir streams-%zu " TINY_OPTIONS
                        " --log.tensorboard false --tasks all %s",
                        i, streams[i]);
        char name[32];
        snprintf(name, sizeof name, "streams-%zu", i);
        expect_same_end("base", name);
        program_succeed("ckpt %s --check --quiet", name);
        shell("test ! -s %s/lock", name);
    }
}

TEST_CASE(results_that_nobody_gets_are_a_failure)
{
    static const char *const commands[] = {
        "--version", "config --configs toy", "eval base --envs 1 --cases dr --json --quiet",
        "sweep grid.yaml --logdir printed --launch print --quiet"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_expect_error(program_run("%s >&-", commands[i]), 1,
                             "cannot write to standard output: it is closed");
        program_expect_error(program_run("%s >/dev/full", commands[i]), 1,
                             "cannot write to standard output: No space left on device");
    }
}

TEST_CASE(a_size_limit_of_files_is_an_error_with_a_message)
{
    static const char *const commands[] = {"eval base --envs 4 --cases dr --quiet",
                                           "report base --out page --reps 20 --quiet",
                                           "export base --out episodes --quiet"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result r = program_run_after("ulimit -f 1;", commands[i]);
        program_expect_error(r, 1, "File too large");
        expect_parts(r.err, "cannot write '");
    }
}

TEST_MAIN(setup_run, teardown)
