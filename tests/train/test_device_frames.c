// The replay's frames on a device: batches gathered there have the bytes of batches unpacked on the
// host, whatever was added and dropped before, and memory follows what is stored. The devices are
// the backend of support/backend.h, and ones that do their work as late and as early as they may.
#include "replay/episodes.h"
#include "support/async_device.h"
#include "support/backend.h"
#include "support/check.h"
#include "train/frames.h"
#include <limits.h>
#include <stdlib.h>

static wk_error err;

enum { B = 5, T = 7, KINDS = 3 };

typedef struct fixture {
    wk_backend *backend;
    wk_queue *queue;
    wk_buffer *batch;
    wk_replay *replay;
    wk_device_frames *device_frames;
    const void **frames;
} fixture;

static fixture open_fixture(int kind, uint64_t capacity)
{
    fixture r = {.replay = script_store(capacity)};
    async_device_set_memory(SIZE_MAX, INT_MAX);
    if (kind == 0)
        assert_ok(test_backend_create(NULL, &r.backend, &err));
    else
        assert_ok(wk_backend_cpu_create(NULL, &r.backend, &err));
    if (kind > 0) async_device_make(r.backend, kind == 1 ? ASYNC_LATE : ASYNC_EAGER);
    assert_ok(wk_queue_create(r.backend, false, &r.queue, &err));
    assert_ok(wk_buffer_create(r.backend, (size_t)B * T * WK_IMAGE_BYTES, &r.batch, &err));
    assert_ok(
        wk_pinned_create(r.backend, (size_t)B * T * sizeof(void *), (void **)&r.frames, &err));
    return r;
}

static void hold(fixture *r)
{
    assert_ok(
        wk_device_frames_create(r->replay, r->queue->backend, r->queue, &r->device_frames, &err));
}

static void close_fixture(fixture *r)
{
    wk_device_frames_destroy(r->device_frames);
    wk_replay_destroy(r->replay);
    wk_queue_destroy(r->queue);
    wk_buffer_destroy(r->batch);
    wk_pinned_destroy(r->backend, (void *)r->frames);
    wk_backend_destroy(r->backend);
}

static void assert_same_batch(fixture *r, uint64_t counter)
{
    static uint8_t host[B * T * WK_IMAGE_BYTES], device[B * T * WK_IMAGE_BYTES];
    uint64_t episodes[B];
    uint32_t starts[B];
    wk_replay_batch out = {.images = host, .episodes = episodes, .starts = starts};
    assert_ok(wk_replay_sample(r->replay, 3, counter, B, T, &out, &err));
    wk_device_frames_locate(r->device_frames, episodes, starts, B, T, r->frames);
    wk_gather gather = {r->batch, 0, WK_IMAGE_BYTES, r->frames, (size_t)B * T};
    assert_ok(wk_queue_gather(r->queue, &gather, 1, &err));
    assert_ok(wk_queue_drain(r->queue, &err));
    assert_ok(wk_buffer_download(r->batch, 0, device, sizeof device, &err));
    assert_memory_equal(host, device, sizeof host);
}

TEST_CASE(batches_on_the_device_have_the_bytes_of_the_host)
{
    for (int kind = 0; kind < KINDS; kind++) {
        fixture r = open_fixture(kind, 150);
        hold(&r);
        // Long enough for every block to be given out many times.
        for (int step = 0; step < 600; step++) {
            assert_ok(script_run(r.replay, 1, &err));
            if (step > 20 && step % 7 == 0) assert_same_batch(&r, (uint64_t)step);
        }
        assert_true(wk_replay_get_stats(r.replay).evicted > 40);
        assert_null(wk_device_frames_fault(r.device_frames));
        close_fixture(&r);
    }
}

TEST_CASE(frames_stored_before_are_copied_to_the_device)
{
    for (int kind = 0; kind < KINDS; kind++) {
        // More than two waves of blocks, and the slots' rows that are in no block yet.
        fixture r = open_fixture(kind, 4000);
        assert_ok(script_run(r.replay, 1100, &err));
        hold(&r);
        for (uint64_t i = 0; i < 40; i++)
            assert_same_batch(&r, i);
        assert_ok(script_run(r.replay, 300, &err));
        for (uint64_t i = 0; i < 10; i++)
            assert_same_batch(&r, i);
        close_fixture(&r);
    }
}

TEST_CASE(memory_is_taken_as_rows_arrive_and_used_again)
{
    fixture r = open_fixture(0, 2000);
    hold(&r);
    assert_int_equal(wk_device_frames_bytes(r.device_frames), 0);
    assert_ok(script_run(r.replay, 10, &err));
    uint64_t plan = wk_device_frames_plan(wk_replay_settings(r.replay));
    assert_true(plan >= (uint64_t)2000 * WK_IMAGE_BYTES);
    assert_in_range(wk_device_frames_bytes(r.device_frames), 1, plan / 8);
    assert_ok(script_run(r.replay, 1500, &err));
    uint64_t full = wk_device_frames_bytes(r.device_frames);
    assert_ok(script_run(r.replay, 1500, &err));
    // Other episodes end elsewhere in their blocks, which is all that may differ.
    assert_in_range(wk_device_frames_bytes(r.device_frames), full, full + full / 20);
    close_fixture(&r);
}

TEST_CASE(a_full_device_is_reported_and_the_store_goes_on)
{
    fixture r = open_fixture(1, 2000);
    hold(&r);
    assert_ok(script_run(r.replay, 100, &err));
    assert_same_batch(&r, 0);
    async_device_set_memory(0, 0);
    assert_ok(script_run(r.replay, 400, &err));
    assert_non_null(wk_device_frames_fault(r.device_frames));
    assert_non_null(strstr(wk_device_frames_fault(r.device_frames)->message, "full"));
    wk_device_frames_destroy(r.device_frames);
    r.device_frames = NULL;
    assert_ok(script_run(r.replay, 50, &err));
    close_fixture(&r);
}

TEST_CASE(a_store_that_does_not_fit_is_refused)
{
    fixture r = open_fixture(1, 2000);
    assert_ok(script_run(r.replay, 400, &err));
    async_device_set_memory(0, 3);
    assert_refused(
        wk_device_frames_create(r.replay, r.queue->backend, r.queue, &r.device_frames, &err),
        WK_E_MEMORY, "full");
    assert_ok(script_run(r.replay, 20, &err));
    close_fixture(&r);
}

TEST_MAIN(NULL, NULL)
