// Whole runs of a domain with discrete actions and a vector observation, with and without images:
// stopped and resumed, in a population, adapted and fine-tuned they end in the bytes they must.
#include "run/code.h"
#include "run/saved_run.h"
#include "train/adapt.h"
#include "train/finetune.h"
#include "train/runs.h"
#include <limits.h>

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"
#define WHOLE "observations-whole.tmp"
#define PARTS "observations-parts.tmp"

enum { STEPS = 150, MEMBERS = 2 };

static const char *const files[] = {PLUGINS "grid.so", PLUGINS "grid_both.so"};
static const char *const together[MEMBERS] = {"observations-0.tmp", "observations-1.tmp"};
enum { FILES = sizeof files / sizeof *files };

static wk_error err;

static int clean(void **state)
{
    remove_tree(WHOLE);
    remove_tree(PARTS);
    for (int i = 0; i < MEMBERS; i++)
        remove_tree(together[i]);
    return 0;
}

static wk_run_plugins load(const char *file)
{
    wk_run_plugins code = {0};
    const wk_plugin_requests wishes = {.domain = {file, true}};
    assert_ok(wk_run_plugins_open(&wishes, &code, &err));
    return code;
}

static wk_run_config run_of(const wk_run_plugins *code, int member)
{
    wk_run_config c = quiet_run();
    c.steps = STEPS, c.checkpoint_every_steps = 30, c.snapshot_every = 60;
    c.eval_every = 70, c.eval_envs = 2;
    c.seed += (uint64_t)member;
    if (member == 1) c.policy_rate *= 2;
    snprintf(c.tasks, sizeof c.tasks, "all");
    assert_ok(wk_run_plugins_resolve(code, &c, &err));
    return c;
}

static wk_run_end train(const wk_run_plugins *code, const char *directory, stopper *s)
{
    const wk_run_config config = run_of(code, 0);
    const wk_train_extras extras = {.code = code};
    const wk_run_control control = {.stop = &s->stop, .log = {count_checkpoints, s, WK_LOG_DEBUG}};
    wk_run_end end;
    assert_ok(wk_train(&config, directory, &extras, &control, &end, &err));
    return end;
}

TEST_CASE(a_run_in_parts_ends_as_in_one)
{
    for (int f = 0; f < FILES; f++) {
        clean(NULL);
        wk_run_plugins code = load(files[f]);
        stopper never = {.checkpoints = INT_MAX};
        assert_int_equal(train(&code, WHOLE, &never), WK_RUN_FINISHED);
        int parts = 0;
        for (wk_run_end end = WK_RUN_INTERRUPTED; end != WK_RUN_FINISHED; parts++) {
            stopper soon = {.checkpoints = 2};
            end = train(&code, PARTS, &soon);
        }
        assert_true(parts > 2);
        same_end(WHOLE, PARTS);
        wk_run_plugins_close(&code);
    }
}

TEST_CASE(members_of_a_population_end_as_alone)
{
    wk_run_plugins code = load(files[0]);
    const wk_train_extras extras = {.code = &code};
    const wk_run_control control = {0};
    wk_run_config configs[MEMBERS];
    wk_train_member members[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        configs[i] = run_of(&code, i);
        members[i] = (wk_train_member){.config = &configs[i],
                                       .directory = together[i],
                                       .name = together[i],
                                       .extras = &extras};
    }
    assert_ok(wk_train_population(members, MEMBERS, &control, &err));
    for (int i = 0; i < MEMBERS; i++) {
        wk_run_end end;
        remove_tree(WHOLE);
        assert_ok(wk_train(&configs[i], WHOLE, &extras, &control, &end, &err));
        same_end(WHOLE, together[i]);
    }
    wk_run_plugins_close(&code);
}

// What is predicted of an episode that ended is what the domain shows.
TEST_CASE(a_curriculum_by_prediction_errors_measures_them)
{
    for (int f = 0; f < FILES; f++) {
        clean(NULL);
        wk_run_plugins code = load(files[f]);
        wk_run_config config = run_of(&code, 0);
        snprintf(config.curriculum_rule, sizeof config.curriculum_rule, "true-error");
        const wk_train_extras extras = {.code = &code};
        const wk_run_control control = {0};
        wk_run_end end;
        assert_ok(wk_train(&config, WHOLE, &extras, &control, &end, &err));
        wk_run_plugins_close(&code);
        const wk_saved_run_options options = {.depth = WK_SAVED_CURRICULUM};
        wk_saved_run run = {0};
        assert_ok(wk_saved_run_open(WHOLE, &options, &run, &err));
        assert_true(scored_thetas(run.curriculum) > 0);
        wk_saved_run_close(&run);
    }
}

// Adaptation needs no environments, and so no code.
TEST_CASE(policies_are_adapted_and_fine_tuned)
{
    for (int f = 0; f < FILES; f++) {
        clean(NULL);
        wk_run_plugins code = load(files[f]);
        stopper never = {.checkpoints = INT_MAX};
        const wk_run_control control = {0};
        wk_run_end end;
        train(&code, WHOLE, &never);
        wk_run_plugins_close(&code);
        const wk_adapt_config adapt = {
            .directory = WHOLE, .snapshot = WK_STEP_LAST, .tasks = "all", .updates = 12};
        assert_ok(wk_adapt(&adapt, &control, &end, &err));
        assert_int_equal(end, WK_RUN_FINISHED);
        const wk_finetune_config finetune = {.directory = WHOLE,
                                             .snapshot = WK_STEP_LAST,
                                             .task = "south-west",
                                             .steps = 40,
                                             .named = {.domain = files[f]}};
        assert_ok(wk_finetune(&finetune, &control, &end, &err));
        assert_int_equal(end, WK_RUN_FINISHED);
    }
}

// A run is of its observations: another build of the plug-in is not taken for it.
TEST_CASE(another_observation_is_another_domain)
{
    wk_run_plugins code = load(files[0]);
    stopper never = {.checkpoints = INT_MAX};
    train(&code, WHOLE, &never);
    wk_run_plugins_close(&code);
    const wk_named_plugins other = {.domain = files[1]};
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD, .plugins = &other};
    wk_saved_run run = {0};
    assert_refused(wk_saved_run_open(WHOLE, &options, &run, &err), WK_E_INPUT,
                   "the observation changed");
    wk_saved_run_close(&run);
}

TEST_MAIN_EACH(clean, clean)
