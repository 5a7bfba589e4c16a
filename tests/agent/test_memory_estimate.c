// The memory that a learner asks for before it takes any: on a backend that counts as a GPU does
// and has just enough, or one byte less.
#include "agent/learner_parts.h"
#include "support/async_device.h"
#include "support/check.h"
#include <stdio.h>

enum { WORKING = 3 << 20 };

// The CPU's backend, which says that it has `memory_info`, and counts what it gave.
typedef struct device {
    wk_backend *backend;
    const wk_backend_vtable *inner;
    wk_backend_vtable vtable;
    wk_memory_info memory_info;
    size_t given;
} device;

static device the_device;

static wk_memory_info tell_room(const wk_backend *backend)
{
    (void)backend;
    return the_device.memory_info;
}

static wk_status give(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err)
{
    the_device.given += size;
    return the_device.inner->buffer_create(backend, size, out, err);
}

static int make_device(bool beside)
{
    wk_error err = {0};
    the_device = (device){.memory_info = {.free = SIZE_MAX, .total = SIZE_MAX, .program = WORKING}};
    assert_ok(wk_backend_cpu_create(NULL, &the_device.backend, &err));
    if (beside) async_device_make(the_device.backend, ASYNC_LATE);
    the_device.inner = the_device.backend->vtable;
    the_device.vtable = *the_device.inner;
    the_device.vtable.memory_info = tell_room;
    the_device.vtable.buffer_create = give;
    the_device.backend->vtable = &the_device.vtable;
    return 0;
}

static int open_device(void **state)
{
    return make_device(false);
}

static int open_device_beside(void **state)
{
    return make_device(true);
}

static int close_device(void **state)
{
    wk_backend_destroy(the_device.backend);
    return 0;
}

static wk_learner_config tiny(int tasks)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 2, c.deter = 10, c.hidden = 9, c.stoch = 3, c.classes = 5, c.units = 8, c.layers = 2;
    c.ensemble = 3, c.batch = 2, c.length = 4, c.horizon = 3, c.action_size = 2, c.tasks = tasks;
    return c;
}

static size_t shared_temporaries(const wk_learner *learner)
{
    return learner->shared_scratch->size;
}

static void the_estimate_is_what_is_allocated_and_what_the_backend_adds(void **state)
{
    wk_error err = {0};
    wk_learner *learner = NULL;
    for (int tasks = 0; tasks <= 2; tasks += 2) {
        wk_learner_config config = tiny(tasks);
        the_device.given = 0;
        assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                    the_device.backend, &learner, &err));
        size_t programs = tasks ? 4 : 3;
        wk_memory_estimate need = wk_learner_estimate_memory(learner);
        assert_int_equal(need.state + need.planned, the_device.given);
        assert_true(need.state >= wk_learner_get_memory(learner).state - WK_COUNTERS * 8);
        assert_int_equal(need.working, programs * WORKING);
        assert_int_equal(need.copies, 0);
        wk_learner_destroy(learner);
    }
}

// Bytes of temporaries: what each program has planned, and what all of them get.
typedef struct temporaries {
    size_t model, learn, observe, tasks, all;
} temporaries;

static size_t planned(const wk_compiled_graph *unit)
{
    return unit->program ? wk_program_get_stats(unit->program).planned : 0;
}

// Of a learner for these uses, which takes what it says it needs.
static temporaries take(unsigned uses, int tasks)
{
    wk_error err = {0};
    wk_learner *learner = NULL;
    wk_learner_config config = tiny(tasks);
    the_device.given = 0;
    assert_ok(wk_learner_create(uses, &config, the_device.backend, &learner, &err));
    wk_memory_estimate need = wk_learner_estimate_memory(learner);
    assert_int_equal(need.state + need.planned, the_device.given);
    wk_temporaries sum = wk_learner_temporaries(learner);
    temporaries out = {planned(&learner->model), planned(&learner->update),
                       planned(&learner->observe), planned(&learner->tasks),
                       sum.shared + sum.tasks + sum.prefetch};
    wk_learner_destroy(learner);
    return out;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void a_learner_has_programs_for_its_uses_alone(void **state)
{
    temporaries t = take(0, 2);
    assert_true(!t.model && !t.learn && !t.observe && !t.tasks && !t.all);
    t = take(WK_LEARNER_UPDATES, 2);
    assert_true(t.model && t.learn && !t.observe && t.tasks);
    assert_int_equal(t.all, larger(t.model, larger(t.learn, t.tasks)));
    t = take(WK_LEARNER_OBSERVES, 2);
    assert_true(!t.model && !t.learn && t.observe && t.tasks);
    assert_int_equal(t.all, larger(t.observe, t.tasks));
    t = take(WK_LEARNER_UPDATES, 0);
    assert_true(t.model && t.learn && !t.observe && !t.tasks);
    assert_int_equal(t.all, larger(t.model, t.learn));
}

static void what_overlaps_updates_has_memory_of_its_own(void **state)
{
    temporaries t = take(WK_LEARNER_UPDATES, 2);
    assert_int_equal(t.all, t.model + t.learn + t.tasks);
    t = take(WK_LEARNER_UPDATES | WK_LEARNER_NO_PREFETCH, 2);
    assert_int_equal(t.all, larger(t.model, t.learn) + t.tasks);
    t = take(WK_LEARNER_OBSERVES, 2);
    assert_int_equal(t.all, larger(t.observe, t.tasks));
    t = take(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, 2);
    assert_int_equal(t.all, t.model + larger(t.learn, t.observe) + t.tasks);
}

// What has to be free when the check is made: all but what was allocated before it.
static size_t still_needed(const wk_learner *learner)
{
    size_t there = learner->counters->size + learner->starts->size + learner->handoff->size +
                   2 * learner->device_batches[0]->size;
    wk_memory_estimate need = wk_learner_estimate_memory(learner);
    return wk_memory_estimate_total(need) - need.state - there;
}

static void train(wk_learner *learner, float figures[2])
{
    enum { ROWS = 8, UPDATES = 4 };
    static uint8_t images[ROWS * WK_PIXELS], first[ROWS] = {1, 1};
    wk_error err = {0};
    float actions[ROWS * 2] = {0}, rewards[ROWS * 2];
    wk_learner_metrics metrics;
    wk_task_metrics tasks;
    for (int n = 0; n < UPDATES; n++) {
        for (int i = 0; i < ROWS * 2; i++)
            rewards[i] = (float)(n + i) / ROWS;
        wk_learner_batch batch = {
            .images = images, .actions = actions, .first = first, .rewards = rewards};
        assert_ok(wk_learner_stage(learner, &batch, &err));
        assert_ok(wk_learner_start(learner, &err));
        assert_ok(wk_learner_start_tasks(learner, &err));
        assert_ok(wk_learner_finish(learner, &metrics, NULL, &err));
    }
    wk_learner_read_tasks(learner, &tasks);
    figures[0] = metrics.explore.actor_norm;
    figures[1] = tasks.policy[1].actor_norm;
}

// First prefetching is given up, then overlapping task updates.
static void task_updates_follow_where_memory_is_short(void **state)
{
    wk_error err = {0};
    wk_learner_config config = tiny(2);
    float figures[3][2];
    for (int i = 0; i < 3; i++) {
        wk_learner *learner = NULL;
        assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                    the_device.backend, &learner, &err));
        assert_int_equal(learner->prefetches, i == 0);
        assert_int_equal(learner->tasks_async, i <= 1);
        the_device.memory_info.free = still_needed(learner) - 1;
        train(learner, figures[i]);
        wk_learner_destroy(learner);
        assert_memory_equal(figures[0], figures[i], sizeof figures[0]);
    }
    wk_learner *none = NULL;
    assert_refused(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                     the_device.backend, &none, &err),
                   WK_E_MEMORY, "smaller batch");
}

