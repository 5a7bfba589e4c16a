// Moving rows and columns: concatenation and slices.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include <string.h>

typedef struct job {
    size_t cols, src_row, dst_row;
    const float *src;
    float *dst;
} job;

static void copy_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++)
        memcpy(j->dst + r * j->dst_row, j->src + r * j->src_row, j->cols * sizeof *j->dst);
}

void wk_cpu_copy_columns(size_t rows, size_t cols, const float *src, size_t src_row, float *dst,
                         size_t dst_row, wk_pool *pool)
{
    if (cols == 0) return;
    job j = {.cols = cols, .src = src, .src_row = src_row, .dst = dst, .dst_row = dst_row};
    wk_cpu_for(rows, wk_row_grain(cols), copy_rows, &j, pool);
}

static void copy_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    memcpy(j->dst + begin, j->src + begin, (end - begin) * sizeof *j->dst);
}

void wk_cpu_copy(size_t n, const float *x, float *y, wk_pool *pool)
{
    job j = {.src = x, .dst = y};
    wk_cpu_for(n, 4 * WK_GRAIN, copy_range, &j, pool);
}
