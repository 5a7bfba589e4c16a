// Memory for the store's blocks: one region, allocated once, used as a ring. Blocks are written at
// the head and mostly freed at the tail, oldest first, so there is no fragmentation and the bytes
// taken never grow. A block that outlives its neighbours is moved to the head when the tail reaches
// it, and its owner is notified.
#ifndef WK_REPLAY_RING_H
#define WK_REPLAY_RING_H

#include <stddef.h>
#include <stdint.h>

/// Called when an owner's block moved.
typedef void wk_ring_moved(void *context, uint64_t owner, size_t from, size_t to);

typedef struct wk_ring {
    unsigned char *bytes;
    size_t size, head, tail;
    size_t used;    // bytes from tail to head, freed blocks among them included
    size_t longest; // bytes of the largest block with its header
    wk_ring_moved *moved;
    void *context;
} wk_ring;

/// Bytes a block of `size` takes in the region.
size_t wk_ring_span(size_t size);

/// Bytes of a region that always has room for blocks whose spans sum to `budget`, when none holds
/// more than `longest` bytes.
size_t wk_ring_size(size_t budget, size_t longest);

/// Takes over `bytes`, malloc'd with wk_ring_size(budget, longest) bytes.
void wk_ring_init(wk_ring *ring, void *bytes, size_t budget, size_t longest, wk_ring_moved *moved,
                  void *context);

/// Writes a block; returns its place. Cannot fail while the live spans stay within the budget.
size_t wk_ring_put(wk_ring *ring, uint64_t owner, const void *bytes, size_t size);

/// The block at `place`; its bytes are 16-byte aligned.
const void *wk_ring_get(const wk_ring *ring, size_t place, size_t *size);

/// Frees the block at `place`.
void wk_ring_free(wk_ring *ring, size_t place);

#endif
