#include "tensor/cuda/passes/stream_waits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// Memory from `begin` to the next segment's: who touched it last. A write is the end of what was
// before it, because its step waited for all of that.
typedef struct segment {
    uint64_t begin;
    wk_vector_clock read, written;
} segment;

struct wk_stream_waits {
    WK_ARRAY(segment) segments;          // by address, covering everything
    WK_ARRAY(wk_vector_clock) finished;  // by step: what is done when it is done
    wk_vector_clock now[WK_STREAMS_MAX]; // by stream: what is done before its next step
};

static const wk_vector_clock never = {{-1, -1, -1, -1}};
_Static_assert(WK_STREAMS_MAX == 4, "as many as in never");

wk_stream_waits *wk_stream_waits_create(void)
{
    wk_stream_waits *order = calloc(1, sizeof *order);
    if (order && wk_array_push(&order->segments, (segment){0, never, never})) {
        for (int i = 0; i < WK_STREAMS_MAX; i++)
            order->now[i] = never;
        return order;
    }
    free(order);
    return NULL;
}

void wk_stream_waits_destroy(wk_stream_waits *order)
{
    if (!order) return;
    wk_array_free(&order->segments);
    wk_array_free(&order->finished);
    free(order);
}

static void advance(wk_vector_clock *moment, const wk_vector_clock *to)
{
    for (int i = 0; i < WK_STREAMS_MAX; i++)
        if (to->step[i] > moment->step[i]) moment->step[i] = to->step[i];
}

// The segment that holds an address.
static size_t find(const wk_stream_waits *order, uint64_t address)
{
    size_t low = 0, high = order->segments.count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (order->segments.items[middle].begin <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Makes a segment begin at an address and returns its index; room for it is reserved.
static size_t cut(wk_stream_waits *order, uint64_t address)
{
    size_t at = find(order, address);
    segment *s = &order->segments.items[at];
    if (s->begin == address) return at;
    memmove(s + 1, s, (order->segments.count - at) * sizeof *s);
    order->segments.count++;
    s[1].begin = address;
    return at + 1;
}

// Adds what must be done before the access.
static void require(const wk_stream_waits *order, const wk_access *a, wk_vector_clock *needed)
{
    for (size_t i = find(order, a->begin); i < order->segments.count; i++) {
        const segment *s = &order->segments.items[i];
        if (s->begin >= a->end) break;
        advance(needed, &s->written);
        if (a->write) advance(needed, &s->read);
    }
}

static bool note(wk_stream_waits *order, const wk_access *a, int stream, int step)
{
    if (!wk_array_reserve(&order->segments, 2)) return false;
    size_t first = cut(order, a->begin), past = cut(order, a->end);
    segment *s = order->segments.items;
    if (!a->write) {
        for (size_t i = first; i < past; i++)
            s[i].read.step[stream] = step;
        return true;
    }
    s[first].read = s[first].written = never;
    s[first].written.step[stream] = step;
    memmove(&s[first + 1], &s[past], (order->segments.count - past) * sizeof *s);
    order->segments.count -= past - first - 1;
    return true;
}

// Leaves out what is done already, and what is done when another of the waits is.
static void thin_out(const wk_stream_waits *order, const wk_vector_clock *now, int stream,
                     wk_vector_clock *waits)
{
    waits->step[stream] = -1;
    for (int i = 0; i < WK_STREAMS_MAX; i++)
        if (waits->step[i] <= now->step[i]) waits->step[i] = -1;
    for (int i = 0; i < WK_STREAMS_MAX; i++) {
        if (waits->step[i] < 0) continue;
        const wk_vector_clock *implied = &order->finished.items[waits->step[i]];
        for (int k = 0; k < WK_STREAMS_MAX; k++)
            if (k != i && waits->step[k] <= implied->step[k]) waits->step[k] = -1;
    }
}

bool wk_stream_waits_add(wk_stream_waits *order, int stream, const wk_access *accesses,
                         size_t count, wk_vector_clock *waits)
{
    assert(stream >= 0 && stream < WK_STREAMS_MAX);
    int step = (int)order->finished.count;
    wk_vector_clock *now = &order->now[stream];
    *waits = never;
    for (size_t i = 0; i < count; i++)
        if (accesses[i].begin < accesses[i].end) require(order, &accesses[i], waits);
    thin_out(order, now, stream, waits);
    for (int i = 0; i < WK_STREAMS_MAX; i++)
        if (waits->step[i] >= 0) advance(now, &order->finished.items[waits->step[i]]);
    now->step[stream] = step;
    for (size_t i = 0; i < count; i++)
        if (accesses[i].begin < accesses[i].end && !note(order, &accesses[i], stream, step))
            return false;
    return wk_array_push(&order->finished, *now);
}
