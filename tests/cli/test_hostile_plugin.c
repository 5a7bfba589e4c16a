// Plug-ins that change the process under the program, break down, or do not come back: what they
// leave is sound, and every way they fail has a message and an exit code.
#include "cli/long_runs.h"

#include <signal.h>

#define PLUGIN WAKER_BINARY_DIR "/tests/plugins/hostile.so"
#define OPTIONS TINY_OPTIONS " --env.count 1 --log.tensorboard false --tasks all --plugin " PLUGIN

static program_result train(const char *way, const char *run, const char *more)
{
    setenv("HOSTILE", way, 1);
    program_result r = program_run("train --logdir %s " OPTIONS " %s", run, more);
    unsetenv("HOSTILE");
    return r;
}

TEST_CASE(numbers_do_not_depend_on_the_locale)
{
    char locales[600], command[1400];
    snprintf(locales, sizeof locales, "%s/locales", place);
    snprintf(command, sizeof command, "mkdir %s && localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8",
             locales, locales);
    if (system(command) != 0) skip(); // the package 'locales' is not installed
    setenv("LOCPATH", locales, 1);
    program_expect_success(train("", "english", "--env.threads 2"));
    program_expect_success(train("locale", "german", "--env.threads 2"));
    shell("cmp english/config.yaml german/config.yaml");
    shell("cmp english/metrics.jsonl german/metrics.jsonl");
    program_expect_success(train("locale", "german", "--steps 450"));
    setenv("HOSTILE", "locale", 1);
    program_result r = program_run("eval german --envs 2 --cases dr --json --plugin " PLUGIN);
    unsetenv("HOSTILE");
    unsetenv("LOCPATH");
    program_expect_success(r);
    program_expect_json(r.out);
}

TEST_CASE(a_run_whose_episodes_all_diverge_stops)
{
    program_result r = train("nan", "nan", "");
    program_expect_error(r, 1, "diverged after 1 agent step and ends there");
    program_expect_error(r, 1, "episodes all diverged");
    r = train("nan", "nan-short", "--steps 70 --prefill 60");
    program_expect_error(r, 1, "all 70 episodes of the run diverged");
}

TEST_CASE(a_run_that_makes_no_step_stops)
{
    program_result r = train("reset", "reset", "");
    program_expect_error(r, 1, "episodes all diverged");
    r = train("over", "over", "");
    program_expect_error(r, 2, "ends episode 0 of seed");
}

TEST_CASE(a_run_whose_episodes_are_too_short_to_learn_from_stops)
{
    program_result r = train("short", "short", "");
    program_expect_error(r, 2, "has 4 rows, fewer than a sequence of 6, and is not trained on");
    program_expect_error(r, 2, "set length to 4 or less");
    r = train("short", "short-end", "--steps 90 --prefill 60");
    program_expect_error(r, 2, "no update was made in 90 agent steps");
    program_expect_success(train("short", "fits", "--length 4"));
}

TEST_CASE(some_episodes_that_diverge_are_counted)
{
    program_result r = train("sometimes", "sometimes", "");
    program_expect_success(r);
    expect_parts(r.err, "diverged after 1 agent step and ends there", " diverged  ");
}

TEST_CASE(parameters_of_any_length_are_logged)
{
    program_expect_success(train("numbers", "numbers",
                                 "--curriculum.rule fixed --curriculum.theta '1e300,1e300;1,1'"));
    shell("grep -q 'num_episodes/.1000000' numbers/metrics.jsonl");
}

TEST_CASE(task_policies_that_do_not_learn_are_told_of)
{
    program_result r = train("large", "large", "");
    expect_parts(r.err, "task policies: reward_loss is not finite");
    // Four updates in each of 40 iterations: every one of them counts.
    r = train("large", "many", "--env.count 4 --train_every 1 --steps 220 --prefill 60");
    expect_parts(r.err, "reward_loss was not finite in 100 updates in a row");
}

TEST_CASE(a_plugin_that_exits_is_no_success)
{
    program_result r = train("exit", "exits", "");
    program_expect_error(r, 1, "waker: a plug-in, or a library it uses, called exit()");
    setenv("HOSTILE", "exit", 1);
    r = program_run("envs check " PLUGIN);
    unsetenv("HOSTILE");
    program_expect_error(r, 1, "waker: a plug-in, or a library it uses, called exit()");
}

// The plug-in of a sweep crashes; it is replaced, and the sweep goes on.
TEST_CASE(a_sweep_goes_on_with_a_plugin_that_was_fixed)
{
    shell("cp " PLUGIN " own.so && cat >own.yaml <<END\n"
          "blocks: {domain: toy}\n"
          "keys: {plugin: %s/own.so, seed: 0, steps: 90, prefill: 60, env.count: 1, train_every: 6,"
          " encoder.depth: 1, rssm.deter: 6, rssm.hidden: 6, rssm.stoch: 3, rssm.classes: 3,"
          " units: 6, layers: 1, batch: 2, length: 6, horizon: 3, log.tensorboard: false}\nEND",
          place);
    program_expect_error(program_run("sweep own.yaml --logdir own --rate 100"), 1, "failed seed0");
    program_prints("sweep status own --json", "which was not named");
    program_succeed("sweep retry own");
    setenv("HOSTILE", "crash", 1);
    program_expect_error(program_run("sweep --logdir own --rate 100 --plugin own.so"), 1,
                         "failed seed0");
    unsetenv("HOSTILE");
    program_prints("sweep status own --json", "ended by signal 6 (Aborted)");
    shell("printf fixed >>own.so");
    program_succeed("sweep retry own");
    program_succeed("sweep --logdir own --rate 100 --plugin own.so");
}

TEST_CASE(a_check_that_crashes_shows_what_it_found)
{
    setenv("HOSTILE", "crash", 1);
    program_result r = program_run("envs check " PLUGIN);
    unsetenv("HOSTILE");
    assert_int_equal(r.code, 128 + 6);
    expect_parts(r.out, "gives the reward nan");
}

// A sanitizer reports a fault before the process ends, and ends it itself.
#ifdef __SANITIZE_ADDRESS__
#define FAULT_CODE(number) 1
#else
#define FAULT_CODE(number) (128 + (number))
#endif

TEST_CASE(a_run_whose_plugin_crashes_ends_with_the_signal_and_resumes)
{
    assert_int_equal(train("fault", "faults", "").code, FAULT_CODE(SIGSEGV));
    assert_int_equal(train("divide", "faults", "").code, FAULT_CODE(SIGFPE));
    assert_int_equal(train("load", "faults", "").code, 128 + SIGABRT);
    program_expect_success(train("", "faults", ""));
}

// The run keeps what it has, and goes on with the next episode.
TEST_CASE(a_reset_that_is_refused_ends_the_run_with_a_checkpoint)
{
    program_result r = train("refuse", "refused", "--seed 5");
    program_expect_error(
        r, 1, "plug-in '" PLUGIN "': environment 0: domain 'ball-on-table', reset with θ (");
    program_expect_error(r, 1, ", seed 5, episode 3: no track for episode 3");
    expect_parts(r.err, "a checkpoint was saved");
    assert_null(strstr(r.err, "--help"));
    r = train("refuse", "refused", "--seed 5");
    program_expect_success(r);
    expect_parts(r.err, "resum");
    program_succeed("ckpt refused");
}

TEST_CASE(a_huge_state_is_refused)
{
    program_result r = train("huge", "huge", "");
    program_expect_error(r, 2, "asks for 35184372088832 bytes");
}

TEST_MAIN(setup, teardown)
