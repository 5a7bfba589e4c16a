// The spread of an ensemble's predictions, tile by tile of columns so that all members' numbers
// stay in the first-level cache between the two passes (mean, then squares).
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include <string.h>

enum { TILE = 128 };

typedef struct job {
    wk_disagreement kind;
    size_t stacks, rows, cols;
    float scale;
    const float *x, *dy;
    float *y;
} job;

// Mean and variance over stacks of n <= TILE columns; members are `step` apart.
WK_INLINE void moments(size_t stacks, size_t n, size_t step, const float *x, float *mean,
                       float *variance)
{
    float part = 1.0f / (float)stacks;
    for (size_t i = 0; i < n; i++)
        mean[i] = variance[i] = 0;
    for (size_t s = 0; s < stacks; s++)
        for (size_t i = 0; i < n; i++)
            mean[i] += x[s * step + i];
    for (size_t i = 0; i < n; i++)
        mean[i] *= part;
    for (size_t s = 0; s < stacks; s++)
        for (size_t i = 0; i < n; i++) {
            float d = x[s * step + i] - mean[i];
            variance[i] += d * d;
        }
    for (size_t i = 0; i < n; i++)
        variance[i] *= part;
}

WK_MULTI
static void spread_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    float mean[TILE], variance[TILE];
    for (size_t r = begin; r < end; r++) {
        double total = 0;
        for (size_t c = 0; c < j->cols; c += TILE) {
            size_t n = wk_min_size(TILE, j->cols - c);
            moments(j->stacks, n, j->rows * j->cols, j->x + r * j->cols + c, mean, variance);
            if (j->kind == WK_DISAGREEMENT_STD)
                for (size_t i = 0; i < n; i++)
                    variance[i] = __builtin_sqrtf(variance[i]);
            total += wk_sum_lanes(WK_TERM_VALUE, n, variance, variance);
        }
        j->y[r] = (float)(j->scale * total / (double)j->cols);
    }
}

void wk_cpu_disagreement(wk_disagreement kind, size_t stacks, size_t rows, size_t cols, float scale,
                         const float *x, float *y, wk_pool *pool)
{
    job j = {
        .kind = kind, .stacks = stacks, .rows = rows, .cols = cols, .scale = scale, .x = x, .y = y};
    wk_cpu_for(rows, wk_row_grain(stacks * cols), spread_rows, &j, pool);
}

// d spread / d x_s = factor (x_s - mean): 2 / S for the variance, 1 / (S std) for the deviation.
WK_INLINE void factors(const job *j, size_t n, float unit, float *variance)
{
    for (size_t i = 0; i < n; i++)
        variance[i] = j->kind == WK_DISAGREEMENT_VARIANCE ? 2.0f * unit
                      : variance[i] > 0.0f                ? unit / __builtin_sqrtf(variance[i])
                                                          : 0.0f;
}

// A tile of n columns from `at` on. It moves through as many streams as there are members, each for
// a few lines only: too short for the hardware prefetcher, so software prefetches.
WK_INLINE void backward_tile(const job *j, size_t at, size_t n, float unit)
{
    float mean[TILE], factor[TILE];
    size_t step = j->rows * j->cols, next = wk_min_size(TILE, step - at - n);
    for (size_t s = 0; s < j->stacks; s++)
        wk_prefetch(j->y + s * step + at, n);
    moments(j->stacks, n, step, j->x + at, mean, factor);
    factors(j, n, unit, factor);
    for (size_t s = 0; s < j->stacks; s++) {
        const float *x = j->x + s * step + at;
        float *y = j->y + s * step + at;
        wk_prefetch(x + n, next);
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            y[i] = factor[i] * (x[i] - mean[i]);
    }
}

WK_MULTI
static void backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++) {
        float unit = j->scale * j->dy[r] / (float)j->cols / (float)j->stacks;
        for (size_t c = 0; c < j->cols; c += TILE)
            backward_tile(j, r * j->cols + c, wk_min_size(TILE, j->cols - c), unit);
    }
}

void wk_cpu_disagreement_backward(wk_disagreement kind, size_t stacks, size_t rows, size_t cols,
                                  float scale, const float *x, const float *dy, float *dx,
                                  wk_pool *pool)
{
    job j = {.kind = kind,
             .stacks = stacks,
             .rows = rows,
             .cols = cols,
             .scale = scale,
             .x = x,
             .dy = dy,
             .y = dx};
    wk_cpu_for(rows, wk_row_grain(stacks * cols), backward_rows, &j, pool);
}

WK_MULTI
static void sum_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    float sum[TILE];
    for (size_t c = begin; c < end; c += TILE) {
        size_t n = wk_min_size(TILE, end - c);
        for (size_t i = 0; i < n; i++)
            sum[i] = 0;
        for (size_t s = 0; s < j->stacks; s++)
            for (size_t i = 0; i < n; i++)
                sum[i] += j->x[s * j->cols + c + i];
        memcpy(j->y + c, sum, n * sizeof *sum);
    }
}

void wk_cpu_stack_sum(size_t stacks, size_t n, const float *x, float *y, wk_pool *pool)
{
    job j = {.stacks = stacks, .cols = n, .x = x, .y = y};
    wk_cpu_for(n, WK_GRAIN / 4, sum_range, &j, pool);
}
