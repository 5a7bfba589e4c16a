// SIGKILL at random moments: train, a population, adapt, finetune, sweep and card are killed, or
// asked to stop, started again with the same command, killed again, until they end; each must end
// in the bytes of one that nobody touched. WAKER_KILLS says how many kills of each, of sweep half
// as many (6 unless set; `make kill-test` takes 200).
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
#define GRID "kills-grid.tmp.yaml"

enum { STOPPED = 75 }; // exit code: saved, run me again

// What is killed: it begins as a copy of `base` (NULL: nothing), and its result lies in `folder`.
typedef struct target {
    const char *base, *options, *folder;
    bool run;               // the result is a run's
    void (*compare)(void);  // instead of what runs have
    bool (*is_whole)(void); // after a kill: nothing is left to do. NULL: the command finds out
    bool has_processes;     // its own, which are killed too every other time
} target;

// What the runs have learned, what followed, and which runs the report has.
static void compare_sweep(void)
{
    for (int seed = 0; seed < 2; seed++) {
        char calm[64], killed[64];
        snprintf(calm, sizeof calm, CALM "/seed%d", seed);
        snprintf(killed, sizeof killed, KILLED "/seed%d", seed);
        same_end(calm, killed);
    }
    if (system("cd " CALM " && for f in seed?/adapt/*/weights.safetensors seed?/eval/*.json "
               "seed?/eval/*.csv report/sweep.done; do cmp $f ../" KILLED "/$f || exit 1; done"))
        fail_msg("the sweeps differ");
}

static void compare_population(void)
{
    same_end(CALM "/waker-m", KILLED "/waker-m");
    same_end(CALM "/dr", KILLED "/dr");
}

static void compare_card(void)
{
    if (system("diff -r " CALM " " KILLED)) fail_msg("the cards differ");
}

// Who sees README.md takes the card for a whole one.
static bool card_is_whole(void)
{
    if (system("test -e " KILLED "/README.md")) return false;
    if (system("diff -r -x .moving-card -x .unfinished-card " CALM " " KILLED))
        fail_msg("a card that is not whole has a README.md");
    return system("test -e " KILLED "/.moving-card") != 0;
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
    {.options = "sweep " GRID " --logdir %s --rate 1000 --jobs 2 --attempts 1000",
     .compare = compare_sweep,
     .has_processes = true},
    {.options = "card " ADAPTED " --out %s", .compare = compare_card, .is_whole = card_is_whole},
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

static void kill_processes_of(pid_t parent)
{
    char command[64];
    snprintf(command, sizeof command, "pkill -KILL -P %d", (int)parent);
    (void)!system(command); // it may have none
}

// A process that a sweep had just forked has its lock until it is another program.
static void wait_for_lock(void)
{
    assert_int_equal(
        system("test ! -e " KILLED "/sweep/lock || flock -w 300 " KILLED "/sweep/lock true"), 0);
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
            if (t->has_processes && stops % 2) kill_processes_of(child);
            kill(child, stops % 3 == 2 ? SIGTERM : SIGKILL);
        }
        int status = finish(child);
        bool killed = WIFSIGNALED(status);
        kills += killed && WTERMSIG(status) == SIGKILL;
        if (t->has_processes) wait_for_lock();
        if (killed && t->is_whole && t->is_whole()) return kills;
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
    if (t->has_processes) most = (most + 1) / 2; // it takes the longest
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

static void a_killed_sweep_ends_in_the_same_bytes(void **state)
{
    (void)state;
    ends_in_the_same_bytes(&targets[3]);
}

static void a_killed_card_ends_in_the_same_bytes(void **state)
{
    (void)state;
    ends_in_the_same_bytes(&targets[4]);
}

static void a_killed_population_ends_in_the_same_bytes(void **state)
{
    (void)state;
    ends_in_the_same_bytes(&targets[5]);
}

static int begin(void **state)
{
    (void)state;
    static const char grid[] =
        "blocks: {domain: toy}\nkeys: {seed: 0..1, steps: 200}\nwith:\n"
        "  toy: {prefill: 60, env.count: 3, env.threads: 1, train_every: 6, replay.capacity: "
        "2000,\n"
        "        encoder.depth: 1, rssm.deter: 6, rssm.hidden: 6, rssm.stoch: 3, rssm.classes: 3,\n"
        "        units: 6, layers: 1, ensemble.size: 2, batch: 2, length: 6, horizon: 3,\n"
        "        checkpoint.every_steps: 20, log.every: 30, log.images_every: 0,\n"
        "        log.tensorboard: false}\n"
        "then: {adapt: --task all --updates 3, eval: --envs 2 --cases dr}\nreport: --reps 20\n";
    assert_int_equal(wk_file_write(GRID, grid, sizeof grid - 1, NULL), WK_OK);
    remove_tree(BASE);
    remove_tree(ADAPTED);
    expect_success(finish(start(targets[0].options, BASE)));
    assert_int_equal(system("cp -r " BASE " " ADAPTED), 0);
    expect_success(finish(start("adapt %s --task all --snapshot 402 --updates 3", ADAPTED)));
    expect_success(finish(start("eval %s --envs 2 --cases dr >/dev/null", ADAPTED)));
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    remove_tree(BASE);
    remove_tree(ADAPTED);
    remove(GRID);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_run_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_adaptation_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_fine_tuning_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_sweep_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_card_ends_in_the_same_bytes),
        cmocka_unit_test(a_killed_population_ends_in_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, begin, end_all);
}
