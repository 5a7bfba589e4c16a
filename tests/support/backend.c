#include "support/backend.h"

#include "tensor/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need_gpu(void)
{
    if (wk_cuda_device_count() > 0) return;
    printf("skipped: no GPU\n");
    exit(TEST_SKIPPED);
}

wk_status test_cuda_create(bool bf16, wk_backend **out, wk_error *err)
{
    need_gpu();
    return wk_backend_cuda_create(0, bf16 ? WK_CUDA_BF16 : WK_CUDA_F32, out, err);
}

wk_status test_backend_create(wk_pool *pool, wk_backend **out, wk_error *err)
{
    const char *device = getenv("WAKER_TEST_DEVICE");
    if (!device || strcmp(device, "cpu") == 0) return wk_backend_cpu_create(pool, out, err);
    if (strcmp(device, "cuda") == 0) return test_cuda_create(false, out, err);
    if (strcmp(device, "cuda-bf16") == 0) return test_cuda_create(true, out, err);
    return wk_fail(err, WK_E_INPUT, "WAKER_TEST_DEVICE is cpu, cuda or cuda-bf16, not '%s'",
                   device);
}

wk_status test_population_create(wk_pool *pool, int count, wk_backend **out, wk_error *err)
{
    const char *device = getenv("WAKER_TEST_DEVICE");
    if (device && strncmp(device, "cuda", 4) == 0) {
        need_gpu();
        bool bf16 = strcmp(device, "cuda-bf16") == 0;
        return wk_backend_cuda_create_population(0, bf16 ? WK_CUDA_BF16 : WK_CUDA_F32, count, out,
                                                 err);
    }
    WK_TRY(test_backend_create(pool, &out[0], err));
    for (int r = 1; r < count; r++)
        out[r] = out[0];
    return WK_OK;
}

void test_population_destroy(wk_backend *const *backends, int count)
{
    for (int r = count - 1; r >= 0; r--)
        if (r == 0 || backends[r] != backends[0]) wk_backend_destroy(backends[r]);
}
