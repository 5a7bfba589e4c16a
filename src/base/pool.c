// Threads take the next piece of the job by an atomic add to one counter. Workers sleep on a
// condition between jobs, after a short spin, since training hands out many short jobs in a row.
// The spin does not yield: on a busy machine a thread that yields is put behind all others and
// comes back milliseconds late, one that sleeps is woken at once.
#include "base/pool.h"

#include "base/machine.h"
#include "base/text.h"
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SPINS = 2000 }; // tens of microseconds

static void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

typedef struct worker {
    wk_pool *pool;
    int thread;
    pthread_t id;
} worker;

struct wk_pool {
    int threads; // the caller's included
    worker *workers;
    int started; // workers that really run
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;

    wk_pool_fn *fn;
    void *context;
    size_t pieces;
    atomic_size_t next, done;
    atomic_uint job;    // rises with every job; workers wait for it to change
    int inside;         // workers that may still touch the job, under lock
    bool running, quit; // under lock
};

// Runs pieces until none is left.
static void work(wk_pool *pool, int thread)
{
    for (;;) {
        size_t piece = atomic_fetch_add(&pool->next, 1);
        if (piece >= pool->pieces) return;
        pool->fn(pool->context, piece, thread);
        atomic_fetch_add(&pool->done, 1);
    }
}

static void *worker_main(void *argument)
{
    const worker *self = argument;
    wk_pool *pool = self->pool;
    unsigned seen = 0;
    wk_locale_use_c();
    for (;;) {
        for (int spin = 0; spin < SPINS && atomic_load(&pool->job) == seen; spin++)
            relax();
        pthread_mutex_lock(&pool->lock);
        while (!pool->quit && (atomic_load(&pool->job) == seen || !pool->running))
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->quit) {
            pthread_mutex_unlock(&pool->lock);
            return NULL;
        }
        seen = atomic_load(&pool->job);
        pool->inside++;
        pthread_mutex_unlock(&pool->lock);

        work(pool, self->thread);

        pthread_mutex_lock(&pool->lock);
        if (--pool->inside == 0) pthread_cond_broadcast(&pool->idle);
        pthread_mutex_unlock(&pool->lock);
    }
}

wk_status wk_pool_create(int threads, wk_pool **out, wk_error *err)
{
    if (threads == 0) threads = wk_cpu_count();
    if (threads < 0 || threads > 1024)
        return wk_fail(err, WK_E_INPUT, "cannot use %d threads; give 1 to 1024, or 0 for all cores",
                       threads);
    wk_pool *pool = calloc(1, sizeof *pool);
    if (pool) pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    if (!pool || !pool->workers) {
        free(pool);
        return wk_fail(err, WK_E_MEMORY, "no memory for a pool of %d threads", threads);
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->threads = threads;
    for (int i = 1; i < threads; i++) {
        worker *w = &pool->workers[i - 1];
        *w = (worker){.pool = pool, .thread = i};
        if (pthread_create(&w->id, NULL, worker_main, w) != 0) {
            wk_pool_destroy(pool);
            return wk_fail(err, WK_E_MEMORY, "cannot start thread %d of %d; use fewer threads",
                           i + 1, threads);
        }
        pool->started++;
    }
    *out = pool;
    return WK_OK;
}

void wk_pool_destroy(wk_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    assert(!pool->running);
    pool->quit = true;
    atomic_fetch_add(&pool->job, 1); // ends the spinning: on a busy machine it takes seconds
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].id, NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

int wk_pool_threads(const wk_pool *pool)
{
    return pool ? pool->threads : 1;
}

void wk_pool_start(wk_pool *pool, size_t pieces, wk_pool_fn *fn, void *context)
{
    pthread_mutex_lock(&pool->lock);
    assert(!pool->running);
    pool->fn = fn;
    pool->context = context;
    pool->pieces = pieces;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->done, 0);
    pool->running = true;
    atomic_fetch_add(&pool->job, 1);
    if (pool->started) pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

void wk_pool_wait(wk_pool *pool)
{
    work(pool, 0);
    // The last pieces may still run elsewhere: spin briefly, then sleep until the workers left the
    // job.
    for (int spin = 0; spin < SPINS && atomic_load(&pool->done) < pool->pieces; spin++)
        relax();
    pthread_mutex_lock(&pool->lock);
    while (pool->inside > 0)
        pthread_cond_wait(&pool->idle, &pool->lock);
    pool->running = false;
    pthread_mutex_unlock(&pool->lock);
    assert(atomic_load(&pool->done) == pool->pieces);
}

void wk_pool_run(wk_pool *pool, size_t pieces, wk_pool_fn *fn, void *context)
{
    if (!pool || pool->started == 0 || pieces <= 1) {
        for (size_t i = 0; i < pieces; i++)
            fn(context, i, 0);
        return;
    }
    wk_pool_start(pool, pieces, fn, context);
    wk_pool_wait(pool);
}

int wk_cpu_count(void)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    double cpus = fmin(CPU_COUNT(&allowed), ceil(wk_limits_now().cpus));
    return cpus > 1 ? (int)cpus : 1;
}
