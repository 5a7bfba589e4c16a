// The same data, plan and training for two programs: what the files hold, that training repeats to
// the bit, that JAX's program makes of it what ours does, and what the report says of both.
#include "parity.h"
#include "support/python.h"
#include "train/runs.h"

#define RUN "parity-run.tmp"
#define DATA "parity-data.tmp"
#define PLAN "parity-plan.tmp"
#define OUT "parity-out.tmp"
#define PEER "parity-peer"
#define WHOLE "parity-whole.tmp"
#define EXPLORING "parity-exploring.tmp"

enum { UPDATES = 12, EVERY = 6, SEQUENCES = 4, FRAMES = 8, CONTEXT = 3 };

static wk_error err;
static wk_run_config config;
static parity_data data;
static parity_plan plan;

static parity_choice choice(void)
{
    return (parity_choice){.config = &config,
                           .updates = UPDATES,
                           .sequences = SEQUENCES,
                           .frames = FRAMES,
                           .context = CONTEXT,
                           .held_out = 0.3};
}

static void remove_folders(void)
{
    const char *const folders[] = {RUN, DATA, PLAN, OUT, PEER "-5", WHOLE, EXPLORING};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        remove_tree(folders[i]);
}

// One run of random actions for all tests, its data and a plan.
static int setup(void **state)
{
    remove_folders();
    config = quiet_run();
    config.prefill = config.steps;
    config.log_images_every = 0;
    snprintf(config.exploration, sizeof config.exploration, "random");
    run_to_end(&config, RUN);
    assert_ok(parity_data_write(RUN, DATA, &err));
    assert_ok(parity_data_open(DATA, &data, &err));
    parity_choice chosen = choice();
    assert_ok(parity_plan_write(&data, &chosen, PLAN, &err));
    assert_ok(parity_plan_open(PLAN, &data, &plan, &err));
    return 0;
}

static int teardown(void **state)
{
    parity_plan_close(&plan);
    parity_data_close(&data);
    remove_folders();
    return 0;
}

static size_t episode_of(uint32_t row)
{
    size_t i = 0;
    while (data.episodes[i + 1] <= row)
        i++;
    return i;
}

TEST_CASE(every_step_of_the_run_is_in_the_data)
{
    assert_int_equal(data.rows, (size_t)config.steps + 2 + data.count);
    assert_true(data.count > 3);
    for (size_t i = 0; i < data.count; i++)
        for (int k = 0; k < data.action_size; k++) // nothing led to a first row
            assert_true(data.actions[data.episodes[i] * (size_t)data.action_size + (size_t)k] == 0);
}

TEST_CASE(batches_leave_the_held_out_episodes_alone)
{
    size_t begin = data.count - (size_t)ceil(0.3 * (double)data.count);
    for (int i = 0; i < SEQUENCES; i++) {
        assert_true(episode_of(plan.held[i]) >= begin);
        assert_int_equal(episode_of(plan.held[i]), episode_of(plan.held[i] + FRAMES - 1));
    }
    for (int i = 0; i < UPDATES * config.batch; i++) {
        uint32_t last = plan.sequences[i] + (uint32_t)config.length - 1;
        assert_true(episode_of(last) < begin);
        assert_int_equal(episode_of(plan.sequences[i]), episode_of(last));
    }
}

static parity_training training(const char *directory)
{
    return (parity_training){.data = &data,
                             .plan = &plan,
                             .plan_directory = PLAN,
                             .directory = directory,
                             .device = "cpu",
                             .precision = "f32",
                             .updates = UINT32_MAX,
                             .every = EVERY};
}

// The number called `key` in line `line` of a file.
static double figure(const char *directory, const char *name, int line, const char *key)
{
    char path[512], *text, quoted[64];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    assert_ok(wk_file_read(path, 1 << 20, &text, &size, &err));
    const char *at = text;
    for (int i = 0; i < line && at; i++)
        at = strchr(at, '\n') + 1;
    at = at ? strstr(at, quoted) : NULL;
    if (!at) fail_msg("%s has no %s in line %d", path, key, line);
    double value = strtod(at + strlen(quoted), NULL);
    free(text);
    return value;
}

