#include "tensor/cpu/parallel.h"

typedef struct ranges {
    size_t n, grain;
    wk_range_fn *fn;
    const void *job;
} ranges;

static void run_range(void *context, size_t piece, int thread)
{
    (void)thread;
    const ranges *r = context;
    size_t begin = piece * r->grain;
    r->fn(r->job, begin, wk_min_size(begin + r->grain, r->n));
}

void wk_cpu_for(size_t n, size_t grain, wk_range_fn *fn, const void *job, wk_pool *pool)
{
    ranges r = {n, grain, fn, job};
    wk_pool_run(pool, wk_ceil_div(n, grain), run_range, &r);
}

size_t wk_row_grain(size_t cols)
{
    return cols >= WK_GRAIN ? 1 : WK_GRAIN / (cols ? cols : 1);
}
