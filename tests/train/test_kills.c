// SIGKILL at random moments: train, a population, adapt and finetune are killed, or asked to stop,
// started again with the same command, killed again, until they end; each must end in the bytes of
// one that nobody touched. WAKER_KILLS says how many kills of each (6 unless set; `make kill-test`
// takes 200).
#include "base/clock.h"
#include "base/rng.h"
#include "train/runs.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define BASE "kills-base.tmp"       // a run
#define ADAPTED "kills-adapted.tmp" // the same with task policies
#define CALM "kills-calm.tmp"
#define KILLED "kills-killed.tmp"

enum { STOPPED = 75 }; // exit code: saved, run me again

// What is killed: it begins as a copy of `base` (NULL: nothing), and its result lies in `folder`.
typedef struct target {
    const char *base, *options, *folder;
    bool run;              // the result is a run's
    void (*compare)(void); // instead of what runs have
} target;

static void compare_population(void)
{
    same_end(CALM "/waker-m", KILLED "/waker-m");
    same_end(CALM "/dr", KILLED "/dr");
}

static const target targets[] = {
    {.options =
         "train --logdir %s " TINY_OPTIONS " --checkpoint.every_steps 20 --log.tensorboard false",
     .folder = "",
     .run = true},
    {.base = BASE,
     .options = "adapt %s --task all --snapshot 402 --updates 250",
     .folder = "/adapt/step-000000000402"},
    {.base = ADAPTED,
     .options = "finetune %s --task west --snapshot 402 --steps 240",
     .folder = "/finetune/step-000000000402-west",
     .run = true},
    {.options =
         "train --logdir %s " TINY_OPTIONS " --checkpoint.every_steps 20 --log.tensorboard false "
         "--each curriculum.rule=waker-m,dr",
     .compare = compare_population},
};

// Starts a command of the program in a process of its own.
static pid_t start(const char *options, const char *directory)
{
    char line[1600], command[2048];
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    snprintf(line, sizeof line, options, directory); // NOLINT: a table above
    snprintf(command, sizeof command, "exec " WAKER_BINARY_DIR "/waker %s --quiet", line);
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

static void prepare(const target *t, const char *directory)
{
    char command[300];
    remove_tree(directory);
    snprintf(command, sizeof command, "cp -r %s %s", t->base ? t->base : "", directory);
    if (t->base) assert_int_equal(system(command), 0);
}

// Stops it until it manages to end; returns how many kills hit it. Every third stop is one that it
// may save at: an adaptation has no other checkpoint within its first minute.
static int kill_until_done(const target *t, wk_rng *rng, double most_seconds, int most_kills)
{
    int kills = 0;
    for (int stops = 0;; stops++) {
        pid_t child = start(t->options, KILLED);
        if (kills < most_kills) {
            sleep_seconds(wk_rng_uniform(rng, 0, most_seconds));
            kill(child, stops % 3 == 2 ? SIGTERM : SIGKILL);
        }
        int status = finish(child);
        bool killed = WIFSIGNALED(status);
        kills += killed && WTERMSIG(status) == SIGKILL;
        if (killed || WEXITSTATUS(status) == STOPPED) continue;
        expect_success(status);
        return kills;
    }
}

static void compare(const target *t)
{
    if (t->compare) {
        t->compare();
        return;
    }
    char calm[200], killed[200];
    snprintf(calm, sizeof calm, CALM "%s", t->folder);
    snprintf(killed, sizeof killed, KILLED "%s", t->folder);
    if (t->run) same_end(calm, killed);
    same_file(calm, killed, "metrics.jsonl", 0, 0);
    if (t->base) same_file(calm, killed, "weights.safetensors", 0, 0);
}

static void ends_in_the_same_bytes(const target *t)
{
    const char *wanted = getenv("WAKER_KILLS");
    int most = wanted ? atoi(wanted) : 6, kills = 0, runs = 0;
    prepare(t, CALM);
    double began = wk_clock_seconds();
    expect_success(finish(start(t->options, CALM)));
    double seconds = wk_clock_seconds() - began;
    wk_rng rng = wk_rng_stream(1, "kills", (uint64_t)(t - targets));
    for (; kills < most; runs++) {
        prepare(t, KILLED);
        int left = most - kills;
        kills += kill_until_done(t, &rng, seconds, left < 12 ? left : 12);
        compare(t);
    }
    print_message("%.*s: %d kills in %d runs, every one ended in the same bytes\n",
                  (int)strcspn(t->options, " "), t->options, kills, runs);
    remove_tree(CALM);
    remove_tree(KILLED);
}

static void a_killed_run_ends_in_the_same_bytes(void **state)
{
    (void)state;
    ends_in_the_same_bytes(&targets[0]);
}

static void a_killed_adaptation_ends_in_the_same_bytes(void **state)
{
    (void)state;
    ends_in_the_same_bytes(&targets[1]);
}

static void a_killed_fine_tuning_ends_in_the_same_bytes(void **state)
{
    (void)state;
    ends_in_the_same_bytes(&targets[2]);
}

static void a_killed_population_ends_in_the_same_bytes(void **state)
{
    (void)state;
    ends_in_the_same_bytes(&targets[3]);
}

static int begin(void **state)
{
    (void)state;
    remove_tree(BASE);
    remove_tree(ADAPTED);
    expect_success(finish(start(targets[0].options, BASE)));
    assert_int_equal(system("cp -r " BASE " " ADAPTED), 0);
    expect_success(finish(start("adapt %s --task all --snapshot 402 --updates 3", ADAPTED)));
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    remove_tree(BASE);
    remove_tree(ADAPTED);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_run_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_adaptation_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_fine_tuning_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_population_ends_in_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, begin, end_all);
}