TEST_CASE(training_repeats_to_the_bit_and_reduces_the_errors)
{
    parity_training how = training(OUT);
    assert_ok(parity_train(&how, &err));
    how.directory = WHOLE;
    assert_ok(parity_train(&how, &err));
    same_file(OUT, WHOLE, "losses.jsonl", 0, 0);
    same_file(OUT, WHOLE, "horizon.jsonl", 0, 0);
    assert_true(figure(OUT, "metrics.jsonl", 2, "update") == UPDATES);
    assert_true(figure(OUT, "metrics.jsonl", 2, "open_loop") <
                figure(OUT, "metrics.jsonl", 0, "open_loop"));
    // The means of the losses since the measurement before.
    double sum = 0;
    for (int i = 0; i < EVERY; i++)
        sum += figure(OUT, "losses.jsonl", EVERY + i, "model_loss");
    assert_near(figure(OUT, "metrics.jsonl", 2, "model_loss"), sum / EVERY, 1e-4 * sum);
}

TEST_CASE(open_loop_is_the_mean_over_its_steps_and_copies_grow_stale)
{
    double sum = 0, first = figure(OUT, "horizon.jsonl", 0, "copy"), last = 0;
    for (int i = 0; i < FRAMES - CONTEXT; i++) {
        assert_true(figure(OUT, "horizon.jsonl", i, "step") == i + 1);
        sum += figure(OUT, "horizon.jsonl", i, "open_loop") / (FRAMES - CONTEXT);
        last = figure(OUT, "horizon.jsonl", i, "copy");
    }
    assert_near(figure(OUT, "metrics.jsonl", 2, "open_loop"), sum, 1e-9);
    assert_true(last > first);
}

// Trains a plan with JAX's program, into PEER-5.
static void run_peer(const char *directory, const char *precision)
{
    char command[2048];
    snprintf(command, sizeof command,
             "JAX_PLATFORMS=cpu XLA_FLAGS='--xla_backend_optimization_level=0 "
             "--xla_llvm_disable_expensive_passes=true' %s %s/bench/peer/jax_parity.py " DATA
             " %s --out " PEER " --precision %s --seeds %d --every %d",
             python_if_any("jax"), WAKER_SOURCE_DIR, directory, precision, (int)config.seed, EVERY);
    assert_int_equal(system(command), 0);
}

static void expect_near_peer(const char *key, int line, double tolerance)
{
    double ours = figure(OUT, "metrics.jsonl", line, key);
    double theirs = figure(PEER "-5", "metrics.jsonl", line, key);
    if (!(fabs(ours - theirs) <= tolerance * fabs(ours)))
        fail_msg("%s of measurement %d: ours %.9g, JAX's %.9g", key, line, ours, theirs);
}

// Fails unless the peer measured what we did, within a share of it.
static void expect_same_figures(double tolerance)
{
    static const char *const keys[] = {
        "model_loss", "image_loss", "kl", "model_norm", "one_step", "open_loop", "reconstruction"};
    for (int line = 0; line <= UPDATES / EVERY; line++)
        for (size_t k = line == 0 ? 4 : 0; k < sizeof keys / sizeof *keys; k++)
            expect_near_peer(keys[k], line, tolerance);
}

// In float32 on the same draws.
TEST_CASE(jax_finds_the_same_losses_and_errors)
{
    run_peer(PLAN, "f32");
    expect_same_figures(1e-4);
}

