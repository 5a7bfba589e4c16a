// Bias and activation. Each activation has its own loops, chosen once per range: the compiler
// vectorises them and the choice costs nothing. Exponentials take two loops over a tile (vmath.h).
#include "tensor/activation.h"

#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include "tensor/vmath.h"

enum { TILE = 256 };

// What the first loop leaves for the second; `above` is the positive part, for ELU.
typedef struct tile {
    float rest[TILE], scale[TILE], above[TILE];
} tile;

// The bounds of an activation's argument, hidden from the compiler.
typedef struct bounds {
    float low, high;
} bounds;

WK_INLINE bounds bounds_of(wk_activation act)
{
    switch (act) {
    case WK_ELU:
        return (bounds){wk_opaque(-25.0f), wk_opaque(0.0f)};
    case WK_TANH:
        return (bounds){wk_opaque(-WK_TANH_LIMIT), wk_opaque(WK_TANH_LIMIT)};
    default:
        return (bounds){wk_opaque(-WK_SIGMOID_LIMIT), wk_opaque(WK_SIGMOID_LIMIT)};
    }
}

WK_INLINE wk_reduced_arg cut_argument(wk_activation act, bounds b, float x)
{
    switch (act) {
    case WK_ELU:
        return wk_reduce_natural(wk_clip(x, b.low, b.high));
    case WK_TANH:
        return wk_tanh_reduce(wk_clip(x, b.low, b.high));
    default:
        return wk_reduce_base2(wk_clip(wk_sigmoid_exponent(x), b.low, b.high));
    }
}

WK_INLINE float join(wk_activation act, wk_reduced_arg reduced, float above)
{
    switch (act) {
    case WK_ELU: // one of the two is 0
        return above + wk_expm1_reconstruct(reduced);
    case WK_TANH:
        return wk_tanh_reconstruct(reduced);
    default:
        return wk_sigmoid_reconstruct(reduced);
    }
}

// act'(x) as a function of y = act(x).
WK_INLINE float slope(wk_activation act, float y)
{
    switch (act) {
    case WK_ELU:
        return y > 0.0f ? 1.0f : y + 1.0f;
    case WK_TANH:
        return 1.0f - y * y;
    case WK_SIGMOID:
        return y * (1.0f - y);
    default:
        return 1.0f;
    }
}

// y = act(x + bias) for n <= TILE numbers; `bias` may be NULL.
WK_INLINE void apply_tile(wk_activation act, bounds b, size_t n, const float *x, const float *bias,
                          float *y)
{
    tile t;
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        float value = bias ? x[i] + bias[i] : x[i];
        wk_reduced_arg reduced = cut_argument(act, b, value);
        t.rest[i] = reduced.rest;
        t.scale[i] = reduced.scale;
        if (act == WK_ELU) t.above[i] = value > b.high ? value : b.high;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] =
            join(act, (wk_reduced_arg){t.rest[i], t.scale[i]}, act == WK_ELU ? t.above[i] : 0.0f);
}

WK_INLINE void add_row(size_t n, const float *x, const float *bias, float *y)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = bias ? x[i] + bias[i] : x[i];
}

WK_INLINE void row_with(wk_activation act, bounds b, size_t n, const float *x, const float *bias,
                        float *y)
{
    if (act == WK_IDENTITY) {
        add_row(n, x, bias, y);
        return;
    }
    for (size_t at = 0; at < n; at += TILE)
        apply_tile(act, b, wk_min_size(TILE, n - at), x + at, bias ? bias + at : NULL, y + at);
}

