// Moving rows and columns: concatenation, slices, gathering, exchanging axes.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include <string.h>

typedef struct job {
    size_t a, b, cols, src_row, dst_row, count;
    const int32_t *index;
    const float *src;
    float *dst;
    bool accumulate;
} job;

WK_MULTI
static void add_run(size_t n, const float *restrict src, float *restrict dst)
{
    for (size_t i = 0; i < n; i++)
        dst[i] += src[i];
}

static void copy_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++) {
        const float *src = j->src + r * j->src_row;
        float *dst = j->dst + r * j->dst_row;
        if (j->accumulate)
            add_run(j->cols, src, dst);
        else
            memcpy(dst, src, j->cols * sizeof *dst);
    }
}

void wk_cpu_copy_columns(size_t rows, size_t cols, const float *src, size_t src_row, float *dst,
                         size_t dst_row, bool accumulate, wk_pool *pool)
{
    if (cols == 0) return;
    job j = {.cols = cols,
             .src = src,
             .src_row = src_row,
             .dst = dst,
             .dst_row = dst_row,
             .accumulate = accumulate};
    wk_cpu_for(rows, wk_row_grain(cols), copy_rows, &j, pool);
}

static void gather_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t i = begin; i < end; i++)
        memcpy(j->dst + i * j->cols, j->src + (size_t)j->index[i] * j->cols,
               j->cols * sizeof *j->dst);
}

void wk_cpu_gather_rows(size_t count, size_t cols, const int32_t *index, const float *src,
                        float *dst, wk_pool *pool)
{
    if (cols == 0) return;
    job j = {.cols = cols, .index = index, .src = src, .dst = dst};
    wk_cpu_for(count, wk_row_grain(cols), gather_rows, &j, pool);
}

// Rows may meet in one target: ranges are of columns, so that each sum runs in row order.
static void scatter_columns(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t i = 0; i < j->count; i++)
        add_run(end - begin, j->src + i * j->cols + begin,
                j->dst + (size_t)j->index[i] * j->cols + begin);
}

void wk_cpu_scatter_add_rows(size_t count, size_t cols, const int32_t *index, const float *src,
                             float *dst, wk_pool *pool)
{
    job j = {.count = count, .cols = cols, .index = index, .src = src, .dst = dst};
    wk_cpu_for(cols, 256, scatter_columns, &j, pool);
}

static void swap_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t i = begin; i < end; i++) { // i counts rows of the result [b, a]
        size_t b = i / j->a, a = i % j->a;
        memcpy(j->dst + i * j->cols, j->src + (a * j->b + b) * j->cols, j->cols * sizeof *j->dst);
    }
}

void wk_cpu_swap_axes(size_t a, size_t b, size_t inner, const float *x, float *y, wk_pool *pool)
{
    if (inner == 0) return;
    job j = {.a = a, .b = b, .cols = inner, .src = x, .dst = y};
    wk_cpu_for(a * b, wk_row_grain(inner), swap_rows, &j, pool);
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
