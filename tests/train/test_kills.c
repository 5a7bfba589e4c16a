// SIGKILL at random moments: a tiny run is killed, started again with the same command, killed
// again, until it ends; it must end in the bytes of a run that nobody touched. WAKER_KILLS says how
// many kills (8 unless set; `make kill-test` takes 200).
#include "base/clock.h"
#include "base/rng.h"
#include "train/runs.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define CALM "kills-calm.tmp"
#define KILLED "kills-killed.tmp"

// Starts the run in a process of its own.
static pid_t start(const char *directory)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    char command[2048];
    snprintf(command, sizeof command,
             "exec " WAKER_BINARY_DIR "/waker train --quiet --logdir %s " TINY_OPTIONS
             " --checkpoint.every_steps 20 --log.tensorboard false",
             directory);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static int finish(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void expect_success(int status)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("the run ended with %d", status);
}

static void sleep_seconds(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};
    nanosleep(&time, NULL);
}

// Kills a run until it manages to end; returns how many kills hit it.
static int kill_until_done(wk_rng *rng, double most_seconds, int most_kills)
{
    int kills = 0;
    for (;;) {
        pid_t child = start(KILLED);
        if (kills < most_kills) {
            sleep_seconds(wk_rng_uniform(rng, 0, most_seconds));
            kill(child, SIGKILL);
        }
        int status = finish(child);
        if (WIFSIGNALED(status)) {
            kills++;
            continue;
        }
        expect_success(status);
        return kills;
    }
}

static void a_run_killed_at_random_moments_ends_in_the_same_bytes(void **state)
{
    (void)state;
    const char *wanted = getenv("WAKER_KILLS");
    int most = wanted ? atoi(wanted) : 8, kills = 0, runs = 0;
    remove_tree(CALM);
    double began = wk_clock_seconds();
    expect_success(finish(start(CALM)));
    double seconds = wk_clock_seconds() - began;
    wk_rng rng = wk_rng_stream(1, "kills", 0);
    for (; kills < most; runs++) {
        remove_tree(KILLED);
        int left = most - kills;
        kills += kill_until_done(&rng, seconds, left < 12 ? left : 12);
        same_end(CALM, KILLED);
    }
    print_message("%d kills in %d runs, every one ended in the same bytes\n", kills, runs);
    remove_tree(CALM);
    remove_tree(KILLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_killed_at_random_moments_ends_in_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
