#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, DEFAULT_BLOCK = 64 * 1024 };

// The header takes one alignment unit, so that what follows is aligned like the block itself.
struct wk_arena_block {
    _Alignas(ALIGNMENT) wk_arena_block *older;
    size_t size, used; // of the bytes after the header
};

static wk_arena_block *block_create(wk_arena_block *older, size_t size)
{
    wk_arena_block *block = aligned_alloc(ALIGNMENT, sizeof *block + size);
    if (!block) return NULL;
    *block = (wk_arena_block){.older = older, .size = size};
    return block;
}

void *wk_arena_alloc(wk_arena *arena, size_t size)
{
    arena->failed |= size > SIZE_MAX / 2;
    if (size > SIZE_MAX / 2) return NULL;
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->newest || arena->newest->size - arena->newest->used < rounded) {
        size_t usual = arena->block_size ? arena->block_size : DEFAULT_BLOCK;
        usual = (usual + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        wk_arena_block *block = block_create(arena->newest, rounded > usual ? rounded : usual);
        arena->failed |= !block;
        if (!block) return NULL;
        arena->newest = block;
    }
    char *bytes = (char *)(arena->newest + 1) + arena->newest->used;
    arena->newest->used += rounded;
    arena->used += rounded;
    if (arena->used > arena->peak) arena->peak = arena->used;
    return memset(bytes, 0, rounded);
}

void *wk_arena_copy(wk_arena *arena, const void *bytes, size_t size)
{
    void *copy = wk_arena_alloc(arena, size);
    if (copy && size) memcpy(copy, bytes, size);
    return copy;
}

char *wk_arena_string(wk_arena *arena, const char *text)
{
    return wk_arena_copy(arena, text, strlen(text) + 1);
}

void wk_arena_reset(wk_arena *arena)
{
    while (arena->newest) {
        wk_arena_block *older = arena->newest->older;
        free(arena->newest);
        arena->newest = older;
    }
    arena->used = 0;
    arena->failed = false;
}

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
