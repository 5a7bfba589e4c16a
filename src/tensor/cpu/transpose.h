// Transposes, eight by eight.
#ifndef WK_TENSOR_CPU_TRANSPOSE_H
#define WK_TENSOR_CPU_TRANSPOSE_H

#include "tensor/cpu/simd.h"

/// Numbers 0, 8, 1, 9, 4, 12, 5, 13 of (a, b), and the others the same way: what one instruction
/// does.
#define WK_INTERLEAVE_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define WK_INTERLEAVE_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define WK_PAIRS_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define WK_PAIRS_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define WK_HALVES_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define WK_HALVES_HIGH(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

WK_INLINE void wk_transpose_8x8(const float *x, size_t row_x, float *y, size_t row_y)
{
    wk_lanes a[8], b[8];
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; k++)
        a[k] = wk_lanes_load(x + k * row_x);
#pragma GCC unroll 4
    for (size_t k = 0; k < 8; k += 2) {
        b[k] = WK_INTERLEAVE_LOW(a[k], a[k + 1]);
        b[k + 1] = WK_INTERLEAVE_HIGH(a[k], a[k + 1]);
    }
#pragma GCC unroll 2
    for (size_t k = 0; k < 8; k += 4) {
        a[k] = WK_PAIRS_LOW(b[k], b[k + 2]);
        a[k + 1] = WK_PAIRS_HIGH(b[k], b[k + 2]);
        a[k + 2] = WK_PAIRS_LOW(b[k + 1], b[k + 3]);
        a[k + 3] = WK_PAIRS_HIGH(b[k + 1], b[k + 3]);
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++) {
        wk_lanes_store(y + k * row_y, WK_HALVES_LOW(a[k], a[k + 4]));
        wk_lanes_store(y + (k + 4) * row_y, WK_HALVES_HIGH(a[k], a[k + 4]));
    }
}

/// y[c, r] = x[r, c] for rows x cols numbers, rows of x `row_x` and of y `row_y` floats apart. x is
/// read row after row.
WK_INLINE void wk_transpose(size_t rows, size_t cols, const float *x, size_t row_x, float *y,
                            size_t row_y)
{
    size_t r = 0, even = cols / 8 * 8;
    for (; r + 8 <= rows; r += 8) {
        for (size_t c = 0; c < even; c += 8)
            wk_transpose_8x8(x + r * row_x + c, row_x, y + c * row_y + r, row_y);
        for (size_t c = even; c < cols; c++)
            for (size_t k = r; k < r + 8; k++)
                y[c * row_y + k] = x[k * row_x + c];
    }
    for (; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            y[c * row_y + r] = x[r * row_x + c];
}

/// As wk_transpose, with y written row after row.
WK_INLINE void wk_transpose_by_columns(size_t rows, size_t cols, const float *x, size_t row_x,
                                       float *y, size_t row_y)
{
    size_t c = 0, even = rows / 8 * 8;
    for (; c + 8 <= cols; c += 8) {
        for (size_t r = 0; r < even; r += 8)
            wk_transpose_8x8(x + r * row_x + c, row_x, y + c * row_y + r, row_y);
        for (size_t r = even; r < rows; r++)
            for (size_t k = c; k < c + 8; k++)
                y[k * row_y + r] = x[r * row_x + k];
    }
    for (; c < cols; c++)
        for (size_t r = 0; r < rows; r++)
            y[c * row_y + r] = x[r * row_x + c];
}

#endif
