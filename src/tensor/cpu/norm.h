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
    for (; i + WK_LANES <= n; i += WK_LANES) {
        wk_lanes d = wk_norm_load(x, shift, i) - c;
        sum[0] += power == 2 ? d * d : d;
    }
    float rest = 0;
    for (; i < n; i++) {
        float d = wk_norm_value(x, shift, i) - center;
        rest += power == 2 ? d * d : d;
    }
    return wk_lanes_sum((sum[0] + sum[2]) + (sum[1] + sum[3])) + rest;
}

/// y = x + shift - mean
WK_INLINE void wk_norm_subtract(size_t n, const float *x, const float *shift, float mean, float *y)
{
    if (shift)
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] + shift[i] - mean;
    else
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] - mean;
}

/// y = x + shift less the mean; also the statistics.
WK_INLINE void wk_norm_centre(size_t n, const float *x, const float *shift, float eps, float *y,
                              float *mean, float *rstd)
{
    float m = *mean = wk_norm_moment(n, x, shift, 0.0f, 1) / (float)n;
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
        y[i] = wk_norm_value(x, shift, i) - m;
        rest += y[i] * y[i];
    }
    float variance = (wk_lanes_sum(sum[0] + sum[1]) + rest) / (float)n;
    *rstd = 1.0f / __builtin_sqrtf(variance + eps);
}

WK_INLINE void wk_norm_statistics(size_t n, const float *x, const float *shift, float eps,
                                  float *mean, float *rstd)
{
    float count = (float)n;
    *mean = wk_norm_moment(n, x, shift, 0.0f, 1) / count;
    float variance = wk_norm_moment(n, x, shift, *mean, 2) / count;
    *rstd = 1.0f / __builtin_sqrtf(variance + eps);
}

/// One row's backward pass: x, the statistics, the gain, and where the row's share of the
/// parameters' gradients is added; `sums` is NULL when none is wanted, `shift_sums` when there is
/// no shift.
typedef struct wk_norm_row {
    size_t n;
    const float *x, *gain;
    float mean, rstd;
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
            wk_lanes centred = wk_lanes_load(w->x + at) - w->mean;
            wk_norm_scale_lanes(w, at, wk_lanes_load(dy + at), centred, dx);
            wk_lanes d = wk_lanes_load(dx + at);
            sum[k] += d;
            dot[k] += d * centred;
        }
    float rest = 0, rest_dot = 0;
    for (; i < n; i++) {
        float centred = w->x[i] - w->mean;
        wk_norm_scale_one(w, i, dy[i], centred, dx);
        rest += dx[i];
        rest_dot += dx[i] * centred;
    }
    float average = (wk_lanes_sum(sum[0] + sum[1]) + rest) / (float)n * w->rstd;
    float along =
        (wk_lanes_sum(dot[0] + dot[1]) + rest_dot) / (float)n * w->rstd * w->rstd * w->rstd;
    if (w->shift_sums)
#pragma GCC ivdep
        for (i = 0; i < n; i++) {
            dx[i] = dx[i] * w->rstd - (average + (w->x[i] - w->mean) * along);
            w->shift_sums[i] += dx[i];
        }
    else
#pragma GCC ivdep
        for (i = 0; i < n; i++)
            dx[i] = dx[i] * w->rstd - (average + (w->x[i] - w->mean) * along);
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

/// Adds up `chunks` arrays [n], `row` apart, into the first of them and that into y.
void wk_norm_collect(size_t chunks, size_t n, size_t row, float *partial, float *y,
                     bool accumulate);

#endif
