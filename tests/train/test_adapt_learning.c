// Learning from saved runs as a whole, on the toy domain: a reward-free run, policies adapted from
// its last snapshot, and from its first, which knows little, fine-tuned with the task's reward.
// What counts is how they row in real ponds. The margins are far from what a broken adaptation
// reaches and leave room for another machine's rounding.
#include "agent/toy_training.h"
#include "run/saved_run.h"
#include "train/adapt.h"
#include "train/finetune.h"
#include "train/runs.h"

#define RUN "adapt-learning.tmp"

enum {
    STEPS = 8000,
    EARLY = 2000,
    ADAPT_UPDATES = 450,
    FINETUNE_STEPS = 3000,
    EVALUATION_ROUNDS = 4,
    SEED = 7
};

static const double LARGEST_TURBULENCE = 0.5; // of the ponds that policies are judged in
// Of the way from random actions to an expert who sees the whole state, for each task.
static const double SHARE_MIN = 0.25;
// What fine-tuning adds to it, in the mean over the tasks.
static const double GAIN_MIN = 0.1;

static wk_error err;
static int64_t first_step, last_step; // of the run's snapshots

static wk_run_config learning_run(void)
{
    wk_run_config c = wk_run_config_default();
    snprintf(c.domain, sizeof c.domain, "toy");
    snprintf(c.curriculum_rule, sizeof c.curriculum_rule, "dr");
    c.seed = 1, c.steps = STEPS, c.prefill = 640, c.env_count = TOY_PONDS, c.env_threads = 1;
    c.train_every = 6, c.replay_capacity = 20000;
    c.depth = 8, c.deter = 64, c.hidden = 64, c.stoch = 8;
    c.classes = 8, c.units = 64, c.layers = 2, c.ensemble = 4;
    c.batch = 6, c.length = 8, c.horizon = 8, c.slow_period = 20;
    c.model_rate = 2e-3, c.ensemble_rate = 7e-4, c.policy_rate = 3e-4;
    c.discount = 0.95, c.entropy_scale = 0.6;
    c.snapshot_every = EARLY;
    c.log_tensorboard = false;
    return c;
}

static int setup(void **state)
{
    remove_tree(RUN);
    wk_run_control control = {0};
    wk_run_end end;
    wk_run_config run = learning_run();
    assert_ok(wk_train(&run, RUN, NULL, &control, &end, &err));
    uint64_t steps[8];
    size_t count = weights_steps(RUN, WK_WEIGHTS_SNAPSHOT, steps, 8);
    assert_true(count > 1);
    first_step = (int64_t)steps[0];
    last_step = (int64_t)steps[count - 1];
    const int64_t both[] = {first_step, last_step};
    for (int i = 0; i < 2; i++) {
        wk_adapt_config adapt = {
            .directory = RUN, .snapshot = both[i], .tasks = "all", .updates = ADAPT_UPDATES};
        assert_ok(wk_adapt(&adapt, &control, &end, &err));
    }
    return 0;
}

static int teardown(void **state)
{
    remove_tree(RUN);
    return 0;
}

static double score(toy_data_rower rower, int task)
{
    toy_data s = toy_data_open(SEED);
    for (int i = 0; i < EVALUATION_ROUNDS; i++)
        toy_data_collect(&s, rower, 0, LARGEST_TURBULENCE);
    double mean = toy_data_score(&s, 0, task);
    toy_data_close(&s);
    return mean;
}

// How far a saved policy is on the way from random actions to the expert.
static double share(wk_weights_kind kind, int64_t step, int task)
{
    const wk_domain *toy = &wk_toy;
    const wk_weights_choice choice = {
        .kind = kind, .step = step, .task = toy->tasks[task].name, .threads = 1};
    wk_saved_run run = {0};
    wk_acting *acting;
    int policy = 0;
    assert_ok(wk_saved_run_open(RUN, &(wk_saved_run_options){.weights = &choice}, &run, &err));
    assert_ok(wk_saved_run_policy(&run, task, &policy, &err));
    assert_ok(wk_acting_create(run.weights.learner, policy, TOY_PONDS, &acting, &err));
    double reached = score((toy_data_rower){.acting = acting, .mode = WK_ACT_MODE}, task);
    wk_acting_destroy(acting);
    wk_saved_run_close(&run);
    double random = score(toy_data_random, task);
    double expert = score((toy_data_rower){.expert_task = task}, task);
    print_message("%s, %s from step %d: random %.3f, policy %.3f, expert %.3f\n",
                  toy->tasks[task].name, wk_weights_kind_name(kind), (int)step, random, reached,
                  expert);
    return (reached - random) / (expert - random);
}

TEST_CASE(adapted_policies_beat_random_actions)
{
    for (int task = 0; task < TOY_TASKS; task++)
        assert_true(share(WK_WEIGHTS_ADAPTED, last_step, task) > SHARE_MIN);
}

TEST_CASE(fine_tuning_raises_what_an_early_world_model_gave)
{
    wk_run_control control = {0};
    wk_run_end end;
    double gain = 0;
    for (int task = 0; task < TOY_TASKS; task++) {
        wk_finetune_config config = {.directory = RUN,
                                     .snapshot = first_step,
                                     .task = wk_toy.tasks[task].name,
                                     .steps = FINETUNE_STEPS};
        assert_ok(wk_finetune(&config, &control, &end, &err));
        double before = share(WK_WEIGHTS_ADAPTED, first_step, task);
        double after = share(WK_WEIGHTS_FINETUNED, first_step, task);
        assert_true(after > SHARE_MIN);
        gain += (after - before) / TOY_TASKS;
    }
    assert_true(gain > GAIN_MIN);
}

TEST_MAIN(setup, teardown)
