// Which results exist in float32, which in bf16, and which in both. A matrix product reads bf16;
// what only products and kernels that can read bf16 read is never written in float32, which halves
// the bytes of every pass over it, and the memory it takes.
#ifndef WK_TENSOR_CUDA_PASSES_FORMATS_H
#define WK_TENSOR_CUDA_PASSES_FORMATS_H

#include "tensor/plan.h"

/// Inputs of a node that may exist in bf16 alone; those beyond exist in float32.
enum { WK_FORMAT_INPUTS_MAX = 32 };

/// Chooses the forms of a plan whose groups, lazy nodes and joins are there, for products in bf16.
/// False when memory ran out.
bool wk_plan_choose_formats(wk_plan *plan);

#endif
