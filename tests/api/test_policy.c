// Policies of saved runs through the public API: the actions of `waker eval`, bit for bit, for
// every kind of weights; memory, draws and what is said when a policy is not there.
#include "base/random.h"
#include "cli/long_runs.h"
#include "eval/result.h"
#include "run/saved_run.h"
#include "waker/policy.h"
#include "waker/results.h"
#include "waker/stats.h"

enum { COUNT = WK_EVAL_WAVE_SIZE, SEED = 3, WEST = 0 };
#define OPTIONS TINY_OPTIONS " --log.tensorboard false --tasks all"

static wk_error err;
static char run[512];

static int setup_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --quiet --logdir run " OPTIONS));
    inside("run", run);
    return 0;
}

static wk_policy_config west(void)
{
    wk_policy_config config = wk_policy_config_default();
    config.run = run, config.task = "west", config.count = COUNT;
    return config;
}

static wk_policy *open_policy(const wk_policy_config *config)
{
    wk_policy *policy;
    assert_ok(wk_policy_create(config, &policy, &err));
    return policy;
}

// Plays the episodes that an evaluation with SEED plays in its default distribution. Gives their
// returns, and the actions [COUNT,episode_steps,A].
static void play(wk_policy *policy, double returns[COUNT], float *kept)
{
    const wk_domain *domain = wk_policy_domain(policy);
    size_t width = (size_t)domain->action_size, steps = (size_t)domain->episode_steps;
    uint64_t key = wk_rng_key(SEED, "evaluation/dr");
    const wk_eval_case dr = {"dr", NULL, COUNT};
    float actions[COUNT * WK_ACTION_MAX] = {0};
    double theta[WK_PARAMS_MAX];
    wk_space *space;
    wk_vec *vec;
    assert_ok(wk_space_create(domain, false, &space, &err));
    assert_ok(wk_vec_create(domain, wk_policy_options(policy), COUNT, 1, &vec, &err));
    for (int i = 0; i < COUNT; i++) {
        wk_eval_theta(domain, space, WEST, &dr, key, i, theta);
        assert_ok(
            wk_vec_plan_reset(vec, i, theta, (size_t)domain->n_params, key, (uint64_t)i, &err));
        returns[i] = 0;
    }
    assert_ok(wk_policy_reset(policy, key, &err));
    for (size_t step = 0; step <= steps; step++) {
        assert_ok(wk_vec_step(vec, actions, &err));
        const wk_batch *batch = wk_vec_batch(vec);
        for (int i = 0; i < COUNT && step > 0; i++)
            returns[i] += (double)batch->rewards[i * domain->n_tasks + WEST];
        if (step == steps) break;
        assert_ok(wk_policy_act(policy, batch->images, batch->flags, actions, &err));
        for (size_t i = 0; i < COUNT; i++)
            memcpy(kept + (i * steps + step) * width, actions + i * width, width * sizeof *kept);
    }
    wk_vec_destroy(vec);
    wk_space_destroy(space);
}

static float *new_actions(const wk_domain *domain)
{
    float *out = calloc((size_t)(COUNT * domain->episode_steps * domain->action_size), sizeof *out);
    assert_non_null(out);
    return out;
}

static void expect_actions_of_an_evaluation(void)
{
    wk_saved_run saved = {0};
    const wk_weights_choice choice = {
        .kind = WK_WEIGHTS_SNAPSHOT, .step = WK_STEP_LAST, .compact = true};
    assert_ok(wk_saved_run_open(run, &(wk_saved_run_options){.weights = &choice}, &saved, &err));
    wk_eval_result result = {.origin = {.domain = saved.world.domain}, .envs = COUNT, .seed = SEED};
    const wk_eval_setup setup = {.options = saved.world.options,
                                 .learner = saved.weights.learner,
                                 .case_names = "dr",
                                 .threads = 1,
                                 .keep_actions = true};
    assert_ok(wk_eval_result_add(&result, &setup, WEST, &err));
    assert_ok(wk_eval_result_play(&result, &setup, 0, WEST, &err));

    const wk_policy_config config = west();
    wk_policy *policy = open_policy(&config);
    const wk_domain *domain = wk_policy_domain(policy);
    assert_int_equal(wk_policy_step(policy), saved.weights.step);
    float *actions = new_actions(domain);
    double returns[COUNT];
    play(policy, returns, actions);
    size_t bytes = (size_t)(COUNT * domain->episode_steps * domain->action_size) * sizeof *actions;
    assert_memory_equal(actions, result.tasks[0].actions, bytes);
    assert_memory_equal(returns, result.tasks[0].cases[0].returns, sizeof returns);
    free(actions);
    wk_policy_destroy(policy);
    wk_eval_result_free(&result);
    wk_saved_run_close(&saved);
}

