// Memory of a population (population.h): a reserved range of addresses for each member, into which
// device memory is mapped as buffers are made.
#ifndef WK_TENSOR_CUDA_RUNTIME_POPULATION_CUH
#define WK_TENSOR_CUDA_RUNTIME_POPULATION_CUH

extern "C" {
#include "waker/error.h"
}
#include "tensor/cuda/runtime/population.h"

#include <cuda_runtime.h>

typedef struct wk_cuda_population wk_cuda_population;

/// Reserves addresses for `count` members on the chosen device. It has so many owners, and is gone
/// with the last.
wk_status wk_population_create(int device, int count, wk_cuda_population **out, wk_error *err);
void wk_population_release(wk_cuda_population *population);

/// Memory at the same offset of members first ... first+count-1, and its address in the first.
cudaError_t wk_population_alloc(wk_cuda_population *population, int first, int count, size_t size,
                                void **out);
/// Frees a member's memory, by its address there.
void wk_population_free(wk_cuda_population *population, int member, void *memory);

#endif
