// A backend that plans as the CUDA backend does on an H200 in bf16, and holds no memory: for tests of
// plans that need no GPU.
#ifndef WK_TESTS_PLANNING_H
#define WK_TESTS_PLANNING_H

#include "tensor/plan.h"

/// Buffers have addresses but no memory; programs can be compiled but do nothing.
extern wk_backend planning_backend;

#endif
