// The power goes while a run, a population, an adaptation, a fine-tuning, a sweep or a card is
// written: the same command on what the disk may hold then ends in the same bytes, or refuses
// clearly where no checkpoint was durable yet; never does it begin again silently. Recoveries lose
// their power too. What a command has made is on the disk when it ends. WAKER_POWER_STATES says how
// many states of each command and order (12 unless set; `make power-test` takes 200).
#include "support/power_loss.h"
#include "train/runs.h"

int waker_main(int argc, char **argv); // the program's, compiled into this test

// A command that loses its power, as calls of the program, and what it makes.
typedef struct session {
    const char *test, *name;
    const char *calls[4];
    bool needs_run; // it begins with a finished run
    made_things made;
    bool is_silent; // it does not say what it goes on from
    int more;       // states, for each state of the others: it is quick
} session;

#define TRAIN                                                                                      \
    "train --logdir run " TINY_OPTIONS " --steps 90 --prefill 30 --log.images_every 0 "            \
    "--checkpoint.every_steps 20 --checkpoint.keep 2 --tasks all "
#define QUIET "--snapshot.every 40 --log.every 12 --log.tensorboard false"

static const session sessions[] = {
    {"a_run_that_lost_its_power_goes_on",
     "train",
     {TRAIN QUIET},
     .made = {.folders = {"run"}, .are_runs = true}},
    // Nothing is made in the run's folder after the logs.
    {"logs_of_a_run_without_snapshots_survive",
     "train without snapshots",
     {TRAIN "--snapshot.every 0 --log.every 4"},
     .made = {.folders = {"run"}}},
    {"a_population_that_lost_its_power_goes_on",
     "population",
     {TRAIN QUIET " --each curriculum.rule=waker-m,dr"},
     .made = {{"run/waker-m", "run/dr"}, .are_runs = true, .same = "run/population.yaml"}},
    // In two parts: an adaptation saves within its first minute only when it ends.
    {"an_adaptation_that_lost_its_power_goes_on",
     "adapt",
     {"adapt run --task all --updates 6", "adapt run --task all --updates 12"},
     .needs_run = true,
     .made = {{"run/adapt/step-000000000090"}, .have_weights = true}},
    {"a_fine_tuning_that_lost_its_power_goes_on",
     "finetune",
     {"finetune run --task west --steps 60"},
     .needs_run = true,
     .made = {{"run/finetune/step-000000000090-west"}, .are_runs = true, .have_weights = true}},
    // The last call notes that all is done.
    {"a_sweep_that_lost_its_power_goes_on",
     "sweep",
     {"sweep ../grid.yaml --logdir run --launch print", "sweep run run seed0",
      "sweep run run seed1", "sweep --logdir run --launch print"},
     .made = {{"run/seed0", "run/seed1"}, .are_runs = true, .same = "run/sweep/manifest.jsonl"},
     .is_silent = true},
    {"a_card_is_whole_or_can_be_seen_not_to_be",
     "card",
     {"card run --out card --no-video"},
     .needs_run = true,
     .made = {.same = "card"},
     .is_silent = true,
     .more = 9},
};

static wk_error err;
static char home[1024];
static FILE *said;           // by the last call of the program
static int64_t resumed;      // the furthest of what it said it goes on from; -1: nothing
static bool metrics_missing; // it said that a log is shorter than at the checkpoint

static void note_line(const char *line)
{
    int64_t step = -1;
    const char *at = strstr(line, "resuming ");
    if (at && sscanf(at, "resuming after %" SCNd64, &step) != 1 &&
        sscanf(at, "resuming from update %" SCNd64, &step) != 1)
        step = 0;
    if (strstr(line, "already done")) step = INT64_MAX;
    if (step > resumed) resumed = step;
    metrics_missing |= strstr(line, "metrics are missing") != NULL;
    if (strncmp(line, "waker ", 6) == 0) wk_fail(&err, WK_E_INPUT, "%s", line);
}

