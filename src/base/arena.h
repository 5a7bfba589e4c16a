// An arena: memory that is allocated in order and freed all at once. It grows by blocks, never
// moves an allocation, and records its high-water mark. Not thread-safe; give each owner its own.
#ifndef WK_BASE_ARENA_H
#define WK_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wk_arena_block wk_arena_block;

/// Zero-initialise, optionally set block_size, then allocate.
typedef struct wk_arena {
    wk_arena_block *newest;
    size_t block_size; // bytes of an ordinary block; 0 means 64 KiB
    size_t used;       // bytes allocated since the last reset
    size_t peak;       // largest `used` ever seen
    bool failed;       // an allocation was NULL: who makes several may ask once
} wk_arena;

/// Zeroed memory aligned to 64 bytes, or NULL when the system has none. A size of 0 gives a valid
/// pointer.
void *wk_arena_alloc(wk_arena *arena, size_t size);

/// A copy of `size` bytes, or NULL.
void *wk_arena_copy(wk_arena *arena, const void *bytes, size_t size);

/// A copy of a string, or NULL.
char *wk_arena_string(wk_arena *arena, const char *text);

/// Frees everything; the arena can be used again.
void wk_arena_reset(wk_arena *arena);

#endif
