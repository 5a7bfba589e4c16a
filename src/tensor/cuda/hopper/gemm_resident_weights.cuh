// GEMM of gemm.cuh for small weights, which stay resident in shared memory.
#ifndef WK_TENSOR_CUDA_HOPPER_GEMM_RESIDENT_WEIGHTS_CUH
#define WK_TENSOR_CUDA_HOPPER_GEMM_RESIDENT_WEIGHTS_CUH

#include "tensor/cuda/hopper/gemm.cuh"

/// Launches a product of few terms and columns with a result in bf16 alone; as
/// wk_hopper_multiply.
bool wk_hopper_multiply_resident(const wk_cuda_call *c, const wk_hopper_product *p);

#endif
