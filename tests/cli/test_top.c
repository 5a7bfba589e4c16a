// waker top: runs of a directory as their files show them, and how long a thousand take.
#include "cli/long_runs.h"
#include <sys/resource.h>

TEST_CASE(runs_are_shown_as_their_directories_say)
{
    char options[768];
    snprintf(options, sizeof options, QUIET_OPTIONS " --steps %d", LONG_STEPS);
    program_succeed("train --logdir runs/done " QUIET_OPTIONS " --steps 180");
    int code = program_run("train --logdir runs/sub/stopped %s --minutes 1e-7", options).code;
    assert_int_equal(code, 75);
    pid_t child = start("train --logdir runs/going " QUIET_OPTIONS " --steps 1e6");
    wait_for_metrics("runs/going");
    program_result r = program_run("top runs/");
    kill(child, SIGTERM);
    assert_int_equal(exit_code(child), 75);
    program_expect_success(r);
    const char *going = strstr(r.out, "\ngoing "),
               *stopped = strstr(r.out, "\nsub/stopped  stopped"), *done = strstr(r.out, "\ndone ");
    if (!going || !stopped || !done || going > stopped || stopped > done)
        fail_msg("the rows, running first:\n%s", r.out);
    expect_parts(r.out, "3 runs");
    expect_parts(going, "running");
    expect_parts(done, "100.0%");
    program_prints("top runs/done", "runs/done  done");
}

TEST_CASE(the_speed_is_that_since_the_run_went_on)
{
    shell("touch -d '10 days ago' runs/going/checkpoints/step-*");
    pid_t child = start("train --logdir runs/going " QUIET_OPTIONS " --steps 1e6");
    program_result r = {0};
    double end = wk_clock_seconds() + PATIENCE_SECONDS;
    for (int i = 0; wk_clock_seconds() < end && (i == 0 || !strstr(r.out, "left")); i++) {
        pause_ms(50);
        r = program_run("top runs/going --once");
    }
    kill(child, SIGTERM);
    assert_int_equal(exit_code(child), 75);
    const char *left = strstr(r.out, " left");
    if (!left) fail_msg("no time left in:\n%s", r.out);
    while (left[-1] != ' ')
        left--;
    // With the ten days of the pause it would be years.
    int length = (int)strcspn(left, " ");
    if (memchr(left, 'd', (size_t)length) && atoi(left) > 100) fail_msg("%.*s left", length, left);
}

TEST_CASE(what_cannot_be_read_is_said)
{
    shell("mkdir -p runs/broken && echo 'steps: [' >runs/broken/config.yaml && mkdir -p none");
    program_result r = program_succeed("top runs");
    expect_parts(r.out, "broken       unreadable");
    program_refuses("top none", "holds no run");
    program_refuses("top nowhere", "nowhere");
    shell("rm -r runs/broken");
}

// Processor time of the programs that have ended: what else the machine does is not in it.
static double children_seconds(void)
{
    struct rusage used;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
    return (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec +
           (double)used.ru_stime.tv_sec + 1e-6 * (double)used.ru_stime.tv_usec;
}

TEST_CASE(a_thousand_runs_take_two_seconds_at_most)
{
    shell("mkdir one && cp -r runs/done/config.yaml runs/done/metrics.jsonl runs/done/checkpoints "
          "runs/done/snapshots runs/done/lock one/");
    // Ten times ten times ten, of links.
    shell("for i in 0 1 2; do mkdir many && for k in $(seq 10); do cp -rl one many/$k; done && "
          "rm -r one && mv many one; done && mv one many");
    double began = children_seconds();
    program_result r = program_run("top many");
    double seconds = children_seconds() - began;
    program_expect_success(r);
    expect_parts(r.out, "1000 runs");
    print_message("waker top of 1000 runs: %.2f s\n", seconds);
#ifndef __SANITIZE_ADDRESS__
    assert_true(seconds < 2);
#endif
}

TEST_MAIN(setup, teardown)