static wk_status call_program(const char *line)
{
    char words[2048], *argv[128] = {"waker"};
    int argc = 1, streams[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    snprintf(words, sizeof words, "%s", line);
    for (char *rest = words; (argv[argc] = strtok_r(rest, " ", &rest));)
        argc++;
    resumed = -1;
    metrics_missing = false;
    err = (wk_error){0};
    fflush(NULL);
    rewind(said);
    assert_int_equal(ftruncate(fileno(said), 0), 0);
    for (int i = 0; i < 2; i++)
        dup2(fileno(said), STDOUT_FILENO + i);
    int code = waker_main(argc, argv);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(streams[i], STDOUT_FILENO + i);
        close(streams[i]);
    }
    rewind(said);
    while (fgets(words, sizeof words, said))
        note_line(words);
    return code == 0 ? WK_OK : WK_E_INPUT;
}

// The calls of a session; what it goes on from is said by the first. One that has more updates
// already goes on with the next part.
static wk_status call_all(const session *s)
{
    int64_t first = -1;
    for (int i = 0; i < 4 && s->calls[i]; i++) {
        wk_status status = call_program(s->calls[i]);
        if (status != WK_OK && !strstr(err.message, "updates already")) return status;
        if (i == 0) first = resumed;
    }
    resumed = s->is_silent ? INT64_MAX : first;
    return WK_OK;
}

static void enter(const char *path)
{
    if (chdir(path) != 0) fail_msg("no folder '%s'", path);
}

// Makes `path` anew beside the one we are in, and enters it.
static void enter_new(const char *path, bool with_run)
{
    remove_tree(path);
    assert_int_equal(mkdir(path, 0777), 0);
    if (with_run) run_command("cp -r base/run %s/run", path);
    enter(path);
}

// A card without README.md is not whole, and is removed by hand before.
static wk_status record(const session *s)
{
    if (!wk_path_exists("card/README.md")) remove_tree("card");
    power_begin();
    wk_status status = call_all(s);
    power_end();
    return status;
}

// The step of the newest checkpoint that was durable before call `at`, or -1. Adaptations have one
// of no step: 0.
static int64_t durable_step(size_t at)
{
    int64_t newest = -1;
    for (size_t i = 0; i < at; i++) {
        const power_call *c = &power.calls.items[i];
        int64_t step = -1;
        if (c->kind != POWER_MOVE || !power_synced(i, at)) continue;
        if (strcmp(c->name2, "checkpoint.safetensors") == 0) step = 0;
        if (power_node_at(&power.now, c->node)->directory)
            (void)!sscanf(c->name2, "step-%" SCNd64, &step);
        if (step > newest) newest = step;
    }
    return newest;
}

// Cuts the power at a random call of the recording; returns what was durable.
static int64_t cut(power_order order, wk_rng *rng, const char *path, char *what, size_t room)
{
    static const double luck[] = {0, 0.5, 1};
    size_t at = (size_t)(wk_rng_uniform(rng, 0, 1) * (double)(power.calls.count + 1));
    int lucky = (int)(wk_rng_u32(rng) % 3);
    remove_tree(path);
    power_cut(at, order, luck[lucky], rng, path);
    snprintf(what, room, "%s order, call %zu of %zu, luck %g", order ? "strict" : "journal", at,
             power.calls.count, luck[lucky]);
    return durable_step(at);
}

// The same command on what is left. A second loss may follow.
static bool recover(const session *s, power_order order, int64_t durable, bool again, wk_rng *rng,
                    const char *what)
{
    wk_status status = record(s);
    if (status != WK_OK && (durable >= 0 || !*err.message))
        fail_msg("%s, %s: %s", s->name, what, err.message);
    if (metrics_missing) fail_msg("%s, %s: metrics are missing", s->name, what);
    if (status == WK_OK && resumed < durable)
        fail_msg("%s, %s: a checkpoint of step %" PRId64 " was durable, and it began at %" PRId64,
                 s->name, what, durable, resumed);
    if (status == WK_OK && !again) {
        print_message("%s, %s\n", s->name, what);
        same_made(&s->made, "../calm", ".");
    }
    if (!again) return status == WK_OK;
    char more[400];
    int64_t later = cut(order, rng, "../again", more, sizeof more);
    enter("../again");
    snprintf(more + strlen(more), sizeof more - strlen(more), "; before: %.150s", what);
    return recover(s, order, later > durable ? later : durable, false, rng, more);
}

