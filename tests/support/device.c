#include "support/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool test_device_is_cuda(void)
{
    const char *device = getenv("WAKER_TEST_DEVICE");
    return device && strcmp(device, "cuda") == 0;
}

void test_device_need_cuda(void)
{
    if (wk_cuda_device_count() > 0) return;
    printf("skipped: no GPU\n");
    exit(TEST_SKIPPED);
}

wk_status test_backend_create(wk_pool *pool, wk_backend **out, wk_error *err)
{
    if (!test_device_is_cuda()) return wk_backend_cpu_create(pool, out, err);
    test_device_need_cuda();
    return wk_backend_cuda_create(0, WK_CUDA_F32, out, err);
}
