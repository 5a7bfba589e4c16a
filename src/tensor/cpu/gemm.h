// The only calls into the BLAS, shared by the matrix products and the convolutions.
#ifndef WK_TENSOR_CPU_GEMM_H
#define WK_TENSOR_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>

/// Makes the BLAS single-threaded; call before wk_gemm, from any thread, any number of times.
void wk_gemm_init(void);

/// c [m,n] = or += op(a) op(b) in the calling thread; no extent is 0, rows are `row_x` elements
/// apart.
void wk_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a,
             size_t row_a, const float *b, size_t row_b, bool accumulate, float *c, size_t row_c);

#endif
