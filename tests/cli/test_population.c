// Populations as a user trains them: the runs that --each makes end as they would alone, are
// ordinary runs, go on together or alone, and what cannot be a population is refused.
#include "cli/long_runs.h"

#define EACH "--each curriculum.rule=waker-m,dr --each curriculum.temperature=0.5,2"

static const struct {
    const char *name, *settings;
} runs[] = {
    {"waker-m-temperature0.5", "--curriculum.rule waker-m --curriculum.temperature 0.5"},
    {"waker-m-temperature2", "--curriculum.rule waker-m --curriculum.temperature 2"},
    {"dr-temperature0.5", "--curriculum.rule dr --curriculum.temperature 0.5"},
    {"dr-temperature2", "--curriculum.rule dr --curriculum.temperature 2"},
};
enum { RUNS = sizeof runs / sizeof *runs };

// The same runs, one after the other, of `steps` steps; in directories that begin with `prefix`.
static void train_alone(const char *prefix, int steps)
{
    for (int i = 0; i < RUNS; i++)
        program_succeed("train --logdir %s-%d " QUIET_OPTIONS " %s --steps %d", prefix, i,
                        runs[i].settings, steps);
}

static void expect_same_ends(const char *population, const char *prefix)
{
    for (int i = 0; i < RUNS; i++) {
        char together[64], alone[64];
        snprintf(together, sizeof together, "%s/%s", population, runs[i].name);
        snprintf(alone, sizeof alone, "%s-%d", prefix, i);
        expect_same_end(alone, together);
    }
}

TEST_CASE(runs_of_a_population_end_as_they_would_alone)
{
    train_alone("alone", 400);
    program_succeed("train --logdir pop " QUIET_OPTIONS " " EACH);
    expect_same_ends("pop", "alone");
    // Ordinary runs, for every command and for going on alone.
    program_succeed("ckpt pop/dr-temperature2 --check");
    program_succeed("report pop --out report");
    program_succeed("train --quiet --logdir pop/dr-temperature2 --steps 450");
    program_succeed("train --quiet --logdir alone-3 --steps 450");
    expect_same_ends("pop", "alone");
    // All together again: the others catch up.
    for (int i = 0; i < RUNS; i++)
        program_succeed("train --quiet --logdir alone-%d --steps 500", i);
    program_succeed("train --quiet --logdir pop --steps 500");
    expect_same_ends("pop", "alone");
}

TEST_CASE(a_population_says_what_its_runs_do)
{
    program_result r = program_succeed("train --logdir pop-loud " TINY_OPTIONS " " EACH);
    expect_parts(r.out, "finished: pop-loud");
    expect_parts(r.err, "4 runs  ");
    for (int i = 0; i < RUNS; i++) {
        char line[64];
        snprintf(line, sizeof line, "  %s: finished  ", runs[i].name);
        if (!strstr(r.err, line)) fail_msg("no '%s' in: %s", line, r.err);
    }
}

TEST_CASE(a_population_that_was_killed_goes_on_to_the_same_end)
{
    char command[1024];
    train_alone("calm", LONG_STEPS);
    snprintf(command, sizeof command,
             "train --logdir pop-killed " QUIET_OPTIONS " " EACH " --steps %d", LONG_STEPS);
    interrupt(command, "pop-killed", "pop-killed/waker-m-temperature0.5", SIGTERM);
    pid_t child = start("train --quiet --logdir pop-killed"); // --logdir alone goes on with all
    pause_ms(300);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    program_succeed("%s", command); // and so does the same command
    expect_same_ends("pop-killed", "calm");
}

TEST_CASE(seeds_count_and_further_runs_join)
{
    program_succeed("train --logdir base " QUIET_OPTIONS " --steps 100");
    program_succeed("train --quiet --logdir seeds --from base --each seed=0..1");
    program_succeed("train --quiet --logdir seeds --from base --each seed=2 --steps 120");
    shell("ls -d seeds/*/ | tr '\\n' ' ' | grep -qx 'seeds/seed0/ seeds/seed1/ seeds/seed2/ '");
    shell("grep -qx 'seed: 2' seeds/seed2/config.yaml");
    program_succeed("train --quiet --logdir seeds --steps 150");
    for (int i = 0; i < 3; i++) {
        char name[32], path[512];
        snprintf(name, sizeof name, "seeds/seed%d", i);
        assert_true(newest_step(inside(name, path)) >= 150);
    }
}

