// Many environments: the same numbers whatever the number of threads, resets in place of actions,
// and errors that leave nothing half-moved.
#include "base/random.h"
#include "support/check.h"
#include "support/toy_domain.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { COUNT = 5 };

static wk_error err;
static float still[COUNT * TOY_ACTIONS];

static wk_vec *make(const toy *t, int count, int threads)
{
    wk_vec *vec = NULL;
    assert_ok(wk_vec_create(&t->domain, NULL, count, threads, &vec, &err));
    return vec;
}

static void plan(wk_vec *vec, int i, uint64_t episode)
{
    const double theta[] = {0.1 + 0.05 * (double)i, (double)(i % 3)};
    assert_ok(wk_vec_plan_reset(vec, i, theta, 2, 11, episode, &err));
}

static void plan_all(wk_vec *vec)
{
    for (int i = 0; i < wk_vec_count(vec); i++)
        plan(vec, i, (uint64_t)i);
}

// A checksum over everything in the batch after each of `steps` steps with pseudo-random actions.
static uint32_t play(wk_vec *vec, int steps)
{
    int count = wk_vec_count(vec);
    const wk_batch *batch = wk_vec_batch(vec);
    uint64_t episodes = 100;
    uint32_t sum = 0;
    wk_rng rng = wk_rng_stream(5, "actions", 0);
    float *actions = calloc((size_t)count, TOY_ACTIONS * sizeof *actions);
    assert_non_null(actions);
    plan_all(vec);
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < count * TOY_ACTIONS; i++)
            actions[i] = (float)wk_rng_uniform(&rng, -1.5, 1.5);
        assert_ok(wk_vec_step_begin(vec, actions, &err));
        if (step % 3 == 0) usleep(200);
        assert_ok(wk_vec_step_finish(vec, &err));
        sum = (uint32_t)crc32_z(sum, batch->images, (size_t)count * WK_IMAGE_BYTES);
        sum = (uint32_t)crc32_z(sum, (void *)batch->rewards, (size_t)count * 2 * sizeof(float));
        sum = (uint32_t)crc32_z(sum, (void *)batch->completion, (size_t)count * 2 * sizeof(float));
        sum = (uint32_t)crc32_z(sum, batch->flags, (size_t)count);
        for (int i = 0; i < count; i++)
            if (batch->flags[i] & WK_IS_LAST) plan(vec, i, episodes++);
    }
    free(actions);
    return sum;
}

TEST_CASE(results_do_not_depend_on_the_number_of_threads)
{
    toy t = toy_make(TOY_SOUND);
    uint32_t sums[5];
    for (int threads = 0; threads <= 4; threads++) { // 0: one per core
        wk_vec *vec = make(&t, 7, threads);
        sums[threads] = play(vec, 60);
        wk_vec_destroy(vec);
    }
    for (int i = 1; i < 5; i++)
        assert_int_equal(sums[i], sums[0]);
    assert_int_equal(toy_worlds(), 0);
}

TEST_CASE(each_row_is_what_that_environment_gives_alone)
{
    toy t = toy_make(TOY_SOUND);
    wk_vec *vec = make(&t, COUNT, 2);
    const wk_batch *batch = wk_vec_batch(vec);
    plan_all(vec);
    float actions[COUNT * TOY_ACTIONS];
    for (int i = 0; i < COUNT * TOY_ACTIONS; i++)
        actions[i] = 0.1f * (float)i;
    assert_ok(wk_vec_step(vec, actions, &err)); // resets; the actions are not looked at
    assert_ok(wk_vec_step(vec, actions, &err));
    for (int i = 0; i < COUNT; i++) {
        double x = toy_start(11, (uint64_t)i);
        double gain = 0.1 + 0.05 * i, drift = i % 3;
        x += 0.1 * (gain * (double)actions[i * TOY_ACTIONS] + drift);
        assert_near(batch->rewards[2 * i], x, 1e-6);
        assert_near(batch->rewards[2 * i + 1], -x, 1e-6);
        assert_int_equal(batch->flags[i], 0);
        uint8_t image[WK_IMAGE_BYTES];
        assert_ok(wk_env_render(wk_vec_env(vec, i), WK_IMAGE_SIDE, WK_IMAGE_SIDE, image, &err));
        assert_memory_equal(batch->images + i * WK_IMAGE_BYTES, image, sizeof image);
    }
    wk_vec_destroy(vec);
}

TEST_CASE(the_first_step_needs_resets)
{
    toy t = toy_make(TOY_SOUND);
    wk_vec *vec = make(&t, COUNT, 2);
    plan(vec, 0, 0);
    assert_refused(wk_vec_step(vec, still, &err), WK_E_INPUT, "environment 1: no episode");
    for (int i = 1; i < COUNT; i++)
        plan(vec, i, 0);
    assert_ok(wk_vec_step(vec, still, &err));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(wk_vec_batch(vec)->flags[i], WK_IS_FIRST);
    wk_vec_destroy(vec);
}

