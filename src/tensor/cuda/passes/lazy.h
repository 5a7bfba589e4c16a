// Sums and slices that are never written: their one kind of reader, a kernel that takes its input
// as terms (wk_call_terms), adds up the parts where they lie.
#ifndef WK_TENSOR_CUDA_PASSES_LAZY_H
#define WK_TENSOR_CUDA_PASSES_LAZY_H

#include "tensor/plan.h"

/// Terms that an input is the sum of, at most.
enum { WK_TERMS = 6 };

/// Chooses the lazy nodes of a plan whose groups are there; false when memory ran out.
bool wk_plan_find_lazy(wk_plan *plan);

#endif