TEST_CASE(the_actions_are_those_of_an_evaluation)
{
    expect_actions_of_an_evaluation();
}

TEST_CASE(compact_weights_act_as_in_their_evaluation)
{
    char whole[WK_PATH_MAX], compact[WK_PATH_MAX];
    const wk_weights_source snapshot = {.kind = WK_WEIGHTS_SNAPSHOT};
    uint64_t step = newest_step(run);
    shell("mkdir -p compact/snapshots && cp run/config.yaml compact");
    wk_weights_path(run, snapshot, step, whole);
    inside("compact", run);
    wk_weights_path(run, snapshot, step, compact);
    assert_ok(wk_weights_write_compact(whole, compact, &err));
    expect_actions_of_an_evaluation();
    wk_policy_config config = west();
    wk_policy *policy;
    config.task = WK_POLICY_TASK_EXPLORE;
    assert_refused(wk_policy_create(&config, &policy, &err), WK_E_INPUT, "has compact weights");
    inside("run", run);
}

// The mean that the command wrote for these weights.
static double mean_of_the_command(const char *weights, const char *options)
{
    program_expect_success(program_run(
        "eval run --quiet --policy %s --task west --cases dr --envs %d --seed %d >/dev/null",
        options, COUNT, SEED));
    wk_results *results;
    assert_ok(wk_results_read(run, &results, &err));
    double mean = NAN;
    for (size_t i = 0; i < results->count; i++)
        if (strcmp(results->items[i].policy, weights) == 0) mean = results->items[i].mean;
    wk_results_free(results);
    assert_true(isfinite(mean));
    return mean;
}

static double mean_of_the_library(const char *weights)
{
    wk_policy_config config = west();
    config.weights = weights;
    wk_policy *policy = open_policy(&config);
    float *actions = new_actions(wk_policy_domain(policy));
    double returns[COUNT];
    play(policy, returns, actions);
    free(actions);
    wk_policy_destroy(policy);
    return wk_stats_mean(returns, COUNT);
}

TEST_CASE(every_kind_of_weights_scores_as_by_the_command)
{
    static const char *const kinds[] = {"alongside", "adapted", "finetuned"};
    double means[3];
    program_expect_success(program_run("adapt run --task all --updates 30 --quiet"));
    program_expect_success(program_run("finetune run --task west --steps 200 --quiet"));
    for (int i = 0; i < 3; i++) {
        means[i] = mean_of_the_library(kinds[i]);
        assert_near(means[i], mean_of_the_command(kinds[i], kinds[i]), 0);
    }
    assert_true(means[0] != means[1] && means[1] != means[2]);
    // Adapted policies come first where none are named.
    assert_near(mean_of_the_library(NULL), means[1], 0);
    // Others of the same snapshot have names.
    program_expect_success(
        program_run("adapt run --task all --updates 30 --quiet --name twin --seed 9"));
    assert_near(mean_of_the_library("adapted.twin"),
                mean_of_the_command("adapted.twin", "adapted --name twin"), 0);
    wk_policy *policy;
    wk_policy_config config = west();
    config.weights = "adapted.other";
    assert_refused(wk_policy_create(&config, &policy, &err), WK_E_NOT_FOUND, "other");
    config.weights = "adapted./../x";
    assert_refused(wk_policy_create(&config, &policy, &err), WK_E_INPUT, "a-z");
    config.weights = "alongside.twin";
    assert_refused(wk_policy_create(&config, &policy, &err), WK_E_INPUT, "has no names");
    shell("rm -r run/adapt run/finetune run/eval");
}

