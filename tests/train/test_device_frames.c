// The replay's pictures on a device: batches gathered there have the bytes of batches unpacked on
// the host, whatever was added and dropped before, and memory follows what is stored. The devices
// are the backend of support/backend.h, and ones that do their work as late and as early as they
// may.
#include "replay/script.h"
#include "support/async_device.h"
#include "support/backend.h"
#include "support/check.h"
#include "train/device_frames.h"
#include <limits.h>
#include <stdlib.h>

enum { B = 5, T = 7, KINDS = 3 };

typedef struct rig {
    wk_backend *backend;
    wk_queue *queue;
    wk_buffer *batch;
    wk_replay *replay;
    wk_resident *resident;
    const void **frames;
} rig;

static rig open_rig(int kind, uint64_t capacity)
{
    wk_error err = {0};
    rig r = {.replay = script_store(capacity)};
    beside_set_memory(SIZE_MAX, INT_MAX);
    if (kind == 0)
        assert_ok(test_backend_create(NULL, &r.backend, &err));
    else
        assert_ok(wk_backend_cpu_create(NULL, &r.backend, &err));
    if (kind > 0) beside_make(r.backend, kind == 1 ? BESIDE_LATE : BESIDE_AT_ONCE);
    assert_ok(wk_queue_create(r.backend, false, &r.queue, &err));
    assert_ok(wk_buffer_create(r.backend, (size_t)B * T * WK_IMAGE_BYTES, &r.batch, &err));
    assert_ok(wk_host_create(r.backend, (size_t)B * T * sizeof(void *), (void **)&r.frames, &err));
    return r;
}

static void hold(rig *r)
{
    wk_error err = {0};
    assert_ok(wk_resident_create(r->replay, r->queue, &r->resident, &err));
}

static void close_rig(rig *r)
{
    wk_resident_destroy(r->resident);
    wk_replay_destroy(r->replay);
    wk_queue_destroy(r->queue);
    wk_buffer_destroy(r->batch);
    wk_host_destroy(r->backend, (void *)r->frames);
    wk_backend_destroy(r->backend);
}

static void assert_same_batch(rig *r, uint64_t counter)
{
    wk_error err = {0};
    static uint8_t host[B * T * WK_IMAGE_BYTES], device[B * T * WK_IMAGE_BYTES];
    uint64_t episodes[B];
    uint32_t starts[B];
    wk_replay_batch out = {.images = host, .episodes = episodes, .starts = starts};
    assert_ok(wk_replay_sample(r->replay, 3, counter, B, T, &out, &err));
    wk_resident_locate(r->resident, episodes, starts, B, T, r->frames);
    wk_gather gather = {r->batch, 0, WK_IMAGE_BYTES, r->frames, (size_t)B * T};
    assert_ok(wk_queue_gather(r->queue, &gather, &err));
    assert_ok(wk_queue_drain(r->queue, &err));
    assert_ok(wk_buffer_download(r->batch, 0, device, sizeof device, &err));
    assert_memory_equal(host, device, sizeof host);
}

static void batches_on_the_device_have_the_bytes_of_the_host(void **state)
{
    (void)state;
    wk_error err = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        rig r = open_rig(kind, 150);
        hold(&r);
        // Long enough for every block to be given out many times.
        for (int step = 0; step < 600; step++) {
            assert_ok(script_run(r.replay, 1, &err));
            if (step > 20 && step % 7 == 0) assert_same_batch(&r, (uint64_t)step);
        }
        assert_true(wk_replay_get_stats(r.replay).evicted > 40);
        assert_null(wk_resident_fault(r.resident));
        close_rig(&r);
    }
}

static void pictures_stored_before_are_brought_to_the_device(void **state)
{
    (void)state;
    wk_error err = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        // More than two waves of blocks, and the slots' rows that are in no block yet.
        rig r = open_rig(kind, 4000);
        assert_ok(script_run(r.replay, 1100, &err));
        hold(&r);
        for (uint64_t i = 0; i < 40; i++)
            assert_same_batch(&r, i);
        assert_ok(script_run(r.replay, 300, &err));
        for (uint64_t i = 0; i < 10; i++)
            assert_same_batch(&r, i);
        close_rig(&r);
    }
}

static void memory_is_taken_as_rows_arrive_and_used_again(void **state)
{
    (void)state;
    wk_error err = {0};
    rig r = open_rig(0, 2000);
    hold(&r);
    assert_int_equal(wk_resident_bytes(r.resident), 0);
    assert_ok(script_run(r.replay, 10, &err));
    uint64_t plan = wk_resident_plan(wk_replay_settings(r.replay));
    assert_true(plan >= (uint64_t)2000 * WK_IMAGE_BYTES);
    assert_in_range(wk_resident_bytes(r.resident), 1, plan / 8);
    assert_ok(script_run(r.replay, 1500, &err));
    uint64_t full = wk_resident_bytes(r.resident);
    assert_ok(script_run(r.replay, 1500, &err));
    // Other episodes end elsewhere in their blocks, which is all that may differ.
    assert_in_range(wk_resident_bytes(r.resident), full, full + full / 20);
    close_rig(&r);
}

static void a_full_device_is_told_and_the_store_goes_on(void **state)
{
    (void)state;
    wk_error err = {0};
    rig r = open_rig(1, 2000);
    hold(&r);
    assert_ok(script_run(r.replay, 100, &err));
    assert_same_batch(&r, 0);
    beside_set_memory(0, 0);
    assert_ok(script_run(r.replay, 400, &err));
    assert_non_null(wk_resident_fault(r.resident));
    assert_non_null(strstr(wk_resident_fault(r.resident)->message, "full"));
    wk_resident_destroy(r.resident);
    r.resident = NULL;
    assert_ok(script_run(r.replay, 50, &err));
    close_rig(&r);
}

static void a_store_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    wk_error err = {0};
    rig r = open_rig(1, 2000);
    assert_ok(script_run(r.replay, 400, &err));
    beside_set_memory(0, 3);
    assert_refused(wk_resident_create(r.replay, r.queue, &r.resident, &err), WK_E_MEMORY, "full");
    assert_ok(script_run(r.replay, 20, &err));
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_on_the_device_have_the_bytes_of_the_host),
        cmocka_unit_test(pictures_stored_before_are_brought_to_the_device),
        cmocka_unit_test(memory_is_taken_as_rows_arrive_and_used_again),
        cmocka_unit_test(a_full_device_is_told_and_the_store_goes_on),
        cmocka_unit_test(a_store_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
