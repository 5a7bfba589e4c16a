#include "base/blas.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Of OpenBLAS's own, which its header leaves out; another library has none and needs none.
void *blas_memory_alloc(int use) __attribute__((weak));
void blas_memory_free(void *block) __attribute__((weak));

enum { THREADS_MAX = 64 }; // it has fewer than twice as many blocks in all
static const size_t BLOCK = ((size_t)128 << 20) + 4096;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int taken;

// Asks for it and gives it back; volatile, or the compiler would know what becomes of that.
static bool is_there(size_t size)
{
    void *volatile block = malloc(size);
    bool there = block != NULL;
    free(block);
    return there;
}

// Blocks that are given back are kept for the next who ask.
static void take(int count)
{
    void *blocks[THREADS_MAX];
    for (int i = 0; i < count; i++)
        blocks[i] = blas_memory_alloc(0);
    for (int i = 0; i < count; i++)
        blas_memory_free(blocks[i]);
}

wk_status wk_blas_prepare(int threads, wk_error *err)
{
    if (!blas_memory_alloc || !blas_memory_free) return WK_OK;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    pthread_mutex_lock(&mutex);
    bool enough = threads <= taken || is_there((size_t)(threads - taken) * BLOCK);
    if (enough && threads > taken) take(taken = threads);
    pthread_mutex_unlock(&mutex);
    if (enough) return WK_OK;
    return wk_fail(err, WK_E_MEMORY,
                   "no memory for OpenBLAS, which takes 128 MiB of address space for each of %d "
                   "threads; raise the limit (ulimit -v), or use fewer --threads",
                   threads);
}

static bool is_limited(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void wk_blas_without_threads(char **argv)
{
    static const char name[] = "OPENBLAS_NUM_THREADS";
    const char *now = getenv(name);
    if (!blas_memory_alloc || (now && strcmp(now, "1") == 0)) return;
    if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA)) return;
    if (setenv(name, "1", 1) == 0) execv("/proc/self/exe", argv);
}
