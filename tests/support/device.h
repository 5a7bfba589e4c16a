// Which device a test runs on. The environment variable WAKER_TEST_DEVICE chooses for programs that
// make their backend here: "cpu", the default, or "cuda", where a machine without a GPU ends the
// program with the exit code that CTest counts as skipped.
#ifndef WK_TESTS_DEVICE_H
#define WK_TESTS_DEVICE_H

#include "tensor/backend.h"
#include "tensor/cuda/cuda.h"

enum { TEST_SKIPPED = 77 };

/// Whether WAKER_TEST_DEVICE asks for a GPU.
bool test_device_is_cuda(void);
/// Ends the program as skipped where there is no GPU.
void test_device_need_cuda(void);
/// The backend that WAKER_TEST_DEVICE asks for, in f32; `pool` as for wk_backend_cpu_create.
wk_status test_backend_create(wk_pool *pool, wk_backend **out, wk_error *err);

#endif
