// Sums, products and scalings of whole arrays, and images to floats.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"

typedef struct job {
    const float *a, *b;
    const uint8_t *bytes;
    float *y;
    float scale, other;
    size_t cols;
    bool accumulate;
} job;

WK_MULTI
static void fill(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    float *y = j->y, value = j->scale;
    for (size_t i = begin; i < end; i++)
        y[i] = value;
}

void wk_cpu_fill(size_t n, float value, float *y, wk_pool *pool)
{
    job j = {.y = y, .scale = value};
    wk_cpu_for(n, WK_GRAIN, fill, &j, pool);
}

WK_MULTI
static void add(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const float *a = j->a, *b = j->b;
    float *y = j->y;
#pragma GCC ivdep
    for (size_t i = begin; i < end; i++)
        y[i] = a[i] + b[i];
}

void wk_cpu_add(size_t n, const float *a, const float *b, float *y, wk_pool *pool)
{
    job j = {.a = a, .b = b, .y = y};
    wk_cpu_for(n, WK_GRAIN, add, &j, pool);
}

WK_MULTI
static void mul(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const float *a = j->a, *b = j->b;
    float *y = j->y;
#pragma GCC ivdep
    for (size_t i = begin; i < end; i++)
        y[i] = a[i] * b[i];
}

void wk_cpu_mul(size_t n, const float *a, const float *b, float *y, wk_pool *pool)
{
    job j = {.a = a, .b = b, .y = y};
    wk_cpu_for(n, WK_GRAIN, mul, &j, pool);
}

WK_MULTI
static void affine(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const float *a = j->a;
    float *y = j->y, scale = j->scale, shift = j->other;
    if (j->accumulate)
#pragma GCC ivdep
        for (size_t i = begin; i < end; i++)
            y[i] += scale * a[i] + shift;
    else
#pragma GCC ivdep
        for (size_t i = begin; i < end; i++)
            y[i] = scale * a[i] + shift;
}

void wk_cpu_affine(size_t n, float scale, float shift, const float *x, float *y, bool accumulate,
                   wk_pool *pool)
{
    job j = {.a = x, .y = y, .scale = scale, .other = shift, .accumulate = accumulate};
    wk_cpu_for(n, WK_GRAIN, affine, &j, pool);
}

WK_MULTI
static void max_floor(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const float *a = j->a;
    float *y = j->y, limit = j->scale;
#pragma GCC ivdep
    for (size_t i = begin; i < end; i++)
        y[i] = a[i] < limit ? limit : a[i]; // this way round a NaN stays
}

void wk_cpu_max_floor(size_t n, float floor, const float *x, float *y, wk_pool *pool)
{
    job j = {.a = x, .y = y, .scale = floor};
    wk_cpu_for(n, WK_GRAIN, max_floor, &j, pool);
}

WK_MULTI
static void max_floor_backward(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const float *a = j->a, *b = j->b;
    float *y = j->y, limit = j->scale;
#pragma GCC ivdep
    for (size_t i = begin; i < end; i++)
        y[i] = a[i] < limit ? 0.0f : b[i];
}

void wk_cpu_max_floor_backward(size_t n, float floor, const float *x, const float *dy, float *dx,
                               wk_pool *pool)
{
    job j = {.a = x, .b = dy, .y = dx, .scale = floor};
    wk_cpu_for(n, WK_GRAIN, max_floor_backward, &j, pool);
}

WK_MULTI
static void scale_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const float *a = j->a;
    float *y = j->y;
    for (size_t i = begin; i < end;) { // a range may begin and end inside a row
        size_t r = i / j->cols, stop = wk_min_size(end, (r + 1) * j->cols);
        float factor = j->b ? j->scale * j->b[r] : j->scale;
        if (j->accumulate)
#pragma GCC ivdep
            for (; i < stop; i++)
                y[i] += factor * a[i];
        else
#pragma GCC ivdep
            for (; i < stop; i++)
                y[i] = factor * a[i];
    }
}

void wk_cpu_scale_rows(size_t rows, size_t cols, float scale, const float *weight, const float *x,
                       float *y, bool accumulate, wk_pool *pool)
{
    job j = {.a = x, .b = weight, .y = y, .scale = scale, .cols = cols, .accumulate = accumulate};
    wk_cpu_for(rows * cols, WK_GRAIN, scale_rows, &j, pool);
}

WK_MULTI
static void normalise(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const uint8_t *x = j->bytes;
    float *y = j->y;
#pragma GCC ivdep
    for (size_t i = begin; i < end; i++)
        y[i] = (float)x[i] / 255.0f - 0.5f;
}

void wk_cpu_image_normalise(size_t n, const uint8_t *x, float *y, wk_pool *pool)
{
    job j = {.bytes = x, .y = y};
    wk_cpu_for(n, WK_GRAIN, normalise, &j, pool);
}
