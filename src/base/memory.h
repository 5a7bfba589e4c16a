// Memory: arenas, which are allocated in order and freed all at once, and typed growable arrays.
#ifndef WK_BASE_MEMORY_H
#define WK_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wk_arena_block wk_arena_block;

/// An arena grows by blocks and never moves an allocation. Zero-initialise, optionally set
/// block_size, then allocate. Not thread-safe; give each owner its own.
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

/// A growable array. Zero-initialise before use; free with wk_array_free.
#define WK_ARRAY(type)                                                                             \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/// Makes room for `extra` more items; false when memory is short (the array is unchanged).
#define wk_array_reserve(array, extra)                                                             \
    wk_array_grow_((void **)&(array)->items, &(array)->capacity, (array)->count, (extra),          \
                   sizeof *(array)->items)

/// Appends a value; false when memory is short. The value is evaluated once, only on success.
#define wk_array_push(array, ...)                                                                  \
    (wk_array_reserve((array), 1) && ((array)->items[(array)->count++] = (__VA_ARGS__), true))

/// Index of the first item whose `key` (".id", "->info.id") is not below `value`, in an array that
/// is sorted by the key; `count` where all are below.
#define wk_array_lower_bound(array, key, value)                                                    \
    ({                                                                                             \
        size_t low_ = 0, high_ = (array)->count;                                                   \
        while (low_ < high_) {                                                                     \
            size_t middle_ = (low_ + high_) / 2;                                                   \
            if ((array)->items[middle_] key < (value))                                             \
                low_ = middle_ + 1;                                                                \
            else                                                                                   \
                high_ = middle_;                                                                   \
        }                                                                                          \
        low_;                                                                                      \
    })

/// Releases the items and empties the array.
#define wk_array_free(array)                                                                       \
    wk_array_free_((void **)&(array)->items, &(array)->capacity, &(array)->count)

/// Rising orders for qsort, of double and of uint64_t.
int wk_compare_doubles(const void *a, const void *b);
int wk_compare_u64(const void *a, const void *b);

bool wk_array_grow_(void **items, size_t *capacity, size_t count, size_t extra, size_t item_size);
void wk_array_free_(void **items, size_t *capacity, size_t *count);

#endif
