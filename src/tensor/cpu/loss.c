// The unit-variance Gaussian loss, without its constant.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"

typedef struct job {
    size_t rows, cols, target_stride;
    const float *x, *target, *dy;
    float *y;
} job;

static const float *target_row(const job *j, size_t r)
{
    return j->target + r / j->rows * j->target_stride + r % j->rows * j->cols;
}

WK_MULTI
static void loss_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++)
        j->y[r] = (float)(0.5 * wk_sum_run(WK_TERM_SQUARED_DIFFERENCE, j->cols, j->x + r * j->cols,
                                           target_row(j, r)));
}

void wk_cpu_half_squared_error(size_t stacks, size_t rows, size_t cols, const float *x,
                               const float *target, size_t target_stride, float *y, wk_pool *pool)
{
    job j = {rows, cols, target_stride, x, target, NULL, y};
    wk_cpu_for(stacks * rows, wk_row_grain(cols), loss_rows, &j, pool);
}

WK_MULTI
static void backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++) {
        const float *x = j->x + r * j->cols, *target = target_row(j, r);
        float dy = j->dy[r], *dx = j->y + r * j->cols;
#pragma GCC ivdep
        for (size_t i = 0; i < j->cols; i++)
            dx[i] = dy * (x[i] - target[i]);
    }
}

void wk_cpu_half_squared_error_backward(size_t stacks, size_t rows, size_t cols, const float *x,
                                        const float *target, size_t target_stride, const float *dy,
                                        float *dx, wk_pool *pool)
{
    job j = {rows, cols, target_stride, x, target, dy, dx};
    wk_cpu_for(stacks * rows, wk_row_grain(cols), backward_rows, &j, pool);
}
