// The recurrence of recurrence.h as one kernel for all steps, in bf16: forward and backward.
#ifndef WK_TENSOR_CUDA_KERNELS_OBSERVE_CUH
#define WK_TENSOR_CUDA_KERNELS_OBSERVE_CUH

#include "tensor/cuda/runtime/stream_context.cuh"

extern "C" {
#include "tensor/cuda/passes/recurrence.h"
}

/// Launches the kernel. `calls` are those of the recurrence's nodes; bf16 copies of what they wrote
/// before are invalidated.
void wk_cuda_observe(const wk_cuda_call *calls);

#endif
