// Products of few rows in bf16.
#ifndef WK_TENSOR_CUDA_SKINNY_CUH
#define WK_TENSOR_CUDA_SKINNY_CUH

#include "tensor/cuda/device.cuh"

enum { WK_SKINNY_ROWS = 16 };

/// out [m,n] = a [m,k] b (+ out), b [k,n] or [n,k]. m is at most WK_SKINNY_ROWS, k and n multiples
/// of 8; the rows of a and b begin at multiples of 4 bytes.
typedef struct wk_cuda_skinny {
    unsigned m, n, k, row_a, row_b;
    size_t stride_a, stride_b, stride_out;
    const __nv_bfloat16 *a, *b;
    float *out;
    bool accumulate;
} wk_cuda_skinny;
void wk_cuda_skinny_gemm(const wk_cuda_call *c, const wk_cuda_skinny *p, bool transpose_b,
                         unsigned stacks);

#endif
