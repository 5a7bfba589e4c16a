// Sums and slices that are never materialised: their readers, kernels that take an input as terms
// (wk_call_terms), add up the parts in place. So are images, where all readers take bytes
// (wk_call_bytes).
#ifndef WK_TENSOR_CUDA_PASSES_LAZY_H
#define WK_TENSOR_CUDA_PASSES_LAZY_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/plan.h"

/// Maximum terms of an input.
enum { WK_TERMS_MAX = 6 };

/// Chooses the lazy nodes of a plan, after its groups; false when memory ran out.
bool wk_plan_find_lazy(wk_plan *plan, const wk_cuda_limits *limits);

#endif
