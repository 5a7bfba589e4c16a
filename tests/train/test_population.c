// Runs that train together: each ends in the bytes of the same run alone, whatever the others are,
// on the CPU and on async devices, stopped and resumed together or alone; and one that fails leaves
// the others as they are.
#include "support/async_device.h"
#include "train/runs.h"
#include <limits.h>

enum { RUNS = 3, STEPS = 150 };

static int mode = -1; // of the backends that are made; -1: plain ones

wk_status __real_wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err);
wk_status __wrap_wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err);

wk_status __wrap_wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err)
{
    WK_TRY(__real_wk_backend_cpu_create(pool, out, err));
    async_device_set_memory(0, INT_MAX);
    if (mode >= 0) async_device_make(*out, (async_mode)mode);
    return WK_OK;
}

static wk_error err;

static const char *const together[RUNS] = {"pop-0.tmp", "pop-1.tmp", "pop-2.tmp"};
static const char *const alone[RUNS] = {"one-0.tmp", "one-1.tmp", "one-2.tmp"};

static int clean(void **state)
{
    for (int i = 0; i < RUNS; i++) {
        remove_tree(together[i]);
        remove_tree(alone[i]);
    }
    mode = -1;
    return 0;
}

// Two that are alike but for curriculum, rates and steps, and one whose learner is another.
static wk_run_config run_config(int i)
{
    wk_run_config c = quiet_run();
    snprintf(c.tasks, sizeof c.tasks, "west");
    snprintf(c.curriculum_rule, sizeof c.curriculum_rule, "%s", i == 1 ? "dr" : "waker-m");
    c.steps = i == 1 ? STEPS - 40 : STEPS;
    c.eval_every = 100, c.eval_envs = 1, c.checkpoint_every_steps = 30;
    c.seed += (uint64_t)i;
    if (i == 1) c.policy_rate *= 2;
    if (i == 2) snprintf(c.exploration, sizeof c.exploration, "random");
    return c;
}

static void train_alone(void)
{
    for (int i = 0; i < RUNS; i++) {
        wk_run_config config = run_config(i);
        run_to_end(&config, alone[i]);
    }
}

// Runs `first` ... `first+count-1`; their ends go to `members`.
static wk_status train_some(int first, int count, const wk_run_control *control,
                            wk_train_member members[RUNS])
{
    wk_run_config configs[RUNS];
    for (int i = 0; i < count; i++) {
        configs[i] = run_config(first + i);
        members[i] = (wk_train_member){
            .config = &configs[i], .directory = together[first + i], .name = together[first + i]};
    }
    return wk_train_population(members, count, control, &err);
}

static void train_together(void)
{
    wk_run_control control = {0};
    wk_train_member members[RUNS];
    assert_ok(train_some(0, RUNS, &control, members));
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(members[i].status, WK_OK);
        assert_int_equal(members[i].end, WK_RUN_FINISHED);
    }
}

TEST_CASE(each_run_ends_as_it_would_alone)
{
    train_alone();
    for (mode = -1; mode <= ASYNC_EAGER; mode++) {
        train_together();
        for (int i = 0; i < RUNS; i++) {
            same_end(alone[i], together[i]);
            remove_tree(together[i]);
        }
    }
}

// In turn together and in parts, so that they resume at different steps.
TEST_CASE(stopped_and_resumed_together_or_alone_they_end_the_same)
{
    wk_train_member members[RUNS];
    train_alone();
    bool done = false;
    for (int round = 0; !done; round++) {
        stopper s = {.checkpoints = round < 7 ? 2 + round % 3 : INT_MAX};
        wk_run_control control = {.stop = &s.stop, .log = {count_checkpoints, &s, WK_LOG_DEBUG}};
        int first = round % 2 ? round / 2 % RUNS : 0, count = round % 2 ? 1 : RUNS;
        assert_ok(train_some(first, count, &control, members));
        done = count == RUNS;
        for (int i = 0; i < count; i++) {
            assert_int_equal(members[i].status, WK_OK);
            done &= members[i].end == WK_RUN_FINISHED;
        }
        assert_true(round < 40);
        if (done) assert_true(round > 3);
    }
    for (int i = 0; i < RUNS; i++)
        same_end(alone[i], together[i]);
}

// Takes the lock away from one run when all have saved a checkpoint.
typedef struct thief {
    int checkpoints, failures;
} thief;

static void steal_lock(void *context, wk_log_level level, const char *message)
{
    thief *t = context;
    if (strstr(message, "checkpoint at agent step") && ++t->checkpoints == RUNS)
        assert_int_equal(unlink("pop-1.tmp/lock"), 0);
    if (level != WK_LOG_ERROR) return;
    assert_non_null(strstr(message, "pop-1.tmp"));
    t->failures++;
}

TEST_CASE(a_run_that_fails_leaves_the_others_as_they_are)
{
    thief t = {0};
    wk_train_member members[RUNS];
    train_alone();
    wk_run_control control = {.log = {steal_lock, &t, WK_LOG_DEBUG}};
    assert_ok(train_some(0, RUNS, &control, members));
    assert_int_equal(t.failures, 1);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(members[i].status == WK_OK, i != 1);
        if (i != 1) same_end(alone[i], together[i]);
    }
    assert_non_null(strstr(members[1].error.message, "lock"));
    // Its last checkpoint is sound: it goes on from there.
    assert_true(newest_step(together[1]) < STEPS - 40);
    wk_run_config config = run_config(1);
    run_to_end(&config, together[1]);
    same_end(alone[1], together[1]);
}

TEST_CASE(a_run_that_cannot_begin_is_named_and_none_begins)
{
    wk_run_control control = {0};
    wk_train_member members[RUNS];
    wk_run_config other = run_config(1);
    other.batch++;
    other.steps = 100;
    run_to_end(&other, together[1]);
    assert_int_not_equal(train_some(0, RUNS, &control, members), WK_OK);
    assert_non_null(strstr(err.message, "pop-1.tmp"));
    assert_non_null(strstr(err.message, "another run"));
    assert_int_not_equal(access("pop-0.tmp", F_OK), 0);
    // The first one's replay is there by the time that the second is found to have none.
    remove_tree(together[1]);
    assert_int_equal(system("mkdir pop-1.tmp && echo {} > pop-1.tmp/metrics.jsonl"), 0);
    assert_int_not_equal(train_some(0, RUNS, &control, members), WK_OK);
    assert_non_null(strstr(err.message, "no checkpoint to resume from"));
    assert_int_not_equal(access("pop-0.tmp", F_OK), 0);
}

TEST_CASE(runs_that_are_finished_are_left_as_they_are)
{
    train_together();
    uint64_t before = newest_step(together[0]);
    train_together();
    assert_int_equal(newest_step(together[0]), before);
}

TEST_MAIN_EACH(clean, clean)
