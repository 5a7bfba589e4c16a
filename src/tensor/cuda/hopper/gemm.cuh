// GEMM for compute capability 9.0: wgmma on tiles that TMA copies to shared memory. The epilogue
// (bias, activation, slope, sums) runs while the result is in registers, instead of as another pass
// over memory.
#ifndef WK_TENSOR_CUDA_HOPPER_GEMM_CUH
#define WK_TENSOR_CUDA_HOPPER_GEMM_CUH

#include "tensor/cuda/runtime/device.cuh"

/// A pair of bf16 operands: a [m,k] and b [k,n], or b [n,k] when transposed, row-major. `row_*` is
/// the distance of rows and `stride_*` of matrices in elements; stride 0 shares a matrix.
typedef struct wk_hopper_term {
    wk_ptr<const __nv_bfloat16> a, b;
    size_t k, row_a, row_b, stride_a, stride_b;
} wk_hopper_term;

enum { WK_HOPPER_SUMMED = 16 };

/// out[s] = act(sum over terms of a[s] b[s] + bias[s] + add[s]) * slope(y[s]), s < stacks, each
/// part optional. With `reduce` the products of the only term are summed over the stack.
typedef struct wk_hopper_product {
    size_t stacks, m, n;
    wk_hopper_term term[2];
    int terms;
    bool transpose_b, reduce;
    wk_ptr<const float> bias;
    size_t stride_bias;
    wk_ptr<const float> add;
    wk_activation activation; // WK_IDENTITY or WK_ELU
    wk_in y;                  // both NULL: no slope
    wk_activation slope;      // WK_IDENTITY or WK_ELU, of y
    wk_out out;
    wk_ptr<float> sums; // if not NULL, the column sums of every WK_HOPPER_SUMMED rows of each
                        // matrix: only with b transposed, slopes of bf16 numbers, the result in
                        // bf16 alone, nothing else, and weights that are not resident
    wk_gemm_tile tile;
} wk_hopper_product;

/// Launches the product, which has what the guard of fusion.c asks for: operands and results at 16
/// bytes, and few terms and columns for resident weights. False, having done nothing, where the
/// driver makes no tensor map.
bool wk_hopper_multiply(const wk_cuda_call *c, const wk_hopper_product *p);

#endif
