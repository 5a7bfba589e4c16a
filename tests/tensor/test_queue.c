// Enqueued work: order within one, events between two, gathers. On the CPU everything is done when
// it is put; on a GPU (WAKER_TEST_DEVICE) the same calls must give the same bytes.
#include "support/backend.h"
#include "support/check.h"
#include "tensor/backend.h"
#include <stdlib.h>

enum { SIZE = 1 << 20, ROW = 48, ROWS = 37 };

static wk_error err;

static wk_backend *open_backend(void)
{
    wk_backend *backend;
    assert_ok(test_backend_create(NULL, &backend, &err));
    return backend;
}

static wk_queue *open_queue(wk_backend *backend, bool high_priority)
{
    wk_queue *queue;
    assert_ok(wk_queue_create(backend, high_priority, &queue, &err));
    return queue;
}

static wk_buffer *open_buffer(wk_backend *backend, size_t size)
{
    wk_buffer *buffer;
    assert_ok(wk_buffer_create(backend, size, &buffer, &err));
    return buffer;
}

static unsigned char *open_host(wk_backend *backend, size_t size)
{
    void *memory;
    assert_ok(wk_pinned_create(backend, size, &memory, &err));
    for (size_t i = 0; i < size; i++)
        assert_int_equal(((unsigned char *)memory)[i], 0);
    return memory;
}

static void fill(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed * 97) >> 7);
}

TEST_CASE(what_is_put_into_a_queue_is_done_in_order)
{
    wk_backend *backend = open_backend();
    wk_queue *queue = open_queue(backend, false);
    wk_buffer *a = open_buffer(backend, SIZE), *b = open_buffer(backend, SIZE);
    unsigned char *in = open_host(backend, 2 * SIZE), *out = open_host(backend, 2 * SIZE);
    fill(in, SIZE, 1);
    fill(in + SIZE, SIZE, 2);
    for (int round = 0; round < 20; round++) {
        memset(out, 0, 2 * SIZE);
        wk_copy copy = {b, a, 64, 0, SIZE - 64};
        assert_ok(wk_queue_upload(queue, a, 0, in, SIZE, &err));
        assert_ok(wk_queue_copy(queue, &copy, 1, &err));
        assert_ok(wk_queue_upload(queue, a, 0, in + SIZE, SIZE, &err));
        assert_ok(wk_queue_download(queue, b, 64, out, SIZE - 64, &err));
        assert_ok(wk_queue_download(queue, a, 0, out + SIZE, SIZE, &err));
        assert_ok(wk_queue_drain(queue, &err));
        assert_memory_equal(out, in, SIZE - 64);
        assert_memory_equal(out + SIZE, in + SIZE, SIZE);
    }
    wk_queue_destroy(queue);
    wk_buffer_destroy(a);
    wk_buffer_destroy(b);
    wk_pinned_destroy(backend, in);
    wk_pinned_destroy(backend, out);
    wk_backend_destroy(backend);
}

TEST_CASE(a_queue_goes_on_after_the_event_of_another)
{
    wk_backend *backend = open_backend();
    wk_queue *one = open_queue(backend, false), *two = open_queue(backend, true);
    wk_buffer *a = open_buffer(backend, SIZE), *b = open_buffer(backend, SIZE);
    unsigned char *in = open_host(backend, SIZE), *out = open_host(backend, SIZE);
    wk_event *sent, *taken;
    assert_ok(wk_event_create(backend, &sent, &err));
    assert_ok(wk_event_create(backend, &taken, &err));
    assert_ok(wk_event_wait(sent, &err)); // nothing was put before it
    for (unsigned round = 0; round < 50; round++) {
        fill(in, SIZE, round);
        wk_copy copy = {b, a, 0, 0, SIZE};
        assert_ok(wk_queue_wait_event(one, taken, &err));
        assert_ok(wk_queue_upload(one, a, 0, in, SIZE, &err));
        assert_ok(wk_queue_record_event(one, sent, &err));
        assert_ok(wk_queue_wait_event(two, sent, &err));
        assert_ok(wk_queue_copy(two, &copy, 1, &err));
        assert_ok(wk_queue_download(two, b, 0, out, SIZE, &err));
        assert_ok(wk_queue_record_event(two, taken, &err));
        assert_ok(wk_event_wait(taken, &err));
        assert_memory_equal(out, in, SIZE);
    }
    wk_event_destroy(sent);
    wk_event_destroy(taken);
    wk_queue_destroy(one);
    wk_queue_destroy(two);
    wk_buffer_destroy(a);
    wk_buffer_destroy(b);
    wk_pinned_destroy(backend, in);
    wk_pinned_destroy(backend, out);
    wk_backend_destroy(backend);
}