TEST_CASE(a_finished_episode_needs_a_reset)
{
    toy t = toy_make(TOY_SOUND);
    wk_vec *vec = make(&t, COUNT, 2);
    plan_all(vec);
    for (int step = 0; step <= TOY_STEPS; step++)
        assert_ok(wk_vec_step(vec, still, &err));
    assert_int_equal(wk_vec_batch(vec)->flags[4], WK_IS_LAST);
    for (int i = 0; i < 3; i++)
        plan(vec, i, 9);
    assert_refused(wk_vec_step(vec, still, &err), WK_E_INPUT, "environment 3: the episode ended");
    wk_vec_destroy(vec);
}

TEST_CASE(a_bad_action_moves_no_environment)
{
    toy t = toy_make(TOY_SOUND);
    wk_vec *vec = make(&t, COUNT, 2);
    plan_all(vec);
    assert_ok(wk_vec_step(vec, still, &err));
    float actions[COUNT * TOY_ACTIONS] = {0};
    actions[2 * TOY_ACTIONS + 1] = NAN;
    actions[4 * TOY_ACTIONS] = NAN;
    assert_refused(wk_vec_step(vec, actions, &err), WK_E_INPUT, "environment 2: number 1");
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(wk_env_steps(wk_vec_env(vec, i)), 0);
    wk_vec_destroy(vec);
}

TEST_CASE(a_running_episode_can_be_given_up)
{
    toy t = toy_make(TOY_SOUND);
    wk_vec *vec = make(&t, COUNT, 1);
    plan_all(vec);
    assert_ok(wk_vec_step(vec, still, &err));
    assert_ok(wk_vec_step(vec, still, &err));
    plan(vec, 2, 50);
    assert_ok(wk_vec_step(vec, still, &err));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(wk_env_steps(wk_vec_env(vec, i)), i == 2 ? 0 : 2);
    wk_vec_destroy(vec);
}

TEST_CASE(calls_out_of_order_and_out_of_range_are_refused)
{
    toy t = toy_make(TOY_SOUND);
    wk_vec *vec = make(&t, COUNT, 2);
    const double theta[] = {0.1, 0};
    assert_refused(wk_vec_plan_reset(vec, -1, theta, 2, 0, 0, &err), WK_E_INPUT,
                   "there is no environment -1");
    assert_refused(wk_vec_plan_reset(vec, COUNT, theta, 2, 0, 0, &err), WK_E_INPUT,
                   "there is no environment");
    assert_refused(wk_vec_step_finish(vec, &err), WK_E_INPUT, "call wk_vec_step_begin first");
    plan_all(vec);
    assert_ok(wk_vec_step_begin(vec, still, &err));
    assert_refused(wk_vec_plan_reset(vec, 0, theta, 2, 0, 0, &err), WK_E_INPUT, "under way");
    assert_refused(wk_vec_step_begin(vec, still, &err), WK_E_INPUT, "under way");
    err = (wk_error){0};
    assert_ok(wk_vec_step_finish(vec, &err));
    wk_vec_destroy(vec);
}

TEST_CASE(the_lowest_failing_environment_is_reported)
{
    toy t = toy_make(TOY_RESET_FAILS);
    for (int threads = 1; threads <= 3; threads++) {
        wk_vec *vec = make(&t, COUNT, threads);
        plan_all(vec);
        assert_refused(wk_vec_step(vec, still, &err), WK_E_UNSUPPORTED,
                       "environment 0: domain 'toy', reset with θ (0.1, 0), seed 11, episode 0: "
                       "the toy has no such place");
        assert_int_equal(wk_vec_batch(vec)->flags[0], WK_IS_FIRST | WK_IS_LAST | WK_IS_DIVERGED);
        assert_refused(wk_vec_step(vec, still, &err), WK_E_INPUT, "environment 0: no episode");
        wk_vec_destroy(vec);
    }
}

TEST_CASE(diverged_episodes_are_counted)
{
    toy t = toy_make(TOY_DIVERGES);
    wk_vec *vec = make(&t, COUNT, 2);
    for (int round = 1; round <= 2; round++) {
        plan_all(vec);
        for (int step = 0; step <= TOY_EVENT_STEP; step++)
            assert_ok(wk_vec_step(vec, still, &err));
        assert_int_equal(wk_vec_diverged(vec), round * COUNT);
    }
    for (int i = 0; i < COUNT; i++)
        wk_vec_plan_idle(vec, i);
    assert_ok(wk_vec_step(vec, still, &err)); // none is counted again
    assert_int_equal(wk_vec_diverged(vec), 2 * COUNT);
    wk_vec_destroy(vec);
}