// Images of grey, darker or lighter, all alike.
static const uint8_t *grey(int level)
{
    static uint8_t images[2][COUNT * WK_IMAGE_BYTES];
    memset(images[level != 0], 90 + 80 * (level != 0), sizeof images[0]);
    return images[level != 0];
}

enum { WIDTH_MAX = COUNT * WK_ACTION_MAX };

static void act(wk_policy *policy, int level, uint8_t flag, float actions[WIDTH_MAX])
{
    uint8_t flags[COUNT];
    memset(flags, flag, sizeof flags);
    memset(actions, 0, WIDTH_MAX * sizeof *actions);
    assert_ok(wk_policy_act(policy, grey(level), flags, actions, &err));
}

static bool same(const float a[WIDTH_MAX], const float b[WIDTH_MAX])
{
    return memcmp(a, b, WIDTH_MAX * sizeof *a) == 0;
}

TEST_CASE(the_first_image_of_an_episode_forgets_the_one_before)
{
    const wk_policy_config config = west();
    wk_policy *policy = open_policy(&config);
    float forgotten[2][WIDTH_MAX], remembered[2][WIDTH_MAX], ignored[WIDTH_MAX];
    for (int before = 0; before < 2; before++) {
        assert_ok(wk_policy_reset(policy, 7, &err));
        act(policy, before, WK_IS_FIRST, ignored);
        act(policy, 1, WK_IS_FIRST | WK_IS_DIVERGED, forgotten[before]);
        assert_ok(wk_policy_reset(policy, 7, &err));
        act(policy, before, WK_IS_FIRST, ignored);
        act(policy, 1, WK_IS_LAST, remembered[before]);
    }
    assert_true(same(forgotten[0], forgotten[1]));
    assert_false(same(remembered[0], remembered[1]));
    wk_policy_destroy(policy);
}

TEST_CASE(draws_come_from_the_seed)
{
    wk_policy_config config = west();
    float mode[WIDTH_MAX], sampled[WIDTH_MAX], again[WIDTH_MAX], other[WIDTH_MAX];
    config.seed = 11;
    wk_policy *policy = open_policy(&config);
    act(policy, 0, WK_IS_FIRST, mode);
    wk_policy_destroy(policy);
    config.sample = true;
    policy = open_policy(&config);
    act(policy, 0, WK_IS_FIRST, sampled);
    assert_ok(wk_policy_reset(policy, 11, &err));
    act(policy, 0, WK_IS_FIRST, again);
    assert_ok(wk_policy_reset(policy, 12, &err));
    act(policy, 0, WK_IS_FIRST, other);
    wk_policy_destroy(policy);
    assert_false(same(mode, sampled));
    assert_true(same(sampled, again));
    assert_false(same(sampled, other));
}

TEST_CASE(what_it_remembers_can_be_kept)
{
    const wk_policy_config config = west();
    wk_policy *policy = open_policy(&config), *other = open_policy(&config);
    float expected[WIDTH_MAX], again[WIDTH_MAX], elsewhere[WIDTH_MAX], ignored[WIDTH_MAX];
    size_t size = wk_policy_state_size(policy);
    char *bytes = malloc(size);
    assert_non_null(bytes);
    act(policy, 0, WK_IS_FIRST, ignored);
    assert_ok(wk_policy_save(policy, bytes, &err));
    act(policy, 1, 0, expected);
    assert_ok(wk_policy_load(policy, bytes, size, &err));
    act(policy, 1, 0, again);
    assert_ok(wk_policy_load(other, bytes, size, &err));
    act(other, 1, 0, elsewhere);
    assert_true(same(expected, again) && same(expected, elsewhere));
    assert_refused(wk_policy_load(policy, bytes, size - 4, &err), WK_E_INPUT, "another policy");
    memset(bytes + size - 4, 0xff, 4);
    assert_refused(wk_policy_load(policy, bytes, size, &err), WK_E_INPUT, "not finite");
    free(bytes);
    wk_policy_destroy(policy);
    wk_policy_destroy(other);
}