// More than one launch takes, of sizes and places of any alignment.
TEST_CASE(many_small_transfers_are_one_call)
{
    enum { COUNT = 300, STEP = 48, BYTES = COUNT * STEP };
    static const size_t sizes[] = {48, 16, 8, 4, 31, 1, 0};
    wk_backend *backend = open_backend();
    wk_queue *queue = open_queue(backend, false);
    wk_buffer *a = open_buffer(backend, BYTES), *b = open_buffer(backend, BYTES);
    unsigned char *in = open_host(backend, BYTES), out[BYTES], wanted[BYTES] = {0};
    static wk_upload uploads[COUNT];
    static wk_copy copies[COUNT];
    fill(in, BYTES, 3);
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = sizes[i % (sizeof sizes / sizeof *sizes)], at = i * STEP;
        uploads[i] = (wk_upload){a, at, size, in + at};
        copies[i] = (wk_copy){b, a, BYTES - at - STEP, at, size};
        memcpy(wanted + BYTES - at - STEP, in + at, size);
    }
    assert_ok(wk_queue_upload_pinned(queue, uploads, COUNT, &err));
    assert_ok(wk_queue_copy(queue, copies, COUNT, &err));
    assert_ok(wk_queue_drain(queue, &err));
    assert_ok(wk_buffer_download(b, 0, out, BYTES, &err));
    assert_memory_equal(out, wanted, BYTES);
    wk_queue_destroy(queue);
    wk_buffer_destroy(a);
    wk_buffer_destroy(b);
    wk_pinned_destroy(backend, in);
    wk_backend_destroy(backend);
}

// Guard bytes lie on both sides of the result.
TEST_CASE(a_gather_lays_rows_of_several_buffers_together)
{
    enum { GUARD = 16, BYTES = ROWS * ROW };
    wk_backend *backend = open_backend();
    wk_queue *queue = open_queue(backend, false);
    wk_buffer *from[2] = {open_buffer(backend, BYTES), open_buffer(backend, BYTES)};
    wk_buffer *to = open_buffer(backend, BYTES + 2 * GUARD);
    unsigned char in[2][BYTES], out[BYTES + 2 * GUARD];
    const void **rows = (const void **)(void *)open_host(backend, ROWS * sizeof *rows);
    for (int k = 0; k < 2; k++) {
        fill(in[k], BYTES, (unsigned)k);
        assert_ok(wk_buffer_upload(from[k], 0, in[k], BYTES, &err));
    }
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (const char *)from[i % 2]->address + i * 5 % ROWS * ROW;
    enum { FIRST = ROWS / 3 }; // in one call with the others
    wk_gather gathers[] = {{to, GUARD, ROW, rows, FIRST},
                           {to, GUARD + FIRST * ROW, ROW, rows + FIRST, ROWS - FIRST}};
    assert_ok(wk_queue_gather(queue, gathers, 2, &err));
    assert_ok(wk_queue_drain(queue, &err));
    assert_ok(wk_buffer_download(to, 0, out, sizeof out, &err));
    for (size_t i = 0; i < ROWS; i++)
        assert_memory_equal(out + GUARD + i * ROW, in[i % 2] + i * 5 % ROWS * ROW, ROW);
    for (int i = 0; i < GUARD; i++)
        assert_true(out[i] == 0 && out[GUARD + BYTES + i] == 0);
    wk_queue_destroy(queue);
    wk_buffer_destroy(from[0]);
    wk_buffer_destroy(from[1]);
    wk_buffer_destroy(to);
    wk_pinned_destroy(backend, (void *)rows);
    wk_backend_destroy(backend);
}

TEST_MAIN(NULL, NULL)
