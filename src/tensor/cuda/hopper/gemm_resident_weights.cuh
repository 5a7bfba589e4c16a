// GEMM of gemm.cuh for small weights, which stay resident in shared memory.
#ifndef WK_TENSOR_CUDA_HOPPER_GEMM_RESIDENT_WEIGHTS_CUH
#define WK_TENSOR_CUDA_HOPPER_GEMM_RESIDENT_WEIGHTS_CUH

#include "tensor/cuda/hopper/gemm.cuh"

/// Whether a product whose operands the kernels of gemm.cuh can read has few enough terms and
/// columns for resident weights, and a result in bf16 alone.
bool wk_hopper_fits_resident(const wk_hopper_product *p);

/// Puts such a product on the stream; false, having done nothing, where addresses do not allow it.
bool wk_hopper_multiply_resident(const wk_cuda_call *c, const wk_hopper_product *p);

#endif
