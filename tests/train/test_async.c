// Whole runs on an async device, which starts an update before it acts, keeps a weight snapshot for
// acting and gathers batches from frames in its memory: the bytes of the CPU, whenever the device
// does its work. And where the frames are placed.
#include "support/async_device.h"
#include "support/trainer.h"
#include "train/runs.h"
#include "train/trainer.h"
#include <limits.h>

static int mode = -1; // of the backends that are made; -1: plain ones

wk_status __real_wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err);
wk_status __wrap_wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err);

wk_status __wrap_wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err)
{
    WK_TRY(__real_wk_backend_cpu_create(pool, out, err));
    if (mode >= 0) async_device_make(*out, (async_mode)mode);
    return WK_OK;
}

static wk_error err;

static wk_run_config busy_run(void)
{
    wk_run_config config = quiet_run();
    snprintf(config.tasks, sizeof config.tasks, "all");
    config.steps = 240, config.eval_every = 150, config.eval_envs = 1;
    return config;
}

static void fresh(char folder[64])
{
    snprintf(folder, 64, "beside.XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void plain_run(const wk_run_config *config, char folder[64])
{
    mode = -1;
    fresh(folder);
    run_to_end(config, folder);
}

// The same run on a device with so much memory.
static void assert_same_run(wk_run_config config, const char *plain, async_mode how,
                            const char *resident, size_t available)
{
    char folder[64];
    mode = (int)how;
    async_device_set_memory(available, INT_MAX);
    snprintf(config.replay_resident, sizeof config.replay_resident, "%s", resident);
    fresh(folder);
    run_to_end(&config, folder);
    same_end(plain, folder);
    remove_tree(folder);
}

TEST_CASE(an_async_run_has_the_bytes_of_one_on_the_cpu)
{
    char plain[64];
    wk_run_config config = busy_run();
    plain_run(&config, plain);
    assert_same_run(config, plain, ASYNC_LATE, "off", 0);
    assert_same_run(config, plain, ASYNC_LATE, "on", SIZE_MAX);
    assert_same_run(config, plain, ASYNC_OTHERS_FIRST, "on", SIZE_MAX);
    assert_same_run(config, plain, ASYNC_EAGER, "on", SIZE_MAX);
    remove_tree(plain);
}

TEST_CASE(several_updates_in_an_iteration_do_too)
{
    char plain[64];
    wk_run_config config = quiet_run();
    config.train_every = 1, config.steps = 100;
    plain_run(&config, plain);
    for (int how = ASYNC_LATE; how <= ASYNC_EAGER; how++)
        assert_same_run(config, plain, (async_mode)how, "auto", SIZE_MAX);
    remove_tree(plain);
}

TEST_CASE(a_run_resumed_with_and_without_device_frames_does_too)
{
    char plain[64], folder[64];
    wk_run_config config = quiet_run();
    plain_run(&config, plain);
    mode = ASYNC_LATE;
    async_device_set_memory(SIZE_MAX, INT_MAX);
    fresh(folder);
    static const char *const told[] = {"on", "off", "auto"};
    for (int part = 0; part < 3; part++) {
        wk_run_control control = {0};
        wk_run_end end;
        wk_run_config now = config;
        snprintf(now.replay_resident, sizeof now.replay_resident, "%s", told[part]);
        if (part < 2) now.steps = 150 + 100 * part;
        assert_ok(wk_train(&now, folder, NULL, &control, &end, &err));
    }
    same_file(plain, folder, "metrics.jsonl", 0, 0);
    same_end(plain, folder);
    remove_tree(plain);
    remove_tree(folder);
}

static wk_trainer *open_trainer(const wk_run_config *config, int how, char folder[64])
{
    wk_trainer *t;
    mode = how;
    fresh(folder);
    assert_ok(trainer_create(config, folder, &t, &err));
    return t;
}

TEST_CASE(a_device_that_fills_up_gives_way_to_the_host)
{
    wk_run_config config = quiet_run();
    char folder[64], other[64];
    async_device_set_memory(SIZE_MAX, INT_MAX);
    wk_trainer *t = open_trainer(&config, ASYNC_LATE, folder);
    wk_trainer *plain = open_trainer(&config, -1, other);
    for (int i = 0; i < 60; i++) {
        if (i == 40) async_device_set_memory(0, 0);
        if (i <= 40) assert_non_null(t->device_frames);
        const wk_iteration *x, *y;
        assert_ok(trainer_step(t, &x, &err));
        assert_ok(trainer_step(plain, &y, &err));
        assert_int_equal(x->updates, y->updates);
        assert_memory_equal(&x->learner, &y->learner, sizeof x->learner);
    }
    assert_non_null(strstr(t->frame_placement, "full"));
    assert_true(t->device_full);
    async_device_set_memory(SIZE_MAX, INT_MAX);
    trainer_destroy(t);
    trainer_destroy(plain);
    remove_tree(folder);
    remove_tree(other);
}

TEST_CASE(memory_that_is_gone_when_a_run_is_resumed_leaves_frames_on_the_host)
{
    wk_run_config config = quiet_run();
    char folder[64];
    async_device_set_memory(0, INT_MAX);
    wk_trainer *t = open_trainer(&config, ASYNC_LATE, folder);
    for (int i = 0; i < 60; i++)
        assert_ok(trainer_step(t, NULL, &err));
    async_device_set_memory(0, 1);
    assert_ok(wk_trainer_upload_frames(t, &err));
    assert_null(t->device_frames);
    assert_non_null(strstr(t->frame_placement, "full"));
    snprintf(t->config.replay_resident, sizeof t->config.replay_resident, "on");
    async_device_set_memory(0, 1);
    assert_refused(wk_trainer_upload_frames(t, &err), WK_E_MEMORY, "full");
    assert_ok(trainer_step(t, NULL, &err));
    trainer_destroy(t);
    remove_tree(folder);
}

static bool holds(const char *told, int how, size_t available)
{
    wk_run_config config = quiet_run();
    wk_trainer *t;
    char folder[64];
    mode = how;
    async_device_set_memory(available, INT_MAX);
    snprintf(config.replay_resident, sizeof config.replay_resident, "%s", told);
    fresh(folder);
    assert_ok(trainer_create(&config, folder, &t, &err));
    bool held = t->device_frames != NULL;
    assert_non_null(strstr(t->frame_placement, held ? "in GPU memory" : "on the host"));
    trainer_destroy(t);
    remove_tree(folder);
    return held;
}

TEST_CASE(frames_are_on_the_device_when_configured_or_when_they_fit)
{
    // 2000 steps are 25 MB, and a gibibyte is left to others.
    size_t fits = (size_t)26 << 20 | (size_t)1 << 30, tight = (size_t)20 << 20 | (size_t)1 << 30;
    assert_true(holds("auto", ASYNC_LATE, fits));
    assert_false(holds("auto", ASYNC_LATE, tight));
    assert_true(holds("on", ASYNC_LATE, fits));
    assert_false(holds("off", ASYNC_LATE, fits));
    assert_false(holds("auto", -1, 0));
}

TEST_CASE(frames_that_must_and_cannot_are_refused_before_the_run)
{
    wk_run_config config = quiet_run();
    wk_trainer *t;
    char folder[64];
    fresh(folder);
    snprintf(config.replay_resident, sizeof config.replay_resident, "on");
    mode = ASYNC_LATE;
    async_device_set_memory((size_t)1 << 30, INT_MAX);
    assert_refused(trainer_create(&config, folder, &t, &err), WK_E_MEMORY, " MiB for");
    mode = -1;
    assert_refused(trainer_create(&config, folder, &t, &err), WK_E_UNSUPPORTED, "CPU");
    remove_tree(folder);
}

TEST_MAIN(NULL, NULL)