static void copies_take_half_of_the_weights(void **state)
{
    wk_error err = {0};
    wk_learner *learner = NULL;
    wk_learner_config config = tiny(0);
    the_device.memory_info.copies = true;
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                the_device.backend, &learner, &err));
    size_t weights = 0;
    for (int id = 0; id < WK_NETWORKS; id++)
        if (learner->params[id]) weights += learner->params[id]->buffer->size;
    assert_int_equal(wk_learner_estimate_memory(learner).copies, weights / 2);
    wk_learner_destroy(learner);
}

static void a_learner_that_does_not_fit_is_refused_before_the_large_pieces(void **state)
{
    wk_error err = {0};
    wk_learner *learner = NULL;
    wk_learner_config config = tiny(2);
    the_device.memory_info.copies = true;
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                the_device.backend, &learner, &err));
    size_t needed = still_needed(learner), temporary = shared_temporaries(learner);
    size_t all = the_device.given;
    wk_learner_destroy(learner);

    the_device.memory_info.free = needed;
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                the_device.backend, &learner, &err));
    wk_learner_destroy(learner);

    the_device.memory_info.free = needed - 1;
    the_device.given = 0;
    assert_refused(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                     the_device.backend, &learner, &err),
                   WK_E_MEMORY, "smaller batch");
    assert_true(the_device.given <= all - temporary);
}

static void the_message_names_the_estimate_and_what_is_free(void **state)
{
    wk_error err = {0};
    wk_learner *learner = NULL;
    wk_learner_config config = tiny(0);
    config.batch = 100, config.length = 20;
    the_device.memory_info = (wk_memory_info){10 << 20, 800 << 20, WORKING, true};
    assert_refused(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config,
                                     the_device.backend, &learner, &err),
                   WK_E_MEMORY, "of its 800 MiB are free");
    size_t total, state_need, planned, copies, working;
    assert_int_equal(sscanf(err.message,
                            "the learner needs at least %zu MiB on the device (%zu weights and "
                            "optimiser, %zu temporaries and inputs, %zu bf16 copies of weights, "
                            "%zu working",
                            &total, &state_need, &planned, &copies, &working),
                     5);
    assert_int_equal(working, 3 * WORKING >> 20);
    assert_true(total + 4 >= state_need + planned + copies + working); // each is rounded up
    assert_true(total <= state_need + planned + copies + working);
    assert_true(planned > 2 * 100 * 20 * 64 * 64 * 3 >> 20); // two batches of images at least
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_estimate_is_what_is_allocated_and_what_the_backend_adds,
                                        open_device, close_device),
        cmocka_unit_test_setup_teardown(a_learner_has_programs_for_its_uses_alone, open_device,
                                        close_device),
        cmocka_unit_test_setup_teardown(what_overlaps_updates_has_memory_of_its_own,
                                        open_device_beside, close_device),
        cmocka_unit_test_setup_teardown(task_updates_follow_where_memory_is_short,
                                        open_device_beside, close_device),
        cmocka_unit_test_setup_teardown(copies_take_half_of_the_weights, open_device, close_device),
        cmocka_unit_test_setup_teardown(
            a_learner_that_does_not_fit_is_refused_before_the_large_pieces, open_device,
            close_device),
        cmocka_unit_test_setup_teardown(the_message_names_the_estimate_and_what_is_free,
                                        open_device, close_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
