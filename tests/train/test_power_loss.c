// The power goes while a run, an adaptation or a fine-tuning writes: the same command on what the
// disk may hold then ends in the same bytes, or refuses clearly where no checkpoint was durable
// yet; never does it begin again silently. Recoveries lose their power too. WAKER_POWER_STATES says
// how many states of each command and order (12 unless set; `make power-test` takes 200).
#include "support/power_loss.h"
#include "train/adapt.h"
#include "train/finetune.h"
#include "train/runs.h"

static wk_error err;
static char home[1024];
static int64_t resumed;      // what the last process said it goes on from; -1: nothing
static bool metrics_missing; // it said that a log is shorter than at the checkpoint

static void note_line(void *context, wk_log_level level, const char *line)
{
    const char *at = strstr(line, "resuming ");
    (void)context, (void)level;
    if (at && sscanf(at, "resuming after %" SCNd64, &resumed) != 1 &&
        sscanf(at, "resuming from update %" SCNd64, &resumed) != 1)
        resumed = 0;
    if (strstr(line, "already done")) resumed = INT64_MAX;
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

// A command that loses its power; what it makes lies in `folder`.
typedef struct session {
    const char *name;
    wk_status (*run)(void);
    bool needs_run; // it begins with a finished run
    const char *folder;
    bool is_run, has_weights;
} session;

static const session sessions[] = {
    {"train", train, false, "run", true, false},
    {"train without snapshots", train_without_snapshots, false, "run", false, false},
    {"adapt", adapt, true, "run/adapt/step-000000000090", false, true},
    {"finetune", finetune, true, "run/finetune/step-000000000090-west", true, true},
};

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

static void expect_same(const session *s)
{
    char calm[200];
    snprintf(calm, sizeof calm, "../calm/%s", s->folder);
    if (s->is_run) same_end(calm, s->folder);
    same_file(calm, s->folder, "metrics.jsonl", 0, 0);
    if (s->has_weights) same_file(calm, s->folder, "weights.safetensors", 0, 0);
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
    if (status == WK_OK && !again) expect_same(s);
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
        lose_power(s, (power_order)order, states);
}

static void a_run_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&sessions[0]);
}

static void logs_of_a_run_without_snapshots_survive(void **state)
{
    (void)state;
    lose_power_in(&sessions[1]);
}

static void an_adaptation_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&sessions[2]);
}

static void a_fine_tuning_that_lost_its_power_goes_on(void **state)
{
    (void)state;
    lose_power_in(&sessions[3]);
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
    enter("..");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_lost_its_power_goes_on),
        cmocka_unit_test(logs_of_a_run_without_snapshots_survive),
        cmocka_unit_test(an_adaptation_that_lost_its_power_goes_on),
        cmocka_unit_test(a_fine_tuning_that_lost_its_power_goes_on),
    };
    return cmocka_run_group_tests(tests, begin, end_all);
}
