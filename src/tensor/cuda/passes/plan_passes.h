// What the CUDA backend decides about a plan before its tensors are placed, on the host.
#ifndef WK_TENSOR_CUDA_PASSES_PLAN_PASSES_H
#define WK_TENSOR_CUDA_PASSES_PLAN_PASSES_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/plan.h"

/// The groups of a plan, unrolled recurrences (recurrence.h) that run as one kernel each; its lazy
/// nodes; and its streams and order (tensor/schedule.h).
wk_status wk_cuda_choose_schedule(const wk_cuda_limits *limits, wk_plan *plan, wk_error *err);
/// The formats of its results.
wk_status wk_cuda_choose_formats(const wk_cuda_limits *limits, wk_plan *plan, wk_error *err);

#endif
