// The power goes while a run, a population, an adaptation, a fine-tuning, a sweep or a card is
// written: the same command on what the disk may hold then ends in the same bytes, or refuses
// clearly where no checkpoint was durable yet; never does it begin again silently. Recoveries lose
// their power too. WAKER_POWER_STATES says how many states of each command and order (12 unless
// set; `make power-test` takes 200).
#include "run/disk.h"
#include "support/power_loss.h"
#include "train/adapt.h"
#include "train/finetune.h"
#include "train/runs.h"

int waker_main(int argc, char **argv); // the program's, compiled into this test

static wk_error err;
static char home[1024];
static int64_t resumed; // the furthest of what the last process said it goes on from; -1: nothing
static bool metrics_missing; // it said that a log is shorter than at the checkpoint

static void note_line(void *context, wk_log_level level, const char *line)
{
    int64_t step = -1;
    const char *at = strstr(line, "resuming ");
    (void)context, (void)level;
    if (at && sscanf(at, "resuming after %" SCNd64, &step) != 1 &&
        sscanf(at, "resuming from update %" SCNd64, &step) != 1)
        step = 0;
    if (strstr(line, "already done")) step = INT64_MAX;
    if (step > resumed) resumed = step;
    metrics_missing |= strstr(line, "metrics are missing") != NULL;
}

static wk_run_control control_of(void)
{
    resumed = -1;
    metrics_missing = false;
    err = (wk_error){0};
    return (wk_run_control){.log = {note_line, NULL, WK_LOG_INFO}};
}

static wk_run_config a_run(void)
{
    wk_run_config config = quiet_run();
    config.steps = 90, config.prefill = 30, config.snapshot_every = 40, config.log_every = 12;
    config.checkpoint_every_steps = 20, config.checkpoint_keep = 2, config.log_images_every = 0;
    snprintf(config.tasks, sizeof config.tasks, "all");
    return config;
}

static wk_status train(void)
{
    wk_run_end end;
    wk_run_config config = a_run();
    wk_run_control control = control_of();
    return wk_train(&config, "run", NULL, &control, &end, &err);
}

// Nothing is made in the run's folder after the logs.
static wk_status train_without_snapshots(void)
{
    wk_run_end end;
    wk_run_config config = a_run();
    wk_run_control control = control_of();
    config.snapshot_every = 0, config.log_every = 4, config.log_tensorboard = true;
    return wk_train(&config, "run", NULL, &control, &end, &err);
}

static wk_status train_population(void)
{
    static const char *const rules[] = {"waker-m", "dr"};
    enum { RUNS = sizeof rules / sizeof *rules };
    wk_run_control control = control_of();
    wk_population names = {.count = RUNS};
    wk_run_config configs[RUNS];
    wk_train_member members[RUNS];
    char paths[RUNS][32];
    for (int i = 0; i < RUNS; i++) {
        configs[i] = a_run();
        snprintf(configs[i].curriculum_rule, sizeof configs[i].curriculum_rule, "%s", rules[i]);
        snprintf(names.names[i], sizeof names.names[i], "%s", rules[i]);
        snprintf(paths[i], sizeof paths[i], "run/%s", rules[i]);
        members[i] =
            (wk_train_member){.config = &configs[i], .directory = paths[i], .name = names.names[i]};
    }
    WK_TRY(wk_population_record("run", &names, &err));
    WK_TRY(wk_train_population(members, RUNS, &control, &err));
    for (int i = 0; i < RUNS; i++)
        if (members[i].status != WK_OK) return (err = members[i].error).status;
    return WK_OK;
}

// In two parts: an adaptation saves within its first minute only when it ends.
static wk_status adapt(void)
{
    wk_run_end end;
    int64_t first = -1;
    for (int64_t updates = 6; updates <= 12; updates += 6) {
        wk_run_control control = control_of();
        wk_adapt_config config = {
            .directory = "run", .snapshot = WK_STEP_LAST, .tasks = "all", .updates = updates};
        wk_status status = wk_adapt(&config, &control, &end, &err);
        // One that has more updates already goes on with the second part.
        if (status != WK_OK && !strstr(err.message, "updates already")) return status;
        if (first < 0) first = resumed;
    }
    resumed = first;
    return WK_OK;
}

static wk_status finetune(void)
{
    wk_run_end end;
    wk_run_control control = control_of();
    wk_finetune_config config = {
        .directory = "run", .snapshot = WK_STEP_LAST, .task = "west", .steps = 60};
    return wk_finetune(&config, &control, &end, &err);
}

