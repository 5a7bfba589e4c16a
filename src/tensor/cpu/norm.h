// One row of a layer norm, shared by the layer norm and the GRU cell. A row's value is x + shift,
// shift (the gate bias) may be NULL.
#ifndef WK_TENSOR_CPU_NORM_H
#define WK_TENSOR_CPU_NORM_H

#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include <stdbool.h>

WK_INLINE wk_lanes wk_norm_load(const float *x, const float *shift, size_t at)
{
    wk_lanes v = wk_lanes_load(x + at);
    return shift ? v + wk_lanes_load(shift + at) : v;
}

WK_INLINE float wk_norm_value(const float *x, const float *shift, size_t at)
{
    return shift ? x[at] + shift[at] : x[at];
}

/// Sum of (value - center)^power over the row, power 1 or 2.
WK_INLINE float wk_norm_moment(size_t n, const float *x, const float *shift, float center,
                               int power)
{
    wk_lanes sum[4] = {{0}, {0}, {0}, {0}},
             c = {center, center, center, center, center, center, center, center};
    size_t i = 0;
    for (; i + 4 * WK_LANES <= n; i += 4 * WK_LANES)
        for (size_t k = 0; k < 4; k++) {
            wk_lanes d = wk_norm_load(x, shift, i + k * WK_LANES) - c;
            sum[k] += power == 2 ? d * d : d;
        }
    float rest = 0;
    for (; i < n; i++) {
        float d = wk_norm_value(x, shift, i) - center;
        rest += power == 2 ? d * d : d;
    }
    return wk_lanes_sum((sum[0] + sum[2]) + (sum[1] + sum[3])) + rest;
}

WK_INLINE void wk_norm_statistics(size_t n, const float *x, const float *shift, float eps,
                                  float *mean, float *rstd)
{
    float count = (float)n;
    *mean = wk_norm_moment(n, x, shift, 0.0f, 1) / count;
    float variance = wk_norm_moment(n, x, shift, *mean, 2) / count;
    *rstd = 1.0f / __builtin_sqrtf(variance + eps);
}

/// Turns dx, which holds the gradient of the normalised row, into that of x:
/// dx = rstd (d - mean(d) - xhat mean(d xhat)).
WK_INLINE void wk_norm_row_backward(size_t n, const float *x, const float *shift, float mean,
                                    float rstd, float *dx)
{
    wk_lanes sum[2] = {{0}, {0}}, dot[2] = {{0}, {0}};
    wk_lanes m = {mean, mean, mean, mean, mean, mean, mean, mean};
    size_t i = 0;
    for (; i + 2 * WK_LANES <= n; i += 2 * WK_LANES)
        for (size_t k = 0; k < 2; k++) {
            wk_lanes d = wk_lanes_load(dx + i + k * WK_LANES);
            sum[k] += d;
            dot[k] += d * (wk_norm_load(x, shift, i + k * WK_LANES) - m);
        }
    float rest = 0, rest_dot = 0;
    for (; i < n; i++) {
        rest += dx[i];
        rest_dot += dx[i] * (wk_norm_value(x, shift, i) - mean);
    }
    float average = (wk_lanes_sum(sum[0] + sum[1]) + rest) / (float)n;
    float along = (wk_lanes_sum(dot[0] + dot[1]) + rest_dot) * rstd / (float)n;
    if (shift)
#pragma GCC ivdep
        for (i = 0; i < n; i++)
            dx[i] = rstd * (dx[i] - average - (x[i] + shift[i] - mean) * rstd * along);
    else
#pragma GCC ivdep
        for (i = 0; i < n; i++)
            dx[i] = rstd * (dx[i] - average - (x[i] - mean) * rstd * along);
}

/// How rows are cut where parameter gradients are summed: every set of parameters has its rows, cut
/// into chunks with sums of their own.
typedef struct wk_norm_cut {
    size_t sets, rows, chunks; // rows of one set, chunks of one set
} wk_norm_cut;

static inline wk_norm_cut wk_norm_cut_of(size_t stacks, size_t rows, size_t cols, bool shared)
{
    enum { CHUNK_ELEMENTS = 1 << 16, MAX_CHUNKS = 16 };
    wk_norm_cut cut = {shared ? 1 : stacks, shared ? stacks * rows : rows, 1};
    size_t wanted = cut.rows * cols / CHUNK_ELEMENTS;
    if (wanted > 1) cut.chunks = wk_min_size(wanted, MAX_CHUNKS);
    return cut;
}

/// Adds up `chunks` arrays [n], `row` apart, into y.
static inline void wk_norm_collect(size_t chunks, size_t n, size_t row, const float *partial,
                                   float *y, bool accumulate)
{
    for (size_t i = 0; i < n; i++) {
        float sum = partial[i];
        for (size_t k = 1; k < chunks; k++)
            sum += partial[k * row + i];
        y[i] = accumulate ? y[i] + sum : sum;
    }
}

#endif