static void lose_power(const session *s, power_order order, int states)
{
    states *= 1 + s->more;
    int refused = 0, twice = 0;
    wk_rng rng = wk_rng_stream(7, s->name, order);
    enter_new("disk", s->needs_run);
    assert_ok(record(s));
    enter("..");
    remove_tree("calm");
    assert_int_equal(rename("disk", "calm"), 0);
    power_recording calm = power;
    // All that a command has made is durable when it ends; only what it deleted may be back.
    remove_tree("state");
    power_cut(power.calls.count, POWER_STRICT, 0, &rng, "state");
    if (system("diff -r calm state | grep -v '^Only in state'") == 0)
        fail_msg("%s: not all of it is durable when the command ends", s->name);
    for (int i = 0; i < states; i++) {
        char what[200];
        bool again = i % 3 == 2;
        power = calm;
        int64_t durable = cut(order, &rng, "state", what, sizeof what);
        power = (power_recording){0};
        enter("state");
        refused += !recover(s, order, durable, again, &rng, what);
        twice += again;
        enter("..");
        power_forget();
    }
    power = calm;
    print_message(
        "%s, %s order: %d losses of power in %zu calls, %d of them in a recovery; refused "
        "for want of a checkpoint: %d\n",
        s->name, order ? "strict" : "journal", states + twice, power.calls.count, twice, refused);
    power_forget();
}

static void loses_its_power(void **state)
{
    const char *wanted = getenv("WAKER_POWER_STATES");
    enter(home);
    for (int order = 0; order < POWER_ORDERS; order++)
        lose_power(*state, (power_order)order, wanted ? atoi(wanted) : 12);
}

static int begin(void **state)
{
    remove_tree("power-loss.tmp");
    assert_int_equal(mkdir("power-loss.tmp", 0777), 0);
    enter("power-loss.tmp");
    assert_non_null(getcwd(home, sizeof home));
    enter_new("base", false);
    said = tmpfile();
    assert_non_null(said);
    assert_ok(call_program(sessions[0].calls[0]));
    assert_ok(call_program("eval run --envs 1 --cases dr")); // for its card
    enter("..");
    FILE *grid = fopen("grid.yaml", "w");
    assert_non_null(grid);
    fputs("blocks: {domain: toy}\n"
          "keys: {seed: 0..1, steps: 60, prefill: 30, env.count: 2, env.threads: 1, "
          "train_every: 6, encoder.depth: 1, rssm.deter: 6, rssm.hidden: 6, rssm.stoch: 3, "
          "rssm.classes: 3, units: 6, layers: 1}\n"
          "with:\n"
          "  toy: {ensemble.size: 2, batch: 2, length: 6, horizon: 3, replay.capacity: 2000,\n"
          "        checkpoint.every_steps: 20, snapshot.every: 0, log.every: 12,\n"
          "        log.images_every: 0, log.tensorboard: false}\n",
          grid);
    assert_int_equal(fclose(grid), 0);
    return 0;
}

static int end_all(void **state)
{
    enter(home);
    enter("..");
    remove_tree("power-loss.tmp");
    return 0;
}

// With an argument, the tests whose names match it: "*card*".
int main(int argc, char **argv)
{
    enum { COUNT = sizeof sessions / sizeof *sessions };
    struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = sessions[i].test,
                                       .test_func = loses_its_power,
                                       .initial_state = (void *)&sessions[i]};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, begin, end_all);
}