WK_INLINE void rows_with(wk_activation act, size_t rows, size_t cols, const float *x,
                         const float *bias, float *y)
{
    bounds b = bounds_of(act);
    if (!bias) {
        row_with(act, b, rows * cols, x, NULL, y);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        row_with(act, b, cols, x + r * cols, bias, y + r * cols);
}

WK_MULTI
static void bias_act_rows(wk_activation act, size_t rows, size_t cols, const float *x,
                          const float *bias, float *y)
{
    switch (act) {
    case WK_IDENTITY:
        rows_with(WK_IDENTITY, rows, cols, x, bias, y);
        break;
    case WK_ELU:
        rows_with(WK_ELU, rows, cols, x, bias, y);
        break;
    case WK_TANH:
        rows_with(WK_TANH, rows, cols, x, bias, y);
        break;
    case WK_SIGMOID:
        rows_with(WK_SIGMOID, rows, cols, x, bias, y);
        break;
    }
}

// A bias of few columns (three colours) would leave the vectors empty: rows are taken many at a
// time with the bias repeated.
enum { WIDE = 64, REPEATED = 192 };

void wk_bias_act_rows(wk_activation act, size_t rows, size_t cols, const float *x,
                      const float *bias, float *y)
{
    if (act == WK_IDENTITY && !bias && x == y) return;
    if (!bias || cols >= WIDE || cols == 0) {
        bias_act_rows(act, rows, cols, x, bias, y);
        return;
    }
    float repeated[REPEATED];
    size_t times = REPEATED / cols, wide = times * cols, full = rows / times;
    for (size_t i = 0; i < wide; i++)
        repeated[i] = bias[i % cols];
    bias_act_rows(act, full, wide, x, repeated, y);
    bias_act_rows(act, rows - full * times, cols, x + full * wide, bias, y + full * wide);
}

typedef struct job {
    const wk_bias_act *p;
    const float *x, *bias, *y, *dy;
    float *out;
} job;

static void forward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t cols = j->p->cols;
    while (begin < end) { // a range may cross from one copy to the next
        size_t s = begin / j->p->rows;
        size_t rows = wk_min_size(end, (s + 1) * j->p->rows) - begin;
        wk_bias_act_rows(j->p->act, rows, cols, j->x + begin * cols,
                         j->bias ? j->bias + s * j->p->bias_stride : NULL, j->out + begin * cols);
        begin += rows;
    }
}

void wk_cpu_bias_act(const wk_bias_act *p, const float *x, const float *bias, float *y,
                     wk_pool *pool)
{
    if (p->act == WK_IDENTITY && !bias && x == y) return;
    job j = {.p = p, .x = x, .bias = bias, .out = y};
    wk_cpu_for(p->stacks * p->rows, wk_row_grain(p->cols), forward_rows, &j, pool);
}

WK_INLINE void slope_all(wk_activation act, size_t begin, size_t end, const float *y,
                         const float *dy, float *dx)
{
#pragma GCC ivdep
    for (size_t i = begin; i < end; i++)
        dx[i] = dy[i] * slope(act, y[i]);
}

WK_MULTI
static void backward_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    switch (j->p->act) {
    case WK_IDENTITY:
        slope_all(WK_IDENTITY, begin, end, j->dy, j->dy, j->out);
        break;
    case WK_ELU:
        slope_all(WK_ELU, begin, end, j->y, j->dy, j->out);
        break;
    case WK_TANH:
        slope_all(WK_TANH, begin, end, j->y, j->dy, j->out);
        break;
    case WK_SIGMOID:
        slope_all(WK_SIGMOID, begin, end, j->y, j->dy, j->out);
        break;
    }
}

void wk_cpu_bias_act_backward(const wk_bias_act *p, const float *y, const float *dy, float *dx,
                              float *dbias, wk_pool *pool)
{
    job j = {.p = p, .y = y, .dy = dy, .out = dx};
    size_t n = p->stacks * p->rows * p->cols;
    if (dx && !(p->act == WK_IDENTITY && dx == dy))
        wk_cpu_for(n, WK_GRAIN, backward_range, &j, pool);
    if (!dbias) return;
    const float *summed = dx ? dx : dy;
    if (p->bias_stride == 0) {
        wk_cpu_column_sums(p->stacks * p->rows, p->cols, 1.0f, summed, dbias, pool);
        return;
    }
    for (size_t s = 0; s < p->stacks; s++)
        wk_cpu_column_sums(p->rows, p->cols, 1.0f, summed + s * p->rows * p->cols,
                           dbias + s * p->bias_stride, pool);
}
