// Typed growable arrays. WK_ARRAY(int) declares a struct type with items, count and capacity; the
// macros below grow it. Zero-initialise before use; free with wk_array_free.
#ifndef WK_BASE_ARRAY_H
#define WK_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

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
