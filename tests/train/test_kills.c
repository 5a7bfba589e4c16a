// SIGKILL at random moments: train, a population, adapt, finetune, sweep and card are killed, or
// asked to stop, started again with the same command, killed again, until they end; each must end
// in the bytes of one that nobody touched. WAKER_KILLS says how many kills of each, of sweep half
// as many (6 unless set; `make kill-test` takes 200).
#include "base/machine.h"
#include "base/random.h"
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

// What is killed: it begins as a copy of `base` (NULL: nothing).
typedef struct target {
    const char *name, *options; // of the test; of the program
    const char *base;
    made_things made;
    const char *files;      // that have to be the same too, as the shell names them; NULL: none
    bool (*is_whole)(void); // after a kill: nothing is left to do. NULL: the command finds out
    bool has_processes;     // its own, which are killed too every other time
} target;

// Who sees README.md takes the card for a whole one.
static bool card_is_whole(void)
{
    if (system("test -e " KILLED "/README.md")) return false;
    if (system("diff -r -x .moving-card -x .unfinished-card " CALM " " KILLED))
        fail_msg("a card that is not whole has a README.md");
    return system("test -e " KILLED "/.moving-card") != 0;
}

#define TRAIN                                                                                      \
    "train --logdir %s " TINY_OPTIONS " --checkpoint.every_steps 20 --log.tensorboard false"

static const target targets[] = {
    {"a_killed_run_ends_in_the_same_bytes", TRAIN, .made = {.folders = {"."}, .are_runs = true}},
    {"a_killed_adaptation_ends_in_the_same_bytes",
     "adapt %s --task all --snapshot 402 --updates 250", .base = BASE,
     .made = {.folders = {"adapt/step-000000000402"}, .have_weights = true}},
    {"a_killed_fine_tuning_ends_in_the_same_bytes",
     "finetune %s --task west --snapshot 402 --steps 240", .base = ADAPTED,
     .made = {.folders = {"finetune/step-000000000402-west"},
              .are_runs = true,
              .have_weights = true}},
    {"a_killed_sweep_ends_in_the_same_bytes",
     "sweep " GRID " --logdir %s --rate 1000 --jobs 2 --attempts 1000",
     .made = {.folders = {"seed0", "seed1"}, .are_runs = true},
     .files = "seed?/adapt/*/weights.safetensors seed?/eval/*.json seed?/eval/*.csv "
              "report/sweep.done",
     .has_processes = true},
    {"a_killed_card_ends_in_the_same_bytes", "card " ADAPTED " --out %s", .made = {.same = "."},
     .is_whole = card_is_whole},
    {"a_killed_population_ends_in_the_same_bytes", TRAIN " --each curriculum.rule=waker-m,dr",
     .made = {.folders = {"waker-m", "dr"}, .are_runs = true}},
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

static void run_calmly(const char *options, const char *directory)
{
    int status = finish(start(options, directory));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("the run ended with %d", status);
}

static void prepare(const target *t, const char *directory)
{
    remove_tree(directory);
    if (t->base) run_command("cp -r %s %s", t->base, directory);
}

// Stops it until it manages to end; returns how many kills hit it. Every third stop is one that it
// may save at: an adaptation has no other checkpoint within its first minute.
static int kill_until_done(const target *t, wk_rng *rng, double most_seconds, int most_kills)
{
    int kills = 0;
    for (int stops = 0;; stops++) {
        pid_t child = start(t->options, KILLED);
        bool hurt = kills < most_kills && t->has_processes && stops % 2;
        if (kills < most_kills) {
            double seconds = wk_rng_uniform(rng, 0, most_seconds);
            nanosleep(&(struct timespec){(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)}, NULL);
            char command[64];
            snprintf(command, sizeof command, "pkill -KILL -P %d", (int)child);
            if (hurt) (void)!system(command); // it may have none
            kill(child, stops % 3 == 2 ? SIGTERM : SIGKILL);
        }
        int status = finish(child);
        bool killed = WIFSIGNALED(status);
        kills += killed && WTERMSIG(status) == SIGKILL;
        // A process that a sweep had just forked has its lock until it is another program.
        if (t->has_processes)
            run_command("test ! -e " KILLED "/sweep/lock || "
                        "flock -w 300 " KILLED "/sweep/lock true");
        if (killed && t->is_whole && t->is_whole()) return kills;
        // One whose process was killed may fail before it is killed itself.
        if (killed || hurt || WEXITSTATUS(status) == STOPPED) continue;
        if (WEXITSTATUS(status) != 0) fail_msg("the run ended with %d", status);
        return kills;
    }
}

static void ends_in_the_same_bytes(void **state)
{
    const target *t = *state;
    const char *wanted = getenv("WAKER_KILLS");
    int most = wanted ? atoi(wanted) : 6, kills = 0, runs = 0;
    if (t->has_processes) most = (most + 1) / 2; // it takes the longest
    prepare(t, CALM);
    double began = wk_clock_seconds();
    run_calmly(t->options, CALM);
    double seconds = wk_clock_seconds() - began;
    wk_rng rng = wk_rng_stream(1, "kills", (uint64_t)(t - targets));
    for (; kills < most; runs++) {
        prepare(t, KILLED);
        int left = most - kills;
        kills += kill_until_done(t, &rng, seconds, left < 12 ? left : 12);
        same_made(&t->made, CALM, KILLED);
        if (t->files)
            run_command("cd " CALM " && for f in %s; do cmp $f ../" KILLED "/$f || exit 1; done",
                        t->files);
    }
    print_message("%.*s: %d kills in %d runs, every one ended in the same bytes\n",
                  (int)strcspn(t->options, " "), t->options, kills, runs);
    remove_tree(CALM);
    remove_tree(KILLED);
}

static int begin(void **state)
{
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
    run_calmly(targets[0].options, BASE);
    run_command("cp -r " BASE " " ADAPTED);
    run_calmly("adapt %s --task all --snapshot 402 --updates 3", ADAPTED);
    run_calmly("eval %s --envs 2 --cases dr >/dev/null", ADAPTED);
    return 0;
}

static int end_all(void **state)
{
    remove_tree(BASE);
    remove_tree(ADAPTED);
    remove(GRID);
    return 0;
}

int main(void)
{
    enum { COUNT = sizeof targets / sizeof *targets };
    struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = targets[i].name,
                                       .test_func = ends_in_the_same_bytes,
                                       .initial_state = (void *)&targets[i]};
    return cmocka_run_group_tests(tests, begin, end_all);
}
