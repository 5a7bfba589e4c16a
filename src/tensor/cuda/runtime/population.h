// Where the members of a population lie. Each member has a range of addresses of its own, and all
// make their buffers in the same order, so that member r has everything at the first member's
// address plus r strides: one launch serves them all, a layer of blocks (blockIdx.z) for each.
#ifndef WK_TENSOR_CUDA_RUNTIME_POPULATION_H
#define WK_TENSOR_CUDA_RUNTIME_POPULATION_H

#include <stddef.h>

/// From member to member, in bytes: more memory than a device has, and less than the 2^40 that a
/// dimension of a tensor map may step over.
enum { WK_MEMBER_SHIFT = 37 };
static const size_t WK_MEMBER_STRIDE = (size_t)1 << WK_MEMBER_SHIFT;

#endif
