// Sums, products and scalings of whole arrays, and images to floats.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"

typedef struct job {
    const float *a, *b;
    const uint8_t *bytes;
    float *y;
    float scale, shift; // numbers of the call: a factor or a limit, an offset
    size_t cols;
} job;

// A function over ranges that computes y[i] = `value` from a[i], b[i], bytes[i], scale and shift.
#define ELEMENTWISE(name, value)                                                                   \
    WK_MULTI static void name(const void *context, size_t begin, size_t end)                       \
    {                                                                                              \
        const job *j = context;                                                                    \
        const float *a = j->a, *b = j->b;                                                          \
        const uint8_t *bytes = j->bytes;                                                           \
        const float scale = j->scale, shift = j->shift;                                            \
        float *y = j->y;                                                                           \
        (void)a, (void)b, (void)bytes, (void)scale, (void)shift;                                   \
        _Pragma("GCC ivdep") for (size_t i = begin; i < end; i++) y[i] = value;                    \
    }

ELEMENTWISE(fill, scale)
ELEMENTWISE(add, a[i] + b[i])
ELEMENTWISE(mul, a[i] * b[i])
ELEMENTWISE(affine, scale *a[i] + shift)
ELEMENTWISE(max_floor, a[i] < scale ? scale : a[i]) // this way round a NaN stays
ELEMENTWISE(max_floor_backward, a[i] < scale ? 0.0f : b[i])
ELEMENTWISE(normalise, (float)bytes[i] / 255.0f - 0.5f)

void wk_cpu_fill(size_t n, float value, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, fill, &(job){.y = y, .scale = value}, pool);
}

void wk_cpu_add(size_t n, const float *a, const float *b, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, add, &(job){.a = a, .b = b, .y = y}, pool);
}

void wk_cpu_mul(size_t n, const float *a, const float *b, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, mul, &(job){.a = a, .b = b, .y = y}, pool);
}

void wk_cpu_affine(size_t n, float scale, float shift, const float *x, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, affine, &(job){.a = x, .y = y, .scale = scale, .shift = shift}, pool);
}

void wk_cpu_clamp_min(size_t n, float floor, const float *x, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, max_floor, &(job){.a = x, .y = y, .scale = floor}, pool);
}

void wk_cpu_clamp_min_backward(size_t n, float floor, const float *x, const float *dy, float *dx,
                               wk_pool *pool)
{
    job j = {.a = x, .b = dy, .y = dx, .scale = floor};
    wk_cpu_for(n, WK_GRAIN, max_floor_backward, &j, pool);
}

void wk_cpu_image_normalise(size_t n, const uint8_t *x, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, normalise, &(job){.bytes = x, .y = y}, pool);
}

WK_MULTI
static void scale_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const float *a = j->a;
    float *y = j->y;
    for (size_t i = begin; i < end;) { // a range may begin and end inside a row
        size_t r = i / j->cols, stop = wk_min_size(end, (r + 1) * j->cols);
        float factor = j->b[r];
#pragma GCC ivdep
        for (; i < stop; i++)
            y[i] = factor * a[i];
    }
}

void wk_cpu_scale_rows(size_t rows, size_t cols, const float *weight, const float *x, float *y,
                       wk_pool *pool)
{
    job j = {.a = x, .b = weight, .y = y, .cols = cols};
    wk_cpu_for(rows * cols, WK_GRAIN, scale_rows, &j, pool);
}
