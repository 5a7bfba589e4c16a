// Large blocks of memory, kept from one input to the next: asking the system for them anew, with
// the address sanitizer's shadow of them, would be most of the time of an input. A block that is
// freed is poisoned until it is given out again, for the same number of bytes, so that nothing the
// sanitizer would find is missed. Blocks of more than 1 GiB fail, as on a machine without that much
// memory: a run may ask for them by its settings. The linker redirects the calls
// (tools/fuzz/build).
#ifndef WK_TESTS_FUZZ_LARGE_BLOCKS_H
#define WK_TESTS_FUZZ_LARGE_BLOCKS_H

#include <malloc.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_BLOCKS = 64, LARGE_ALIGNMENT = 64 };
static const size_t LARGE_LEAST = 1 << 16, LARGE_MAX = 1 << 30;

static struct {
    void *block;
    size_t size;
    bool used;
} large_blocks[LARGE_BLOCKS];
static uintptr_t large_first = UINTPTR_MAX, large_last; // where they lie; most frees are elsewhere
static pthread_mutex_t large_mutex = PTHREAD_MUTEX_INITIALIZER;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void __wrap_free(void *block);

// A block of this size; NULL if it is small, or there are too many sizes.
static void *large_take(size_t alignment, size_t size)
{
    void *block = NULL;
    if (size < LARGE_LEAST || alignment > LARGE_ALIGNMENT) return NULL;
    pthread_mutex_lock(&large_mutex);
    for (int i = 0; i < LARGE_BLOCKS && !block; i++) {
        if (large_blocks[i].used || (large_blocks[i].block && large_blocks[i].size != size))
            continue;
        if (!large_blocks[i].block) large_blocks[i].block = memalign(LARGE_ALIGNMENT, size);
        block = large_blocks[i].block;
        large_blocks[i].size = size;
        large_blocks[i].used = block != NULL;
        if (!block) break;
        if ((uintptr_t)block < large_first) large_first = (uintptr_t)block;
        if ((uintptr_t)block > large_last) large_last = (uintptr_t)block;
        __asan_unpoison_memory_region(block, size);
    }
    pthread_mutex_unlock(&large_mutex);
    return block;
}

// The size of a block that was taken, which is given back if need be; 0 if it is none.
static size_t large_find(void *block, bool give_back)
{
    size_t size = 0;
    if ((uintptr_t)block < large_first || (uintptr_t)block > large_last) return 0;
    pthread_mutex_lock(&large_mutex);
    for (int i = 0; i < LARGE_BLOCKS && size == 0; i++) {
        if (large_blocks[i].block != block) continue;
        size = large_blocks[i].size;
        if (!large_blocks[i].used) abort(); // freed twice
        if (!give_back) continue;
        large_blocks[i].used = false;
        __asan_poison_memory_region(block, size);
    }
    pthread_mutex_unlock(&large_mutex);
    return size;
}

void *__wrap_malloc(size_t size)
{
    if (size > LARGE_MAX) return NULL;
    void *block = large_take(1, size);
    return block ? block : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (size && count > LARGE_MAX / size) return NULL;
    void *block = large_take(1, count * size);
    return block ? memset(block, 0, count * size) : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    if (size > LARGE_MAX) return NULL;
    void *block = large_take(alignment, size);
    return block ? block : __real_aligned_alloc(alignment, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    if (size > LARGE_MAX) return NULL;
    size_t before = large_find(block, false);
    if (before == 0) return __real_realloc(block, size);
    void *moved = __wrap_malloc(size);
    if (!moved) return NULL;
    memcpy(moved, block, before < size ? before : size);
    large_find(block, true);
    return moved;
}

void __wrap_free(void *block)
{
    if (large_find(block, true) == 0) __real_free(block);
}

#endif
