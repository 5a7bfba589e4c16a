// A backend that plans as the CUDA backend does on an H200 in bf16, and holds no memory: for tests
// of plans that need no GPU.
#ifndef WK_TESTS_PLANNING_H
#define WK_TESTS_PLANNING_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/plan.h"

/// What the backend says of its device. A test may switch parts off, and on again.
extern wk_cuda_limits planning_limits;
/// Buffers have addresses but no memory; programs can be compiled but do nothing.
extern wk_backend planning_backend;

/// Goes through a plan's steps as if they ran, marking the bytes that each result is written to in
/// every form it exists in; fails where a step, or at the end an output, would find other marks
/// than those of what it needs.
void planning_replay(const wk_plan *plan);

/// Microseconds of one run with a plan's order and streams by the costs of tensor/cost.h. Steps
/// wait for the data they read and the memory they reuse; running ones share the processors: stream
/// 0 takes its own first, then the last stream, then the others.
double planning_estimate(const wk_plan *plan);

#endif