// Calls the program, which says nothing here.
static wk_status call_program(const char *line)
{
    char words[256], *argv[16] = {"waker"};
    int argc = 1, streams[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    snprintf(words, sizeof words, "%s --quiet", line);
    for (char *rest = words; (argv[argc] = strtok_r(rest, " ", &rest));)
        argc++;
    int nowhere = open("/dev/null", O_WRONLY);
    fflush(NULL);
    for (int i = 0; i < 2; i++)
        dup2(nowhere, STDOUT_FILENO + i);
    int code = waker_main(argc, argv);
    for (int i = 0; i < 2; i++) {
        dup2(streams[i], STDOUT_FILENO + i);
        close(streams[i]);
    }
    close(nowhere);
    return code == 0 ? WK_OK : wk_fail(&err, WK_E_INPUT, "%s: exit code %d", line, code);
}

static wk_status sweep(void)
{
    resumed = INT64_MAX;
    WK_TRY(call_program("sweep ../grid.yaml --logdir run --launch print"));
    WK_TRY(call_program("sweep run run seed0"));
    WK_TRY(call_program("sweep run run seed1"));
    return call_program("sweep --logdir run --launch print"); // which notes that all is done
}

// A card without README.md is not whole, and is removed by hand, before the recording.
static wk_status card(void)
{
    resumed = INT64_MAX;
    if (wk_path_exists("card/README.md")) return WK_OK;
    power_end();
    remove_tree("card");
    power_begin();
    return call_program("card run --out card --no-video");
}

// A command that loses its power, and what it makes.
typedef struct session {
    const char *name;
    wk_status (*run)(void);
    bool needs_run; // it begins with a finished run
    const char *folders[2];
    bool are_runs, have_weights; // the folders
    const char *same;            // a file or folder that has to be the same in every byte
    int more;                    // states, for each state of the others: it is quick
} session;

static const session train_session = {
    .name = "train", .run = train, .folders = {"run"}, .are_runs = true};
static const session logs_session = {
    .name = "train without snapshots", .run = train_without_snapshots, .folders = {"run"}};
static const session population_session = {.name = "population",
                                           .run = train_population,
                                           .folders = {"run/waker-m", "run/dr"},
                                           .are_runs = true,
                                           .same = "run/population.yaml"};
static const session adapt_session = {.name = "adapt",
                                      .run = adapt,
                                      .needs_run = true,
                                      .folders = {"run/adapt/step-000000000090"},
                                      .have_weights = true};
static const session finetune_session = {.name = "finetune",
                                         .run = finetune,
                                         .needs_run = true,
                                         .folders = {"run/finetune/step-000000000090-west"},
                                         .are_runs = true,
                                         .have_weights = true};
static const session sweep_session = {.name = "sweep",
                                      .run = sweep,
                                      .folders = {"run/seed0", "run/seed1"},
                                      .are_runs = true,
                                      .same = "run/sweep/manifest.jsonl"};
static const session card_session = {
    .name = "card", .run = card, .needs_run = true, .same = "card", .more = 9};

static void enter(const char *path)
{
    if (chdir(path) != 0) fail_msg("no folder '%s'", path);
}

// Makes `path` anew beside the one we are in, and enters it.
static void enter_new(const char *path, bool with_run)
{
    remove_tree(path);
    assert_int_equal(mkdir(path, 0777), 0);
    if (with_run) {
        char command[200];
        snprintf(command, sizeof command, "cp -r base/run %s/run", path);
        assert_int_equal(system(command), 0);
    }
    enter(path);
}

static wk_status record(const session *s)
{
    power_begin();
    wk_status status = s->run();
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

static void expect_same(const session *s, const char *what)
{
    char calm[200];
    for (int i = 0; i < 2 && s->folders[i]; i++) {
        const char *folder = s->folders[i];
        snprintf(calm, sizeof calm, "../calm/%s", folder);
        if (s->are_runs) same_end(calm, folder);
        same_file(calm, folder, "metrics.jsonl", 0, 0);
        if (s->have_weights) same_file(calm, folder, "weights.safetensors", 0, 0);
    }
    if (!s->same) return;
    snprintf(calm, sizeof calm, "diff -r -x .unfinished-card -x .moving-card ../calm/%s %s",
             s->same, s->same);
    if (system(calm) != 0) fail_msg("%s, %s: another %s", s->name, what, s->same);
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
    if (status == WK_OK && !again) expect_same(s, what);
    if (!again) return status == WK_OK;
    char more[400];
    int64_t later = cut(order, rng, "../again", more, sizeof more);
    enter("../again");
    snprintf(more + strlen(more), sizeof more - strlen(more), "; before: %.150s", what);
    return recover(s, order, later > durable ? later : durable, false, rng, more);
}

static void lose_power(const session *s, power_order order, int states)
{
    int refused = 0, twice = 0;
    wk_rng rng = wk_rng_stream(7, s->name, order);
    enter_new("disk", s->needs_run);
    assert_ok(record(s));
    enter("..");
    remove_tree("calm");
    assert_int_equal(rename("disk", "calm"), 0);
    power_recording calm = power;
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

static void lose_power_in(const session *s)
{
    enter(home);
    const char *wanted = getenv("WAKER_POWER_STATES");
    int states = wanted ? atoi(wanted) : 12;
    for (int order = 0; order < POWER_ORDERS; order++)
        lose_power(s, (power_order)order, states * (1 + s->more));
}

static void a_run_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&train_session);
}

static void logs_of_a_run_without_snapshots_survive(void **state)
{
    (void)state;
    lose_power_in(&logs_session);
}

static void a_population_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&population_session);
}

static void an_adaptation_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&adapt_session);
}

static void a_fine_tuning_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&finetune_session);
}

static void a_sweep_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&sweep_session);
}

static void a_card_is_whole_or_can_be_seen_not_to_be(void **state)
{
    (void)state;
    lose_power_in(&card_session);
}

static int begin(void **state)
{
    (void)state;
    remove_tree("power-loss.tmp");
    assert_int_equal(mkdir("power-loss.tmp", 0777), 0);
    enter("power-loss.tmp");
    assert_non_null(getcwd(home, sizeof home));
    enter_new("base", false);
    assert_ok(train());
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
    (void)state;
    enter(home);
    enter("..");
    remove_tree("power-loss.tmp");
    return 0;
}

// With an argument, the tests whose names match it: "*card*".
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_lost_its_power_goes_on),
        cmocka_unit_test(logs_of_a_run_without_snapshots_survive),
        cmocka_unit_test(a_population_that_lost_its_power_goes_on),
        cmocka_unit_test(an_adaptation_that_lost_its_power_goes_on),
        cmocka_unit_test(a_fine_tuning_that_lost_its_power_goes_on),
        cmocka_unit_test(a_sweep_that_lost_its_power_goes_on),
        cmocka_unit_test(a_card_is_whole_or_can_be_seen_not_to_be),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, begin, end_all);
}