TEST_CASE(a_vector_can_be_destroyed_in_the_middle_of_a_step)
{
    toy t = toy_make(TOY_SOUND);
    wk_vec *vec = make(&t, COUNT, 3);
    plan_all(vec);
    assert_ok(wk_vec_step_begin(vec, still, &err));
    wk_vec_destroy(vec);
    wk_vec_destroy(NULL);
    assert_int_equal(toy_worlds(), 0);
}

TEST_CASE(impossible_vectors_are_refused)
{
    toy t = toy_make(TOY_SOUND), broken = toy_make(TOY_CREATE_FAILS), bad = t;
    bad.domain.n_tasks = 99;
    wk_vec *vec;
    const int options[] = {7, 0};
    assert_refused(wk_vec_create(&t.domain, NULL, 0, 1, &vec, &err), WK_E_INPUT, "0 environments");
    assert_refused(wk_vec_create(&t.domain, NULL, 1, -2, &vec, &err), WK_E_INPUT, "-2 threads");
    assert_refused(wk_vec_create(&t.domain, options, 1, 1, &vec, &err), WK_E_INPUT, "'colour'");
    assert_refused(wk_vec_create(&broken.domain, NULL, 3, 1, &vec, &err), WK_E_UNSUPPORTED,
                   "the toy is broken");
    assert_refused(wk_vec_create(&bad.domain, NULL, 3, 1, &vec, &err), WK_E_INPUT, "n_tasks");
    assert_int_equal(toy_worlds(), 0);
}

TEST_CASE(an_idle_environment_stays_as_it_is)
{
    toy t = toy_make(TOY_TERMINAL);
    wk_vec *vec = make(&t, 2, 1);
    const wk_batch *batch = wk_vec_batch(vec);
    const float push[] = {1, 1, 1, 1}, nonsense[] = {1, 1, NAN, NAN};
    plan(vec, 0, 0);
    wk_vec_plan_idle(vec, 1); // one that never had an episode
    assert_ok(wk_vec_step(vec, nonsense, &err));
    assert_int_equal(wk_env_steps(wk_vec_env(vec, 1)), 0);
    plan(vec, 1, 7);
    assert_ok(wk_vec_step(vec, push, &err));
    float before = batch->rewards[2];
    for (int step = 2; step <= TOY_EVENT_STEP; step++) {
        wk_vec_plan_idle(vec, 1);
        assert_ok(wk_vec_step(vec, nonsense, &err));
    }
    assert_true(batch->rewards[2] == before && (batch->flags[1] & WK_IS_FIRST));
    // Environment 0 has ended; a reset that is requested last counts.
    assert_true(batch->flags[0] & WK_IS_LAST);
    assert_refused(wk_vec_step(vec, push, &err), WK_E_INPUT, "environment 0");
    wk_vec_plan_idle(vec, 0);
    plan(vec, 0, 3);
    assert_ok(wk_vec_step(vec, push, &err));
    assert_true((batch->flags[0] & WK_IS_FIRST) && wk_env_steps(wk_vec_env(vec, 1)) == 1);
    wk_vec_destroy(vec);
}

// Steps that wait for each other in pairs, so that two threads take turns; who ran which is noted
// by the action.
static pthread_barrier_t both;
static pthread_t who[4];
static void (*plain_step)(void *env, const float *action, wk_outcome *out);

static void step_in_pairs(void *env, const float *action, wk_outcome *out)
{
    who[lroundf(10 * action[0])] = pthread_self();
    pthread_barrier_wait(&both);
    plain_step(env, action, out);
}

TEST_CASE(a_thread_keeps_its_environments)
{
    toy t = toy_make(TOY_SOUND);
    const float actions[4 * TOY_ACTIONS] = {0, 0, 0.1f, 0, 0.2f, 0, 0.3f, 0};
    plain_step = t.domain.step;
    t.domain.step = step_in_pairs;
    assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
    wk_vec *vec = make(&t, 4, 2);
    plan_all(vec);
    assert_ok(wk_vec_step(vec, actions, &err));
    for (int step = 0; step < 5; step++) {
        assert_ok(wk_vec_step(vec, actions, &err));
        assert_true(pthread_equal(who[0], who[1]) && pthread_equal(who[2], who[3]));
        assert_false(pthread_equal(who[0], who[2]));
        assert_true(pthread_equal(who[0], pthread_self()));
    }
    wk_vec_destroy(vec);
    pthread_barrier_destroy(&both);
}

TEST_MAIN(NULL, NULL)
