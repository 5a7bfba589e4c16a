// The loop with known answers, small enough for every change: the policy of a task acts, and what
// it collects trains the world model that it is trained in. A wrong row, action, reward or reset
// anywhere between environment, replay, learner and acting keeps the return down.
#include "eval/episodes.h"
#include "support/trainer.h"
#include "train/runs.h"
#include <sys/stat.h>

#define RUN "acting-learning.tmp"

enum { STEPS = 3200, PREFILL = 640, EPISODES_JUDGED = 24, WEST = 0, WALKS = 12, STAND = 0 };

// Boats that lie at the buoy from the first step on would get 20; random actions get about 2. What
// the seeds 1 to 3 reached on the machine that this was written on was 15.0 to 15.3.
static const double RETURN_MIN = 13;

// The policy of `task` acts in one world of `domain`.
static wk_run_config acting_run(const char *domain, const char *task)
{
    wk_run_config c = wk_run_config_default();
    snprintf(c.domain, sizeof c.domain, "%s", domain);
    snprintf(c.tasks, sizeof c.tasks, "%s", task);
    snprintf(c.acting, sizeof c.acting, "%s", task);
    c.env_threads = 1, c.train_every = 4, c.replay_capacity = 20000;
    return c;
}

static wk_run_config boat_run(void)
{
    wk_run_config c = acting_run("toy", "west");
    snprintf(c.curriculum_rule, sizeof c.curriculum_rule, "fixed");
    snprintf(c.curriculum_theta, sizeof c.curriculum_theta, "0.3");
    c.seed = 1, c.steps = STEPS, c.prefill = PREFILL;
    c.depth = 8, c.deter = 64, c.hidden = 64, c.stoch = 8;
    c.classes = 8, c.units = 64, c.layers = 2, c.ensemble = 2;
    c.batch = 6, c.length = 8, c.horizon = 8, c.slow_period = 20;
    c.model_rate = 2e-3, c.policy_rate = 3e-4, c.discount = 0.95;
    return c;
}

// Returns of the episodes in the order they ended, [n] afterwards.
typedef struct returns {
    double west[STEPS / 20 + 8];
    int n;
} returns;

static wk_trainer *begin(const wk_run_config *config)
{
    wk_error err = {0};
    wk_trainer *trainer;
    remove_tree(RUN);
    assert_int_equal(mkdir(RUN, 0755), 0);
    assert_ok(trainer_create(config, RUN, &trainer, &err));
    return trainer;
}

static void end(wk_trainer *trainer)
{
    trainer_destroy(trainer);
    remove_tree(RUN);
}

static void collect(const wk_run_config *config, returns *out)
{
    wk_error err = {0};
    const wk_iteration *done;
    wk_trainer *trainer = begin(config);
    while (!wk_trainer_progress(trainer).finished) {
        assert_ok(trainer_step(trainer, &done, &err));
        for (int i = 0; i < done->n_ended; i++)
            out->west[out->n++] = done->ended[i].returns[WEST];
    }
    end(trainer);
}

static double mean(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

static void a_policy_that_acts_learns_its_task(void **state)
{
    (void)state;
    static returns r;
    const wk_run_config config = boat_run();
    collect(&config, &r);
    double random = mean(r.west, EPISODES_JUDGED);
    double reached = mean(r.west + r.n - EPISODES_JUDGED, EPISODES_JUDGED);
    print_message("return of random actions %.2f, after %d steps %.2f\n", random, STEPS, reached);
    assert_true(random < RETURN_MIN / 2);
    assert_true(reached > RETURN_MIN);
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
static void a_walker_on_flat_ground_learns_to_get_up(void **state)
{
    (void)state;
    wk_error err = {0};
    const wk_iteration *done;
    wk_run_config c = acting_run("dmc-walker", "stand");
    snprintf(c.exploration, sizeof c.exploration, "random");
    c.seed = 3, c.steps = 8000, c.prefill = 1000, c.env_count = 4;
    c.depth = 2, c.deter = 64, c.hidden = 64, c.stoch = 8;
    c.classes = 8, c.units = 64, c.layers = 2, c.ensemble = 2;
    c.batch = 8, c.length = 12, c.horizon = 10, c.slow_period = 50;
    c.model_rate = 1e-3, c.policy_rate = 3e-4;
    wk_trainer *trainer = begin(&c);
    while (!wk_trainer_progress(trainer).finished)
        assert_ok(trainer_step(trainer, &done, &err));
    const wk_domain *domain = wk_trainer_domain(trainer);
    double random = stand(domain, NULL), reached = stand(domain, wk_trainer_learner(trainer));
    print_message("return of random actions %.1f, of the policy %.1f\n", random, reached);
    assert_true(reached > 1.1 * random);
    end(trainer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_that_acts_learns_its_task),
        cmocka_unit_test(a_walker_on_flat_ground_learns_to_get_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
