// The loop with known answers, small enough for every change: the policy of a task acts, and what
// it collects trains the world model that it is trained in. A wrong row, action, reward or reset
// anywhere between environment, replay, learner and acting keeps the return down. With continuous
// actions and images, by gradients through the dynamics; with discrete ones and a vector
// observation, by REINFORCE.
#include "eval/episodes.h"
#include "run/code.h"
#include "support/trainer.h"
#include "train/runs.h"

#define RUN "learning.tmp"
#define GRID WAKER_BINARY_DIR "/tests/plugins/grid.so"

enum { STEPS = 3200, PREFILL = 640, EPISODE_MIN = 20, WALKS = 12, STAND = 0 };

// The policy of `task` acts in one world of `domain` (NULL: a plug-in says which).
static wk_run_config acting_run(const char *domain, const char *task)
{
    wk_run_config c = wk_run_config_default();
    if (domain) snprintf(c.domain, sizeof c.domain, "%s", domain);
    snprintf(c.tasks, sizeof c.tasks, "%s", task);
    snprintf(c.acting, sizeof c.acting, "%s", task);
    c.env_threads = 1, c.train_every = 4, c.replay_capacity = 20000;
    return c;
}

// The same at a size that learns in seconds, in the world θ.
static wk_run_config small_run(const char *domain, const char *task, const char *theta)
{
    wk_run_config c = acting_run(domain, task);
    snprintf(c.curriculum_rule, sizeof c.curriculum_rule, "fixed");
    snprintf(c.curriculum_theta, sizeof c.curriculum_theta, "%s", theta);
    c.seed = 1, c.steps = STEPS, c.prefill = PREFILL;
    c.deter = 64, c.hidden = 64, c.stoch = 8, c.classes = 8;
    c.units = 64, c.layers = 2, c.ensemble = 2;
    c.horizon = 8, c.slow_period = 20, c.model_rate = 2e-3, c.discount = 0.95;
    return c;
}

static wk_trainer *begin(const wk_run_config *config, const wk_run_plugins *code)
{
    wk_error err = {0};
    wk_trainer *trainer;
    wk_dir *dir = NULL;
    remove_tree(RUN);
    assert_ok(wk_dir_create(RUN, &err));
    assert_ok(wk_dir_open(NULL, RUN, &dir, &err));
    const wk_dir *in = dir;
    assert_ok(wk_trainer_create_population(&config, &code, &in, 1, &trainer, &err));
    wk_dir_close(dir);
    return trainer;
}

static void end(wk_trainer *trainer)
{
    trainer_destroy(trainer);
    remove_tree(RUN);
}

static double mean(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

// Trains; the first episodes, of random actions, and the last bring such returns of the first task.
static void assert_learns(const wk_run_config *config, const wk_run_plugins *code, int judged,
                          double random_max, double reached_min)
{
    static double returns[STEPS / EPISODE_MIN + 8];
    wk_error err = {0};
    const wk_iteration *done;
    wk_trainer *trainer = begin(config, code);
    int n = 0;
    while (!wk_trainer_progress(trainer).finished) {
        assert_ok(trainer_step(trainer, &done, &err));
        for (int i = 0; i < done->n_ended; i++)
            returns[n++] = done->ended[i].returns[0];
    }
    end(trainer);
    double random = mean(returns, judged), reached = mean(returns + n - judged, judged);
    print_message("return of random actions %.2f, after %d steps %.2f\n", random, STEPS, reached);
    assert_true(random < random_max);
    assert_true(reached > reached_min);
}

// Boats that lie at the buoy from the first step on would get 20; random actions get about 2. What
// the seeds 1 to 3 reached on the machine that this was written on was 15.0 to 15.3.
TEST_CASE(a_policy_that_acts_learns_its_task)
{
    wk_run_config c = small_run("toy", "west", "0.3");
    c.depth = 8, c.batch = 6, c.length = 8, c.policy_rate = 3e-4;
    assert_learns(&c, NULL, 24, 6.5, 13);
}

// A walker through the gap of a wall to a corner. One that began in the corner and stayed would get
// 40; random actions get about 15, and the seeds 1 to 3 reached 32 to 35.
TEST_CASE(a_policy_learns_by_reinforce)
{
    wk_error err = {0};
    wk_run_plugins code = {0};
    const wk_plugin_requests wishes = {.domain = {GRID, true}};
    assert_ok(wk_run_plugins_open(&wishes, &code, &err));
    wk_run_config c = small_run(NULL, "north-east", "3,0.1");
    c.batch = 8, c.length = 10, c.policy_rate = 1e-3, c.entropy_scale = 3e-3;
    assert_ok(wk_run_plugins_resolve(&code, &c, &err));
    assert_learns(&c, &code, 16, 20, 27);
    wk_run_plugins_close(&code);
}

// Mean return of `stand` in the suite's own world, by the policy's mode or by random actions: the
// same starts for both.
static double stand(const wk_domain *domain, wk_learner *learner)
{
    wk_error err = {0};
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    wk_eval_episode episodes[WALKS];
    int count;
    assert_ok(wk_eval_cases(domain, NULL, WK_EVAL_DR, WALKS, cases, &count, &err));
    const wk_eval_config config = {.domain = domain,
                                   .task = STAND,
                                   .learner = learner,
                                   .mode = WK_ACT_MODE,
                                   .cases = cases,
                                   .n_cases = count};
    assert_ok(wk_evaluate(&config, episodes, &err));
    double sum = 0;
    for (int i = 0; i < WALKS; i++)
        sum += episodes[i].returns[STAND];
    return sum / WALKS;
}

// One that stands from the first step on would get 1000; random actions get 137 from these starts,
// and the seeds 0, 3 and 4 reached 165 to 272 (1 and 2, with 10,000 steps, lay between).
TEST_CASE(a_walker_on_flat_ground_learns_to_get_up)
{
    wk_error err = {0};
    const wk_iteration *done;
    wk_run_config c = acting_run("dmc-walker", "stand");
    snprintf(c.exploration, sizeof c.exploration, "random");
    c.seed = 3, c.steps = 8000, c.prefill = 1000, c.env_count = 4;
    c.depth = 2, c.deter = 64, c.hidden = 64, c.stoch = 8;
    c.classes = 8, c.units = 64, c.layers = 2, c.ensemble = 2;
    c.batch = 8, c.length = 12, c.horizon = 10, c.slow_period = 50;
    c.model_rate = 1e-3, c.policy_rate = 3e-4;
    wk_trainer *trainer = begin(&c, NULL);
    while (!wk_trainer_progress(trainer).finished)
        assert_ok(trainer_step(trainer, &done, &err));
    const wk_domain *domain = trainer->domain;
    double random = stand(domain, NULL), reached = stand(domain, trainer->learner);
    print_message("return of random actions %.1f, of the policy %.1f\n", random, reached);
    assert_true(reached > 1.1 * random);
    end(trainer);
}

TEST_MAIN(NULL, NULL)
