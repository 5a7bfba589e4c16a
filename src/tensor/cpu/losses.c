// The kernels of losses and of what learning in imagination needs: the unit-variance Gaussian loss,
// without its constant; λ-returns, backwards through time, whose rows are independent and lie side
// by side; and the spread of an ensemble's predictions, tile by tile of columns so that all
// members' numbers stay in the first-level cache between the two passes (mean, then squares).
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include <assert.h>
#include <string.h>

typedef struct loss_job {
    size_t rows, cols, target_stride;
    const float *x, *target, *dy;
    float *y;
} loss_job;

static const float *target_row(const loss_job *j, size_t r)
{
    return j->target + r / j->rows * j->target_stride + r % j->rows * j->cols;
}

WK_MULTI
static void loss_rows(const void *context, size_t begin, size_t end)
{
    const loss_job *j = context;
    for (size_t r = begin; r < end; r++)
        j->y[r] = (float)(0.5 * wk_sum_run(WK_TERM_SQUARED_DIFFERENCE, j->cols, j->x + r * j->cols,
                                           target_row(j, r)));
}

void wk_cpu_half_squared_error(size_t stacks, size_t rows, size_t cols, const float *x,
                               const float *target, size_t target_stride, float *y, wk_pool *pool)
{
    loss_job j = {rows, cols, target_stride, x, target, NULL, y};
    wk_cpu_for(stacks * rows, wk_row_grain(cols), loss_rows, &j, pool);
}

WK_MULTI
static void loss_backward_rows(const void *context, size_t begin, size_t end)
{
    const loss_job *j = context;
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
    loss_job j = {rows, cols, target_stride, x, target, dy, dx};
    wk_cpu_for(stacks * rows, wk_row_grain(cols), loss_backward_rows, &j, pool);
}

enum { TILE = 1024 };

typedef struct returns_job {
    const wk_lambda_return *p;
    const float *reward, *value, *dy;
    float *y, *dreward, *dvalue;
} returns_job;

// y of step t from y of step t + 1 (`next`).
WK_INLINE void return_step(size_t n, float discount, float lambda, const float *reward,
                           const float *value, const float *next, float *y)
{
    float rest = 1.0f - lambda;
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = reward[i] + discount * (rest * value[i] + lambda * next[i]);
}

WK_MULTI
static void forward_range(const void *context, size_t begin, size_t end)
{
    const returns_job *j = context;
    size_t rows = j->p->rows, n = end - begin;
    const float *next = j->value + j->p->steps * rows + begin;
    for (size_t t = j->p->steps; t-- > 0;) {
        size_t at = t * rows + begin;
        return_step(n, j->p->discount, j->p->lambda, j->reward + at, j->value + at + rows, next,
                    j->y + at);
        next = j->y + at;
    }
}

void wk_cpu_lambda_return(const wk_lambda_return *p, const float *reward, const float *value,
                          float *y, wk_pool *pool)
{
    assert(p->steps >= 1);
    for (size_t s = 0; s < p->stacks; s++) {
        size_t at = s * p->steps * p->rows;
        returns_job j = {.p = p,
                         .reward = reward + at,
                         .y = y + at,
                         .value = value + s * (p->steps + 1) * p->rows};
        wk_cpu_for(p->rows, TILE, forward_range, &j, pool);
    }
}

// `carry` is the gradient of the return of step t, by itself and through the returns before it.
WK_MULTI
static void backward_range(const void *context, size_t begin, size_t end)
{
    const returns_job *j = context;
    const wk_lambda_return *p = j->p;
    size_t n = end - begin;
    float carry[TILE] = {0}, decay = p->discount * p->lambda;
    for (size_t t = 0; t < p->steps; t++) {
        size_t at = t * p->rows + begin;
        float share = t + 1 < p->steps ? p->discount * (1.0f - p->lambda) : p->discount;
        for (size_t i = 0; i < n; i++)
            carry[i] = j->dy[at + i] + decay * carry[i];
        for (size_t i = 0; j->dreward && i < n; i++)
            j->dreward[at + i] = carry[i];
        for (size_t i = 0; j->dvalue && i < n; i++)
            j->dvalue[at + p->rows + i] = share * carry[i];
    }
    for (size_t i = begin; j->dvalue && i < end; i++)
        j->dvalue[i] = 0;
}

