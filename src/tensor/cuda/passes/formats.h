// The format of every result: float32, bf16, or both. Matrix products read bf16; a result that is
// read only by products and kernels that can read bf16 is never written in float32, which halves
// its memory and the bytes of every pass over it.
#ifndef WK_TENSOR_CUDA_PASSES_FORMATS_H
#define WK_TENSOR_CUDA_PASSES_FORMATS_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/plan.h"

/// Chooses the formats of a plan, after its groups, lazy nodes and joins, for products in bf16.
/// False when memory ran out.
bool wk_plan_choose_formats(wk_plan *plan, const wk_cuda_limits *limits);

#endif
