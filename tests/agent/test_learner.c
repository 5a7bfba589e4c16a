// The learner as its users see it: runs are repeatable to the bit, task policies change nothing
// else, bad numbers and bad configs do no harm. That the numbers are right is test_golden's
// subject; that learning works is test_learning's.
#include "agent/acting.h"
#include "agent/fixture.h"
#include "tensor/node.h"
#include <stdio.h>

#define PATH own_file(0)

static void assert_same_run(wk_learner_config config, int threads, wk_learner_config other,
                            int other_threads)
{
    fixture a = open_fixture(config, threads), b = open_fixture(other, other_threads);
    for (uint64_t n = 0; n < UPDATES; n++) {
        record x = update(&a, n), y = update(&b, n);
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_same_weights(&a, &b);
    close_fixture(&a);
    close_fixture(&b);
}

TEST_CASE(the_same_seed_gives_the_same_bytes)
{
    assert_same_run(tiny(TASKS), 1, tiny(TASKS), 1);
}

TEST_CASE(another_seed_gives_other_bytes)
{
    wk_learner_config other = tiny(0);
    other.seed++;
    fixture a = open_fixture(tiny(0), 1), b = open_fixture(other, 1);
    record x = update(&a, 0), y = update(&b, 0);
    assert_memory_not_equal(&x, &y, sizeof x);
    close_fixture(&a);
    close_fixture(&b);
}

TEST_CASE(task_policies_alongside_do_not_change_the_reward_free_run)
{
    assert_same_run(tiny(0), 1, tiny(TASKS), 1);
}

TEST_CASE(results_do_not_depend_on_the_number_of_threads)
{
    assert_same_run(tiny(TASKS), 1, tiny(TASKS), 2);
    assert_same_run(tiny(TASKS), 1, tiny(TASKS), 3);
}

// One step for each trained network, one per member of a stack.
static uint64_t steps_of_an_update(const fixture *r)
{
    const wk_learner_config *c = &r->learner->config;
    return (uint64_t)(1 + c->ensemble + (c->exploration == WK_EXPLORE_PLAN2EXPLORE ? 2 : 0) +
                      3 * c->tasks);
}

static void assert_skips(float bad)
{
    wk_learner_config config = tiny(TASKS);
    config.slow_period = 1000; // the slow copies' refresh is no step
    fixture a = open_fixture(config, 1), twin = open_fixture(config, 1);
    update(&a, 0);
    update(&twin, 0);
    batch *b = make_batch(1);
    b->actions[B * A] = bad;
    wk_learner_batch v = view(b);
    wk_learner_metrics metrics;
    float delta[ROWS];
    uint64_t updates, skipped;
    assert_ok(learner_update(a.learner, &v, &metrics, delta, &err));
    assert_ok(wk_learner_update_tasks(a.learner, &v, NULL, &err));
    free(b);
    assert_string_equal(wk_learner_metrics_nonfinite(&metrics), "model_loss");
    assert_same_weights(&a, &twin);
    assert_ok(wk_learner_counts(a.learner, &updates, &skipped, &err));
    assert_int_equal(updates, 2);
    assert_int_equal(skipped, steps_of_an_update(&a));
    // Nothing bad was kept: the next update is a good one and can be saved.
    record next = update(&a, 2);
    assert_null(wk_learner_metrics_nonfinite(&next.metrics));
    assert_ok(wk_learner_save(a.learner, NULL, PATH, NULL, 0, &err));
    close_fixture(&a);
    close_fixture(&twin);
    remove(PATH);
}

// The next batch comes to the device while an update runs; it must not reach that update.
TEST_CASE(an_update_in_three_parts_is_the_same_update)
{
    fixture whole = open_fixture(tiny(0), 1), parts = open_fixture(tiny(0), 1);
    batch *b[UPDATES + 1];
    for (uint64_t n = 0; n <= UPDATES; n++)
        b[n] = make_batch(n);
    wk_learner_batch v = view(b[0]);
    assert_ok(wk_learner_stage(parts.learner, &v, &err));
    for (uint64_t n = 0; n < UPDATES; n++) {
        record x = update(&whole, n), y;
        memset(&y, 0, sizeof y);
        v = view(b[n + 1]);
        assert_ok(wk_learner_start(parts.learner, &err));
        assert_ok(wk_learner_stage(parts.learner, &v, &err));
        assert_ok(wk_learner_finish(parts.learner, &y.metrics, y.delta, &err));
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_same_weights(&whole, &parts);
    for (uint64_t n = 0; n <= UPDATES; n++)
        free(b[n]);
    close_fixture(&whole);
    close_fixture(&parts);
}

static void compare_overlapping_with_sequential(async_mode mode)
{
    fixture behind = open_fixture(tiny(TASKS), 1), beside = open_beside(tiny(TASKS), mode);
    batch *b[UPDATES + 1];
    for (uint64_t n = 0; n <= UPDATES; n++)
        b[n] = make_batch(n);
    wk_learner_batch v = view(b[0]);
    assert_ok(wk_learner_stage(beside.learner, &v, &err));
    for (uint64_t n = 0; n < UPDATES; n++) {
        wk_learner_batch now = view(b[n]), next = view(b[n + 1]);
        record x = {0}, y = {0};
        wk_task_metrics of_x = {0}, of_y = {0};
        assert_ok(learner_update(behind.learner, &now, &x.metrics, x.delta, &err));
        assert_ok(wk_learner_update_tasks(behind.learner, &now, &of_x, &err));
        assert_ok(wk_learner_start(beside.learner, &err));
        assert_ok(wk_learner_stage(beside.learner, &next, &err));
        assert_ok(wk_learner_start_tasks(beside.learner, &err));
        assert_ok(wk_learner_finish(beside.learner, &y.metrics, y.delta, &err));
        wk_learner_read_tasks(beside.learner, &of_y);
        assert_memory_equal(&x, &y, sizeof x);
        assert_memory_equal(&of_x, &of_y, sizeof of_x);
        assert_same_weights(&behind, &beside);
    }
    close_fixture(&behind);
    close_fixture(&beside);
    for (uint64_t n = 0; n <= UPDATES; n++)
        free(b[n]);
}

TEST_CASE(overlapping_task_updates_are_those_in_sequence)
{
    for (int mode = ASYNC_LATE; mode <= ASYNC_EAGER; mode++)
        compare_overlapping_with_sequential((async_mode)mode);
}

TEST_CASE(nan_in_a_batch_skips_counts_and_names_the_update)
{
    assert_skips(NAN);
}

TEST_CASE(infinity_in_a_batch_skips_counts_and_names_the_update)
{
    assert_skips(INFINITY);
}

TEST_CASE(a_bad_reward_skips_its_own_task_only)
{
    fixture a = open_fixture(tiny(TASKS), 1);
    batch *b = make_batch(0);
    b->rewards[3 * TASKS + 1] = NAN;
    wk_learner_batch v = view(b);
    uint64_t updates, skipped;
    wk_task_metrics tasks;
    assert_ok(learner_update(a.learner, &v, NULL, NULL, &err));
    assert_ok(wk_learner_update_tasks(a.learner, &v, &tasks, &err));
    assert_ok(wk_learner_counts(a.learner, &updates, &skipped, &err));
    assert_int_equal(skipped, 1); // the reward head of task 1
    assert_true(isfinite(tasks.reward_loss[0]) && !isfinite(tasks.reward_loss[1]));
    free(b);
    close_fixture(&a);
}

// How many Adam optimizers a graph has, and in how many of them the two options are set.
typedef struct adam_groups {
    int all, keras, joint;
} adam_groups;

static adam_groups groups_of(const wk_compiled_graph *compiled)
{
    adam_groups found = {0};
    const wk_graph *g = compiled->graph;
    for (size_t i = 0; i < g->nodes.count; i++) {
        const wk_node *node = &g->nodes.items[i];
        if (node->op != WK_OP_adam_begin) continue;
        found.all++;
        found.keras += node->attrs.adam.keras_epsilon;
        found.joint += node->attrs.adam.joint_clip;
    }
    return found;
}

TEST_CASE(the_optimisers_are_configured_by_their_keys)
{
    wk_learner_config config = tiny(TASKS);
    fixture plain = open_fixture(config, 1);
    config.adam_epsilon = WK_EPSILON_KERAS;
    config.ensemble_clip = config.reward_clip = WK_CLIP_JOINT;
    fixture keras = open_fixture(config, 1);
    adam_groups learn = groups_of(&keras.learner->update), tasks = groups_of(&keras.learner->tasks);
    assert_true(learn.all == 4 && learn.keras == 4 && learn.joint == 1);
    assert_true(tasks.all == 3 && tasks.keras == 3 && tasks.joint == 1);
    learn = groups_of(&plain.learner->update), tasks = groups_of(&plain.learner->tasks);
    assert_true(learn.keras == 0 && learn.joint == 0 && tasks.keras == 0 && tasks.joint == 0);
    close_fixture(&plain);
    close_fixture(&keras);
}

TEST_CASE(a_bad_reward_skips_all_heads_that_are_clipped_together)
{
    wk_learner_config config = tiny(TASKS);
    config.reward_clip = WK_CLIP_JOINT;
    fixture a = open_fixture(config, 1);
    batch *b = make_batch(0);
    b->rewards[3 * TASKS + 1] = NAN;
    wk_learner_batch v = view(b);
    uint64_t updates, skipped;
    assert_ok(learner_update(a.learner, &v, NULL, NULL, &err));
    assert_ok(wk_learner_update_tasks(a.learner, &v, &(wk_task_metrics){0}, &err));
    assert_ok(wk_learner_counts(a.learner, &updates, &skipped, &err));
    assert_int_equal(skipped, TASKS);
    free(b);
    close_fixture(&a);
}

// With the start among the states, δ has one more term than the reward of the policy.
TEST_CASE(the_authors_ensemble_learns_and_estimates_errors)
{
    wk_learner_config config = tiny(0);
    config.ensemble_action = WK_ACTION_ARRIVING;
    config.ensemble_states = WK_STATES_ALL;
    assert_same_run(config, 1, config, 2);
    fixture r = open_fixture(config, 1), plain = open_fixture(tiny(0), 1);
    record out = update(&r, 0), other = update(&plain, 0);
    assert_null(wk_learner_metrics_nonfinite(&out.metrics));
    assert_true(out.metrics.ensemble_loss != other.metrics.ensemble_loss);
    assert_true(out.metrics.disagreement != other.metrics.disagreement);
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum += out.delta[i];
    assert_true(fabs(sum / ROWS - (double)out.metrics.disagreement) > 1e-6);
    close_fixture(&r);
    close_fixture(&plain);
}

TEST_CASE(the_longest_horizon_that_a_config_takes_can_be_imagined)
{
    wk_learner_config config = tiny(0);
    config.horizon = 256;
    fixture r = open_fixture(config, 1);
    record out = update(&r, 0);
    assert_null(wk_learner_metrics_nonfinite(&out.metrics));
    close_fixture(&r);
}

TEST_CASE(random_exploration_has_no_actor_and_still_estimates_errors)
{
    wk_learner_config config = tiny(0);
    config.exploration = WK_EXPLORE_RANDOM;
    fixture r = open_fixture(config, 1);
    record out = update(&r, 0);
    assert_null(wk_learner_metrics_nonfinite(&out.metrics));
    for (int i = 0; i < ROWS; i++)
        assert_true(out.delta[i] > 0);
    assert_true(out.metrics.explore.actor_loss == 0);
    assert_null(r.learner->params[WK_NETWORK_EXPLORE_ACTOR]);
    wk_acting *acting;
    assert_refused(wk_acting_create(r.learner, WK_POLICY_EXPLORE, 1, &acting, &err), WK_E_INPUT,
                   "random actions");
    close_fixture(&r);
}

// δ of a start is the mean over steps of what the metrics average over everything.
TEST_CASE(the_error_estimates_average_to_the_disagreement)
{
    fixture r = open_fixture(tiny(0), 1);
    record out = update(&r, 0);
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum += out.delta[i];
    assert_near(sum / ROWS, out.metrics.disagreement, 1e-5 * out.metrics.disagreement);
    close_fixture(&r);
}

// By how much the first update moves the weights of a network, at most.
static double first_move(const wk_learner_config *config, wk_network_id network)
{
    fixture r = open_fixture(*config, 1);
    size_t size;
    double move = 0;
    uint8_t *before = weights(&r, network, &size);
    update(&r, 0);
    uint8_t *after = weights(&r, network, &size);
    const float *x = (const float *)before, *y = (const float *)after;
    for (size_t i = 0; i < size / sizeof *x; i++)
        move = fmax(move, fabs((double)y[i] - (double)x[i]));
    free(before);
    free(after);
    close_fixture(&r);
    return move;
}

TEST_CASE(a_rate_of_zero_trains_nothing)
{
    wk_learner_config config = tiny(0);
    config.policy_rate = 0;
    assert_true(first_move(&config, WK_NETWORK_EXPLORE_ACTOR) < 1e-5); // by the decay alone
}

// Adam's first step moves the weight with the largest gradient by about the rate.
TEST_CASE(exploration_has_a_rate_of_its_own)
{
    wk_learner_config config = tiny(2);
    config.policy_rate = 1e-3f;
    assert_near(first_move(&config, WK_NETWORK_EXPLORE_ACTOR), 1e-3, 1e-4);
    config.exploration_rate = 1e-2f;
    assert_near(first_move(&config, WK_NETWORK_EXPLORE_ACTOR), 1e-2, 1e-3);
    assert_near(first_move(&config, WK_NETWORK_EXPLORE_CRITIC), 1e-2, 1e-3);
    assert_near(first_move(&config, WK_NETWORK_TASK_ACTOR), 1e-3, 1e-4);
}

TEST_CASE(bad_configs_are_refused_with_the_field_and_its_range)
{
    wk_backend *backend;
    wk_learner *learner;
    assert_ok(test_backend_create(NULL, &backend, &err));
    wk_learner_config c = tiny(0);
    c.depth = 0;
    assert_refused(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err),
        WK_E_INPUT, "depth = 0");
    c = tiny(0), c.discount = NAN;
    assert_refused(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err),
        WK_E_INPUT, "discount");
    c = tiny(0), c.length = 1;
    assert_refused(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err),
        WK_E_INPUT, "2 to 1024");
    c = tiny(0), c.action_size = 0;
    assert_refused(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err),
        WK_E_INPUT, "action_size");
    c = tiny(17);
    assert_refused(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err),
        WK_E_INPUT, "tasks = 17");
    wk_backend_destroy(backend);
}

TEST_CASE(a_learner_without_tasks_has_no_task_updates)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    wk_learner_batch v = view(b);
    wk_acting *acting;
    assert_refused(wk_learner_update_tasks(r.learner, &v, NULL, &err), WK_E_INPUT, "without tasks");
    assert_refused(wk_acting_create(r.learner, 0, 1, &acting, &err), WK_E_INPUT, "task 0");
    free(b);
    close_fixture(&r);
}

TEST_MAIN(NULL, NULL)
