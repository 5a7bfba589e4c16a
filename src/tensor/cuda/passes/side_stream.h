// Work that nothing waits for until the end of a backward pass, or at all: gradients of weights,
// which only the optimiser reads or which are exported to another graph's, and optimiser steps on
// weights that nothing reads again. Deferred to a side stream, they overlap the chain of gradients
// through the layers and fill the multiprocessors that its small kernels and recurrences leave
// idle.
#ifndef WK_TENSOR_CUDA_PASSES_SIDE_STREAM_H
#define WK_TENSOR_CUDA_PASSES_SIDE_STREAM_H

#include "tensor/plan.h"

/// Moves such steps of branch 0 that are in no group to `branch`, which must be empty, and up to
/// where their inputs are ready. Returns how many there are, -1 when memory ran out.
int wk_plan_defer_weight_grads(wk_plan *plan, int branch);

#endif