// Ensemble and exploration policy, which a plan of the world model alone does without.
TEST_CASE(exploration_is_trained_too_and_jax_explores_alike)
{
    static wk_run_config curious;
    static parity_plan other;
    curious = config;
    snprintf(curious.exploration, sizeof curious.exploration, "plan2explore");
    parity_choice chosen = choice();
    chosen.config = &curious;
    assert_ok(parity_plan_write(&data, &chosen, EXPLORING, &err));
    assert_ok(parity_plan_open(EXPLORING, &data, &other, &err));
    parity_training how = training(OUT);
    how.plan = &other;
    how.plan_directory = EXPLORING;
    assert_ok(parity_train(&how, &err));
    parity_plan_close(&other);
    assert_true(figure(OUT, "metrics.jsonl", 2, "disagreement") > 0);
    double entropy = figure(OUT, "metrics.jsonl", 2, "actor_entropy");
    assert_true(isfinite(entropy) && entropy != 0);
    run_peer(EXPLORING, "f32");
    expect_same_figures(1e-4);
    expect_near_peer("actor_entropy", 2, 1e-4);
    expect_near_peer("disagreement", 2, 1e-4);
}

// A sum in bf16 over many pixels would be far too small.
TEST_CASE(jax_finds_nearly_the_same_in_bf16)
{
    run_peer(PLAN, "bf16");
    expect_same_figures(0.03);
}

TEST_CASE(what_cannot_be_planned_is_refused)
{
    parity_choice chosen = choice();
    chosen.context = FRAMES;
    assert_refused(parity_plan_write(&data, &chosen, PLAN, &err), WK_E_INPUT,
                   "leaves nothing to imagine");
    chosen = choice();
    chosen.frames = 1000;
    assert_refused(parity_plan_write(&data, &chosen, "parity-none.tmp", &err), WK_E_INPUT,
                   "held-out episodes has 1000 rows");
    chosen = choice();
    chosen.held_out = 0.99;
    assert_refused(parity_plan_write(&data, &chosen, PLAN, &err), WK_E_INPUT,
                   "leaves none to train on");
    remove_tree("parity-none.tmp");
}

TEST_CASE(a_plan_of_other_data_is_refused)
{
    parity_data fewer = data;
    parity_plan other = {0};
    fewer.rows = 20;
    assert_refused(parity_plan_open(PLAN, &fewer, &other, &err), WK_E_FORMAT,
                   "no plan of this data");
    parity_plan_close(&other);
}

static void run_named(const char *script, const char *arguments, int status, char *out, size_t size)
{
    char command[2048];
    snprintf(command, sizeof command, "%s %s/bench/%s %s 2>&1", python_with("argparse"),
             WAKER_SOURCE_DIR, script, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    int ended = pclose(pipe);
    if (WEXITSTATUS(ended) != status) fail_msg("%s: status %d, '%s'", command, ended, out);
}

static void run_script(const char *arguments, int status, char *out, size_t size)
{
    run_named("parity", arguments, status, out, size);
}

TEST_CASE(variants_are_trained_side_by_side)
{
    char out[8192];
    remove_tree(WHOLE);
    run_script(RUN " " WHOLE " --device cpu --updates 4 --every 2 --sequences 2 --frames 8 "
                   "--context 3 --exploration --vary model.kl_scale=0.1 --vary context=6 "
                   "--program " WAKER_BINARY_DIR "/bench/bench_parity",
               0, out, sizeof out);
    assert_non_null(strstr(out, "| base | 4 |"));
    assert_non_null(strstr(out, "| model.kl_scale=0.1 | 4 |"));
    assert_non_null(strstr(out, "| the last seen frame |"));
    assert_true(figure(WHOLE "/runs/base", "losses.jsonl", 0, "disagreement") > 0);
    // The context is one of measurement: what is learned is the same.
    same_file(WHOLE "/runs/base", WHOLE "/runs/context=6", "losses.jsonl", 0, 0);
    assert_true(figure(WHOLE "/runs/base", "losses.jsonl", 0, "model_loss") >
                figure(WHOLE "/runs/model.kl_scale=0.1", "losses.jsonl", 0, "model_loss"));
    assert_true(wk_path_exists(WHOLE "/report/horizon.svg"));
}

// Two measurements of a run, as its files.
static void write_run(const char *name, double first, double second)
{
    char path[512], text[1024];
    static const char *const keys[] = {"model_loss", "image_loss", "kl",
                                       "one_step",   "open_loop",  "reconstruction"};
    snprintf(path, sizeof path, WHOLE "/runs/%s", name);
    assert_ok(wk_dir_create(path, &err));
    int used = 0;
    for (int i = 0; i < 2; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "{\"update\": %d", 10 * (i + 1));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            used += snprintf(text + used, sizeof text - (size_t)used, ", \"%s\": %g", keys[k],
                             i ? second : first);
        used += snprintf(text + used, sizeof text - (size_t)used, ", \"seconds\": 2}\n");
    }
    snprintf(path, sizeof path, WHOLE "/runs/%s/metrics.jsonl", name);
    assert_ok(wk_file_write(path, text, (size_t)used, &err));
    snprintf(path, sizeof path, WHOLE "/runs/%s/losses.jsonl", name);
    used = snprintf(text, sizeof text, "{\"update\": 1, \"model_loss\": %g}\n", first);
    assert_ok(wk_file_write(path, text, (size_t)used, &err));
    snprintf(path, sizeof path, WHOLE "/runs/%s/horizon.jsonl", name);
    used =
        snprintf(text, sizeof text,
                 "{\"step\": 1, \"open_loop\": %g, \"reconstruction\": 1, \"copy\": 3}\n", second);
    assert_ok(wk_file_write(path, text, (size_t)used, &err));
}

