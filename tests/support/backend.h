// The backend that tests of the engine run on: the CPU, or what the environment variable
// WAKER_TEST_DEVICE names ("cuda" for the first GPU in float32, "cuda-bf16").
#ifndef WK_TESTS_BACKEND_H
#define WK_TESTS_BACKEND_H

#include "tensor/backend.h"

/// As wk_backend_cpu_create, on the device that the environment names.
wk_status test_backend_create(wk_pool *pool, wk_backend **out, wk_error *err);

#endif
