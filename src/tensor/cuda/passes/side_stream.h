// Work that nothing waits for until the end of a backward pass, or at all: gradients of weights,
// which only the optimiser reads or which are stored for that of another graph, and its steps on
// weights that nothing reads any more. Put aside
// on a branch, they run beside the chain of gradients that goes on through the layers, and fill the
// processors that its small kernels and recurrences leave free.
#ifndef WK_TENSOR_CUDA_PASSES_SIDE_STREAM_H
#define WK_TENSOR_CUDA_PASSES_SIDE_STREAM_H

#include "tensor/plan.h"

/// Gives such steps of branch 0 that are in no group to `branch`, which has no others, and moves
/// them up to where they can run. Returns how many there are, -1 when memory ran out.
int wk_plan_defer_weight_grads(wk_plan *plan, int branch);

#endif