TEST_CASE(a_run_that_fails_leaves_the_others_alone)
{
    char command[1024]; // the comment hides where start() sends messages
    snprintf(command, sizeof command,
             "train --logdir pop-fault " QUIET_OPTIONS " " EACH " --steps %d 2>fault.log #",
             LONG_STEPS);
    pid_t child = start_and_hold(command, "pop-fault", "pop-fault/waker-m-temperature2");
    shell("rm pop-fault/waker-m-temperature2/lock");
    kill(child, SIGCONT);
    assert_int_equal(exit_code(child), 1);
    shell("grep -q 'waker train: waker-m-temperature2 failed: ' fault.log");
    shell("grep -q '1 of 4 runs failed' fault.log");
    for (int i = 0; i < RUNS; i++) {
        char name[64], path[512];
        snprintf(name, sizeof name, "pop-fault/%s", runs[i].name);
        bool ended = newest_step(inside(name, path)) >= LONG_STEPS;
        assert_int_equal(ended, i != 1);
    }
    // The same command brings the failed one to its end.
    program_succeed("train --quiet --logdir pop-fault");
}

TEST_CASE(a_run_that_cannot_go_on_is_named_and_none_does)
{
    char path[512];
    program_succeed("train --logdir pop-cut " QUIET_OPTIONS " --steps 100 " EACH);
    shell("rm -r pop-cut/waker-m-temperature2/checkpoints");
    program_refuses("train --quiet --logdir pop-cut --steps 150", "waker-m-temperature2");
    assert_true(newest_step(inside("pop-cut/dr-temperature2", path)) < 150);
}

TEST_CASE(mistakes_are_refused_and_leave_nothing)
{
    static const struct {
        const char *options, *message;
    } cases[] = {
        {"--each seed=0..4", "--seed and --each seed"},
        {"--each sead=0", "did you mean 'seed'?"},
        {"--each curriculum.rule=dr,waker-x", "waker-x"},
        {"--each domain=toy,clean-up", "the same for all runs"},
        {"--each model.rate=1e-3,7", "outside 0 to 1"},
        {"--each model.rate", "write KEY=VALUE"},
        {"--each model.rate=1e-3 --device tpu", "device 'tpu'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        program_expect_error(
            program_run("train --logdir pop-bad " QUIET_OPTIONS " %s", cases[i].options), 2,
            cases[i].message);
    shell("! test -e pop-bad");
    program_refuses("train --each seed=0..4", "--logdir");
}

TEST_CASE(a_directory_holds_a_run_or_a_population)
{
    program_succeed("train --logdir one " QUIET_OPTIONS " --steps 100");
    program_refuses("train --logdir one " QUIET_OPTIONS " " EACH, "'one' is itself a run");
    program_succeed("train --logdir many " QUIET_OPTIONS " --steps 100 " EACH);
    program_refuses("train --logdir many " QUIET_OPTIONS, "'many' holds a population of 4 runs");
    shell("rm -r many/dr-temperature2");
    program_refuses("train --logdir many",
                    "'many/dr-temperature2' is listed in 'many/population.yaml' but is not there");
    shell("ln -s ../one many/dr-temperature2");
    program_refuses("train --logdir many", "symbolic link");
    shell("rm many/dr-temperature2 && cp -r one many/dr-temperature2 && "
          "sed -i 's/threads: 1/threads: 2/' many/dr-temperature2/config.yaml");
    // One run that was resumed alone with other threads does not keep the others from going on.
    program_result r = program_succeed("train --logdir many --steps 120");
    expect_parts(r.err, "env.threads is '1' in waker-m-temperature0.5 and '2' in");
    shell("grep -q 'threads: 1' many/dr-temperature2/config.yaml && "
          "sed -i 's/threads: 1/threads: 2/' many/dr-temperature2/config.yaml");
    r = program_succeed("train --logdir many --threads 0 --steps 140");
    assert_null(strstr(r.err, "env.threads is"));
    shell("! grep -L 'threads: 0' many/*/config.yaml | grep .");
    shell("echo 'runs: [../one]' >many/population.yaml");
    program_refuses("train --logdir many", "is not a valid name of a run");
}

TEST_MAIN(setup, teardown)
