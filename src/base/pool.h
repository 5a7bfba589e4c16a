// A fixed set of worker threads that run indexed pieces of one job. The caller cuts the job; the
// cut must not depend on the number of threads, and then neither do the results. One job at a time
// per pool, started from one thread; a piece must not start a job on the same pool.
#ifndef WK_BASE_POOL_H
#define WK_BASE_POOL_H

#include "waker/error.h"
#include <stddef.h>

typedef struct wk_pool wk_pool;

/// One piece of a job; `piece` counts from 0. `thread` is 0 ... wk_pool_threads-1 and is fixed
/// during the call, for scratch memory.
typedef void wk_pool_fn(void *context, size_t piece, int thread);

/// `threads` >= 1 counts the calling thread, which works too: 1 creates none. 0 means one per core
/// this process may use.
wk_status wk_pool_create(int threads, wk_pool **out, wk_error *err);

/// Waits for nothing: no job may be running. NULL is allowed.
void wk_pool_destroy(wk_pool *pool);

/// Number of threads, the caller's included; 1 for a NULL pool.
int wk_pool_threads(const wk_pool *pool);

/// Runs pieces 0 ... pieces-1 and returns when all are done. A NULL pool runs them in the caller.
void wk_pool_run(wk_pool *pool, size_t pieces, wk_pool_fn *fn, void *context);

/// Starts the pieces on the workers without taking part and returns at once; wk_pool_wait ends it.
/// On a pool without workers the pieces run inside wk_pool_wait.
void wk_pool_start(wk_pool *pool, size_t pieces, wk_pool_fn *fn, void *context);

/// Helps with what is left of a started job and returns when all of it is done.
void wk_pool_wait(wk_pool *pool);

/// Number of cores this process may run on (affinity mask) or may use up (control groups), at least
/// 1.
int wk_cpu_count(void);

#endif
