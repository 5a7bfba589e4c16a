// One row of the GRU cell's layer norm. A row's value is x + shift, shift being the gate bias.
#ifndef WK_TENSOR_CPU_NORM_H
#define WK_TENSOR_CPU_NORM_H

#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include <stdbool.h>

WK_INLINE wk_lanes wk_norm_load(const float *x, const float *shift, size_t at)
{
    return wk_lanes_load(x + at) + wk_lanes_load(shift + at);
}

/// Sum of the row's values.
WK_INLINE float wk_norm_sum(size_t n, const float *x, const float *shift)
{
    wk_lanes sum[4] = {{0}, {0}, {0}, {0}};
    size_t i = 0;
    for (; i + 4 * WK_LANES <= n; i += 4 * WK_LANES)
        for (size_t k = 0; k < 4; k++)
            sum[k] += wk_norm_load(x, shift, i + k * WK_LANES);
    for (; i + WK_LANES <= n; i += WK_LANES)
        sum[0] += wk_norm_load(x, shift, i);
    float rest = 0;
    for (; i < n; i++)
        rest += x[i] + shift[i];
    return wk_lanes_sum((sum[0] + sum[2]) + (sum[1] + sum[3])) + rest;
}

/// y = x + shift - mean
WK_INLINE void wk_norm_subtract(size_t n, const float *x, const float *shift, float mean, float *y)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] + shift[i] - mean;
}

/// y = x + shift less the mean; also the statistics.
WK_INLINE void wk_norm_centre(size_t n, const float *x, const float *shift, float eps, float *y,
                              float *mean, float *rstd)
{
    float m = *mean = wk_norm_sum(n, x, shift) / (float)n;
    wk_lanes sum[2] = {{0}, {0}};
    size_t i = 0;
    for (; i + 2 * WK_LANES <= n; i += 2 * WK_LANES)
        for (size_t k = 0; k < 2; k++) {
            wk_lanes d = wk_norm_load(x, shift, i + k * WK_LANES) - m;
            wk_lanes_store(y + i + k * WK_LANES, d);
            sum[k] += d * d;
        }
    float rest = 0;
    for (; i < n; i++) {
        y[i] = x[i] + shift[i] - m;
        rest += y[i] * y[i];
    }
    float variance = (wk_lanes_sum(sum[0] + sum[1]) + rest) / (float)n;
    *rstd = 1.0f / __builtin_sqrtf(variance + eps);
}

/// One row's backward pass: the values less their mean, the gain, and where the row's share of the
/// parameters' gradients is added, all NULL when none is wanted.
typedef struct wk_norm_row {
    size_t n;
    const float *centred, *gain;
    float rstd;
    float *gain_sums, *bias_sums, *shift_sums;
} wk_norm_row;

/// The gradients of gain and bias, and dx = dy gain.
WK_INLINE void wk_norm_scale_lanes(const wk_norm_row *w, size_t at, wk_lanes dy, wk_lanes centred,
                                   float *dx)
{
    if (w->gain_sums) {
        wk_lanes gain = wk_lanes_load(w->gain_sums + at), bias = wk_lanes_load(w->bias_sums + at);
        wk_lanes_store(w->gain_sums + at, gain + dy * (centred * w->rstd));
        wk_lanes_store(w->bias_sums + at, bias + dy);
    }
    wk_lanes_store(dx + at, dy * wk_lanes_load(w->gain + at));
}

WK_INLINE void wk_norm_scale_one(const wk_norm_row *w, size_t at, float dy, float centred,
                                 float *dx)
{
    if (w->gain_sums) {
        w->gain_sums[at] += dy * (centred * w->rstd);
        w->bias_sums[at] += dy;
    }
    dx[at] = dy * w->gain[at];
}

/// dx = rstd (d - mean(d) - xhat mean(d xhat)) with d = dy gain; dy may be dx.
WK_INLINE void wk_norm_row_backward(const wk_norm_row *w, const float *dy, float *dx)
{
    wk_lanes sum[2] = {{0}, {0}}, dot[2] = {{0}, {0}};
    size_t i = 0, n = w->n;
    for (; i + 2 * WK_LANES <= n; i += 2 * WK_LANES)
        for (size_t k = 0; k < 2; k++) {
            size_t at = i + k * WK_LANES;
            wk_lanes centred = wk_lanes_load(w->centred + at);
            wk_norm_scale_lanes(w, at, wk_lanes_load(dy + at), centred, dx);
            wk_lanes d = wk_lanes_load(dx + at);
            sum[k] += d;
            dot[k] += d * centred;
        }
    float rest = 0, rest_dot = 0;
    for (; i < n; i++) {
        wk_norm_scale_one(w, i, dy[i], w->centred[i], dx);
        rest += dx[i];
        rest_dot += dx[i] * w->centred[i];
    }
    float average = (wk_lanes_sum(sum[0] + sum[1]) + rest) / (float)n * w->rstd;
    float along =
        (wk_lanes_sum(dot[0] + dot[1]) + rest_dot) / (float)n * w->rstd * w->rstd * w->rstd;
    if (w->shift_sums)
#pragma GCC ivdep
        for (i = 0; i < n; i++) {
            dx[i] = dx[i] * w->rstd - (average + w->centred[i] * along);
            w->shift_sums[i] += dx[i];
        }
    else
#pragma GCC ivdep
        for (i = 0; i < n; i++)
            dx[i] = dx[i] * w->rstd - (average + w->centred[i] * along);
}

/// How rows are cut where parameter gradients are summed: every set of parameters has its rows, cut
/// into chunks with sums of their own.
typedef struct wk_norm_cut {
    size_t sets, rows, chunks; // rows of one set, chunks of one set
} wk_norm_cut;

static inline wk_norm_cut wk_norm_cut_of(size_t stacks, size_t rows, size_t cols, bool shared)
{
    enum { CHUNK_ELEMENTS = 1 << 16, CHUNKS_MAX = 16 };
    wk_norm_cut cut = {shared ? 1 : stacks, shared ? stacks * rows : rows, 1};
    size_t wanted = cut.rows * cols / CHUNK_ELEMENTS;
    if (wanted > 1) cut.chunks = wk_min_size(wanted, CHUNKS_MAX);
    return cut;
}

#endif