void wk_cpu_lambda_return_backward(const wk_lambda_return *p, const float *dy, float *dreward,
                                   float *dvalue, wk_pool *pool)
{
    assert(p->steps >= 1);
    for (size_t s = 0; s < p->stacks; s++) {
        size_t at = s * p->steps * p->rows;
        returns_job j = {.p = p,
                         .dy = dy + at,
                         .dreward = dreward ? dreward + at : NULL,
                         .dvalue = dvalue ? dvalue + s * (p->steps + 1) * p->rows : NULL};
        wk_cpu_for(p->rows, TILE, backward_range, &j, pool);
    }
}

enum { SPREAD_TILE = 128 };

typedef struct spread_job {
    wk_disagreement kind;
    size_t stacks, rows, cols;
    float scale;
    const float *x, *dy;
    float *y;
} spread_job;

// Mean and variance over stacks of n <= SPREAD_TILE columns; members are `step` apart.
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
    const spread_job *j = context;
    float mean[SPREAD_TILE], variance[SPREAD_TILE];
    for (size_t r = begin; r < end; r++) {
        double total = 0;
        for (size_t c = 0; c < j->cols; c += SPREAD_TILE) {
            size_t n = wk_min_size(SPREAD_TILE, j->cols - c);
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
    spread_job j = {
        .kind = kind, .stacks = stacks, .rows = rows, .cols = cols, .scale = scale, .x = x, .y = y};
    wk_cpu_for(rows, wk_row_grain(stacks * cols), spread_rows, &j, pool);
}

// d spread / d x_s = factor (x_s - mean): 2 / S for the variance, 1 / (S std) for the deviation.
WK_INLINE void factors(const spread_job *j, size_t n, float unit, float *variance)
{
    for (size_t i = 0; i < n; i++)
        variance[i] = j->kind == WK_DISAGREEMENT_VARIANCE ? 2.0f * unit
                      : variance[i] > 0.0f                ? unit / __builtin_sqrtf(variance[i])
                                                          : 0.0f;
}

// A tile of n columns from `at` on. It moves through as many streams as there are members, each for
// a few lines only: too short for the hardware prefetcher, so software prefetches.
WK_INLINE void backward_tile(const spread_job *j, size_t at, size_t n, float unit)
{
    float mean[SPREAD_TILE], factor[SPREAD_TILE];
    size_t step = j->rows * j->cols, next = wk_min_size(SPREAD_TILE, step - at - n);
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
static void spread_backward_rows(const void *context, size_t begin, size_t end)
{
    const spread_job *j = context;
    for (size_t r = begin; r < end; r++) {
        float unit = j->scale * j->dy[r] / (float)j->cols / (float)j->stacks;
        for (size_t c = 0; c < j->cols; c += SPREAD_TILE)
            backward_tile(j, r * j->cols + c, wk_min_size(SPREAD_TILE, j->cols - c), unit);
    }
}

void wk_cpu_disagreement_backward(wk_disagreement kind, size_t stacks, size_t rows, size_t cols,
                                  float scale, const float *x, const float *dy, float *dx,
                                  wk_pool *pool)
{
    spread_job j = {.kind = kind,
                    .stacks = stacks,
                    .rows = rows,
                    .cols = cols,
                    .scale = scale,
                    .x = x,
                    .dy = dy,
                    .y = dx};
    wk_cpu_for(rows, wk_row_grain(stacks * cols), spread_backward_rows, &j, pool);
}

WK_MULTI
static void sum_range(const void *context, size_t begin, size_t end)
{
    const spread_job *j = context;
    float sum[SPREAD_TILE];
    for (size_t c = begin; c < end; c += SPREAD_TILE) {
        size_t n = wk_min_size(SPREAD_TILE, end - c);
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
    spread_job j = {.stacks = stacks, .cols = n, .x = x, .y = y};
    wk_cpu_for(n, WK_GRAIN / 4, sum_range, &j, pool);
}
