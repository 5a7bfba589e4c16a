// Rows turned into columns, four by four.
#ifndef WK_TENSOR_CPU_TURN_H
#define WK_TENSOR_CPU_TURN_H

#include "tensor/cpu/simd.h"

typedef float wk_quad __attribute__((vector_size(16)));

WK_INLINE void wk_turn_quad(const float *x, size_t row_x, float *y, size_t row_y)
{
    wk_quad a, b, c, d;
    memcpy(&a, x, sizeof a);
    memcpy(&b, x + row_x, sizeof b);
    memcpy(&c, x + 2 * row_x, sizeof c);
    memcpy(&d, x + 3 * row_x, sizeof d);
    wk_quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    wk_quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    wk_quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    wk_quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
    memcpy(y, &a, sizeof a);
    memcpy(y + row_y, &b, sizeof b);
    memcpy(y + 2 * row_y, &c, sizeof c);
    memcpy(y + 3 * row_y, &d, sizeof d);
}

/// y[c, r] = x[r, c] for rows x cols numbers, rows of x `row_x` and of y `row_y` floats apart. x is
/// read row after row.
WK_INLINE void wk_turn(size_t rows, size_t cols, const float *x, size_t row_x, float *y,
                       size_t row_y)
{
    size_t r = 0, even = cols / 4 * 4;
    for (; r + 4 <= rows; r += 4) {
        for (size_t c = 0; c < even; c += 4)
            wk_turn_quad(x + r * row_x + c, row_x, y + c * row_y + r, row_y);
        for (size_t c = even; c < cols; c++)
            for (size_t k = r; k < r + 4; k++)
                y[c * row_y + k] = x[k * row_x + c];
    }
    for (; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            y[c * row_y + r] = x[r * row_x + c];
}

/// The same with y written row after row.
WK_INLINE void wk_turn_back(size_t rows, size_t cols, const float *x, size_t row_x, float *y,
                            size_t row_y)
{
    size_t c = 0, even = rows / 4 * 4;
    for (; c + 4 <= cols; c += 4) {
        for (size_t r = 0; r < even; r += 4)
            wk_turn_quad(x + r * row_x + c, row_x, y + c * row_y + r, row_y);
        for (size_t r = even; r < rows; r++)
            for (size_t k = c; k < c + 4; k++)
                y[k * row_y + r] = x[r * row_x + k];
    }
    for (; c < cols; c++)
        for (size_t r = 0; r < rows; r++)
            y[c * row_y + r] = x[r * row_x + c];
}

#endif
