// Cutting work into ranges whose bounds depend on sizes alone.
#ifndef WK_TENSOR_CPU_PARALLEL_H
#define WK_TENSOR_CPU_PARALLEL_H

#include "base/pool.h"
#include <stddef.h>

/// Does elements begin ... end-1 of a job.
typedef void wk_range_fn(const void *job, size_t begin, size_t end);

/// Elements of an elementwise range: long enough to pay for a thread's wake-up, short enough to
/// stay in its cache.
enum { WK_GRAIN = 16384 };

/// Runs `fn` over 0 ... n-1 in ranges of `grain`.
void wk_cpu_for(size_t n, size_t grain, wk_range_fn *fn, const void *job, wk_pool *pool);

/// Rows of `cols` elements that make up about one grain.
size_t wk_row_grain(size_t cols);

static inline size_t wk_ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static inline size_t wk_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
