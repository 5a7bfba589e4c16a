#include "replay/ring.h"

#include <assert.h>
#include <string.h>

// Stands before every block. Freed blocks and the unused end of the region have no owner.
typedef struct header {
    uint32_t span, size;
    uint64_t owner;
} header;

static const uint64_t nobody = UINT64_MAX;

// Room kept free, in longest blocks: one to place a block, one that the region's end may waste, and
// the same again while the tail's blocks are moved out of the way.
enum { FREE_BLOCKS = 4, SLACK_BLOCKS = 8 };

size_t wk_ring_span(size_t size)
{
    return sizeof(header) + (size + 15) / 16 * 16;
}

size_t wk_ring_size(size_t budget, size_t longest)
{
    return (budget + 15) / 16 * 16 + SLACK_BLOCKS * wk_ring_span(longest);
}

void wk_ring_init(wk_ring *ring, void *bytes, size_t budget, size_t longest, wk_ring_moved *moved,
                  void *context)
{
    *ring = (wk_ring){.bytes = bytes,
                      .size = wk_ring_size(budget, longest),
                      .longest = wk_ring_span(longest),
                      .moved = moved,
                      .context = context};
}

static header *header_at(const wk_ring *ring, size_t place)
{
    return (header *)(void *)(ring->bytes + place);
}

// Takes `span` bytes at the head; the end of the region is left unused where they do not fit.
static size_t take(wk_ring *ring, size_t span)
{
    size_t to_end = ring->size - ring->head;
    if (to_end < span) {
        if (to_end > 0) *header_at(ring, ring->head) = (header){(uint32_t)to_end, 0, nobody};
        ring->used += to_end;
        ring->head = 0;
    }
    assert(ring->used + span <= ring->size);
    size_t place = ring->head;
    ring->head += span;
    ring->used += span;
    return place;
}

// Drops the block at the tail, or moves it to the head when it is in use.
static void pass_tail(wk_ring *ring)
{
    size_t from = ring->tail;
    header *old = header_at(ring, from);
    size_t span = old->span;
    if (old->owner != nobody) {
        size_t to = take(ring, span);
        memcpy(ring->bytes + to, ring->bytes + from, span);
        ring->moved(ring->context, old->owner, from, to);
    }
    ring->used -= span;
    ring->tail += span;
    if (ring->tail == ring->size) ring->tail = 0;
}

size_t wk_ring_put(wk_ring *ring, uint64_t owner, const void *bytes, size_t size)
{
    assert(wk_ring_span(size) <= ring->longest && owner != nobody);
    while (ring->size - ring->used < FREE_BLOCKS * ring->longest)
        pass_tail(ring);
    size_t span = wk_ring_span(size), place = take(ring, span);
    *header_at(ring, place) = (header){(uint32_t)span, (uint32_t)size, owner};
    memcpy(ring->bytes + place + sizeof(header), bytes, size);
    return place;
}

const void *wk_ring_get(const wk_ring *ring, size_t place, size_t *size)
{
    *size = header_at(ring, place)->size;
    return ring->bytes + place + sizeof(header);
}

void wk_ring_free(wk_ring *ring, size_t place)
{
    header_at(ring, place)->owner = nobody;
}
