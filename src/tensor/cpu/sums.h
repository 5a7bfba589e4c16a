// Sums of runs of numbers: eight lanes times four in float32, folded into double every few thousand
// terms. The order is fixed by the length alone and the error stays near that of the terms.
#ifndef WK_TENSOR_CPU_SUMS_H
#define WK_TENSOR_CPU_SUMS_H

#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"

/// What is summed over a run of pairs (a, b).
typedef enum wk_term {
    WK_TERM_VALUE,             // a
    WK_TERM_PRODUCT,           // a b
    WK_TERM_SQUARE,            // a a
    WK_TERM_SQUARED_DIFFERENCE // (a - b)^2
} wk_term;

enum { WK_FOLD = 4096 };

WK_INLINE wk_lanes wk_term_of(wk_term term, wk_lanes a, wk_lanes b)
{
    switch (term) {
    case WK_TERM_PRODUCT:
        return a * b;
    case WK_TERM_SQUARE:
        return a * a;
    case WK_TERM_SQUARED_DIFFERENCE:
        return (a - b) * (a - b);
    default:
        return a;
    }
}

/// The sum over n <= WK_FOLD terms. For terms of one array pass it twice.
WK_INLINE float wk_sum_lanes(wk_term term, size_t n, const float *a, const float *b)
{
    wk_lanes sum[4] = {{0}, {0}, {0}, {0}};
    size_t i = 0;
    for (; i + 4 * WK_LANES <= n; i += 4 * WK_LANES)
        for (size_t k = 0; k < 4; k++) {
            size_t at = i + k * WK_LANES;
            sum[k] += wk_term_of(term, wk_lanes_load(a + at), wk_lanes_load(b + at));
        }
    for (; i + WK_LANES <= n; i += WK_LANES)
        sum[0] += wk_term_of(term, wk_lanes_load(a + i), wk_lanes_load(b + i));
    if (i < n)
        sum[1] +=
            wk_term_of(term, wk_lanes_load_part(a + i, n - i), wk_lanes_load_part(b + i, n - i));
    return wk_lanes_sum((sum[0] + sum[2]) + (sum[1] + sum[3]));
}

/// The sum over n terms.
WK_INLINE double wk_sum_run(wk_term term, size_t n, const float *a, const float *b)
{
    double total = 0;
    for (size_t i = 0; i < n; i += WK_FOLD)
        total += wk_sum_lanes(term, wk_min_size(WK_FOLD, n - i), a + i, b + i);
    return total;
}

#endif