TEST_CASE(the_exploration_policy_acts_too)
{
    wk_policy_config config = west();
    float task[WIDTH_MAX], explored[WIDTH_MAX];
    wk_policy *policy = open_policy(&config);
    act(policy, 0, WK_IS_FIRST, task);
    wk_policy_destroy(policy);
    config.task = WK_POLICY_TASK_EXPLORE;
    policy = open_policy(&config);
    act(policy, 0, WK_IS_FIRST, explored);
    wk_policy_destroy(policy);
    assert_false(same(task, explored));
    config.weights = "adapted";
    assert_refused(wk_policy_create(&config, &policy, &err), WK_E_INPUT, "leave it NULL");
}

TEST_CASE(an_older_snapshot_can_be_named)
{
    uint64_t steps[8];
    assert_int_equal(weights_steps(run, WK_WEIGHTS_SNAPSHOT, steps, 8), 2);
    wk_policy_config config = west();
    config.step = (int64_t)steps[0];
    wk_policy *policy = open_policy(&config);
    assert_int_equal(wk_policy_step(policy), steps[0]);
    wk_policy_destroy(policy);
}

static void expect_refused(wk_policy_config config, wk_status status, const char *part)
{
    wk_policy *policy;
    assert_refused(wk_policy_create(&config, &policy, &err), status, part);
}

TEST_CASE(what_is_wrong_is_said)
{
    wk_policy_config config = wk_policy_config_default();
    expect_refused(config, WK_E_INPUT, "run:");
    config.run = run;
    expect_refused(config, WK_E_INPUT, "task:");
    config.task = "wets";
    expect_refused(config, WK_E_NOT_FOUND, "did you mean 'west'");
    config.task = "west", config.count = 0;
    expect_refused(config, WK_E_INPUT, "count:");
    config.count = 1, config.threads = -3;
    expect_refused(config, WK_E_INPUT, "threads: cannot use -3");
    config.threads = 0, config.step = 7;
    expect_refused(config, WK_E_NOT_FOUND, "402");
    config.step = WK_POLICY_STEP_LAST, config.weights = "adapted";
    expect_refused(config, WK_E_NOT_FOUND, "waker adapt");
    config.weights = "random";
    expect_refused(config, WK_E_INPUT, "random");
    config.weights = "addapted";
    expect_refused(config, WK_E_NOT_FOUND, "did you mean 'adapted'");
    config.weights = NULL, config.device = "abacus";
    expect_refused(config, WK_E_INPUT, "abacus");
    config.device = NULL, config.run = place;
    expect_refused(config, WK_E_NOT_FOUND, "holds no run");
    wk_policy_destroy(NULL);
}

// The plug-in leaves a file behind when it is loaded. Its description is enough to act; only
// environments need the code.
TEST_CASE(code_is_loaded_only_where_the_caller_names_it)
{
    char mark[512], plugin[512], made[512];
    setenv("MARK_FILE", inside("../LOADED", mark), 1);
    setenv("XDG_CONFIG_HOME", place, 1);
    shell("cp " WAKER_BINARY_DIR "/tests/plugins/marker1.so m.so && MARK_FILE= " WAKER_BINARY_DIR
          "/waker train --quiet --logdir made " OPTIONS " --plugin m.so");
    wk_policy_config config = west();
    config.run = inside("made", made), config.task = "centre";
    wk_policy *policy = open_policy(&config);
    float actions[WIDTH_MAX];
    wk_vec *vec;
    act(policy, 0, WK_IS_FIRST, actions);
    assert_string_equal(wk_policy_domain(policy)->name, "ball-on-table");
    assert_refused(wk_vec_create(wk_policy_domain(policy), NULL, 1, 1, &vec, &err), WK_E_INPUT,
                   "code was not loaded");
    wk_policy_destroy(policy);
    assert_false(wk_path_exists(mark));
    config.plugin = inside("m.so", plugin);
    policy = open_policy(&config);
    assert_true(wk_path_exists(mark));
    assert_ok(wk_vec_create(wk_policy_domain(policy), wk_policy_options(policy), 1, 1, &vec, &err));
    wk_vec_destroy(vec);
    wk_policy_destroy(policy);
}

TEST_MAIN(setup_runs, teardown)
