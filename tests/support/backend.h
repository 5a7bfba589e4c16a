// The backend that tests of the engine run on: the CPU, or what the environment variable
// WAKER_TEST_DEVICE names ("cuda" for the first GPU in float32, "cuda-bf16").
#ifndef WK_TESTS_BACKEND_H
#define WK_TESTS_BACKEND_H

#include "tensor/backend.h"

/// The exit code that CTest counts as skipped.
enum { TEST_SKIPPED = 77 };

/// The first GPU; where there is none, the program ends as skipped.
wk_status test_cuda_create(bool bf16, wk_backend **out, wk_error *err);
/// As wk_backend_cpu_create, on the device that the environment names.
wk_status test_backend_create(wk_pool *pool, wk_backend **out, wk_error *err);

/// Backends for a population of so many programs; on the CPU they are one.
wk_status test_population_create(wk_pool *pool, int count, wk_backend **out, wk_error *err);
void test_population_destroy(wk_backend *const *backends, int count);

#endif
