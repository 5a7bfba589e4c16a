#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

bool wk_array_grow_(void **items, size_t *capacity, size_t count, size_t extra, size_t item_size)
{
    if (*capacity - count >= extra) return true;
    if (extra > SIZE_MAX / item_size - count) return false;
    size_t wanted = *capacity ? *capacity : 8;
    while (wanted < count + extra) {
        if (wanted > SIZE_MAX / item_size / 2) {
            wanted = count + extra;
            break;
        }
        wanted *= 2;
    }
    void *grown = realloc(*items, wanted * item_size);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

void wk_array_free_(void **items, size_t *capacity, size_t *count)
{
    free(*items);
    *items = NULL;
    *capacity = *count = 0;
}

int wk_compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int wk_compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}