TEST_CASE(the_report_says_how_far_runs_are_apart)
{
    char out[8192];
    remove_tree(WHOLE);
    write_run("waker-f32", 8, 4);
    write_run("jax-f32-0", 8.5, 5);
    write_run("jax-f32-1", 10, 7);
    run_script(RUN " " WHOLE " --device cpu --report-only", 0, out, sizeof out);
    // From ours to JAX's: 0.5, 1, 2 and 3; from one of JAX's to the other: 1.5 and 2.
    assert_non_null(strstr(out, "| kl | 6 | 6.75 | 8.5 | 1.625 | 1.75 | 0.93 |"));
    assert_non_null(strstr(out, "| 1 | 8 | 8.5 | 5.9e-02 |"));
    assert_non_null(strstr(out, "| waker-f32 | 20 | 4 | 4 | 4 | 4 | 4 | 4 | 4 |"));
}

// Collects by itself and gathers the reports; a domain that fails does not stop the next.
TEST_CASE(several_domains_are_compared_from_nothing)
{
    char out[16384];
    remove_tree(WHOLE);
    run_named("parity-domains",
              WHOLE " --domains nowhere toy --steps 400 --threads 1 --waker " WAKER_BINARY_DIR
                    "/waker --program " WAKER_BINARY_DIR
                    "/bench/bench_parity -- --device cpu --updates 2 --every 2 --sequences 2 "
                    "--frames 8 --context 3 --set encoder.depth=1 --set batch=2 --set length=6 "
                    "--vary context=6",
              1, out, sizeof out);
    assert_non_null(strstr(out, "'nowhere'"));
    assert_non_null(strstr(out, "| base | 2 |"));
    assert_false(wk_path_exists(WHOLE "/report/nowhere.md"));
    const char *const files[] = {"toy.md", "toy-curves.svg", "toy-horizon.svg", "toy-runs.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, WHOLE "/report/%s", files[i]);
        if (!wk_path_exists(path)) fail_msg("there is no %s: %s", path, out);
    }
    run_named("parity-domains", WHOLE " --waker ./none", 1, out, sizeof out);
    assert_non_null(strstr(out, "parity-domains: there is no none; build it"));
}

TEST_CASE(a_missing_program_is_named)
{
    char out[4096];
    run_script(RUN " " WHOLE " --program ./none", 1, out, sizeof out);
    assert_non_null(strstr(out, "parity: there is no ./none; build it"));
}

TEST_MAIN(setup, teardown)
