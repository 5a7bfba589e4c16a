#include "train/device.h"

#include "tensor/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status open_cpu(const char *precision, wk_pool *pool, wk_backend **out,
                          char name[WK_DEVICE_NAME_MAX], wk_error *err)
{
    if (strcmp(precision, "bf16") == 0)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "precision bf16 needs a GPU and this run is on the CPU; use precision f32");
    snprintf(name, WK_DEVICE_NAME_MAX, "cpu");
    return wk_backend_cpu_create(pool, out, err);
}

static wk_status open_cuda(int number, const char *precision, wk_backend **out,
                           char name[WK_DEVICE_NAME_MAX], wk_error *err)
{
    bool f32 = strcmp(precision, "f32") == 0;
    wk_cuda_device found;
    WK_TRY(wk_backend_cuda_create(number, f32 ? WK_CUDA_F32 : WK_CUDA_BF16, out, err));
    wk_status status = wk_cuda_device_describe(number, &found, err);
    if (status != WK_OK) {
        wk_backend_destroy(*out);
        return status;
    }
    snprintf(name, WK_DEVICE_NAME_MAX, "cuda:%d (%s, %s)", number, found.name,
             f32 ? "f32" : "bf16");
    return WK_OK;
}

// The N of "cuda:N", 0 for "cuda", -1 for anything else.
static int cuda_number(const char *device)
{
    if (strcmp(device, "cuda") == 0) return 0;
    if (strncmp(device, "cuda:", 5) != 0) return -1;
    char *end;
    long number = strtol(device + 5, &end, 10);
    return *end || end == device + 5 || number < 0 || number > 1024 ? -1 : (int)number;
}

wk_status wk_device_open(const char *device, const char *precision, wk_pool *pool, wk_backend **out,
                         char name[WK_DEVICE_NAME_MAX], wk_error *err)
{
    bool automatic = strcmp(device, "auto") == 0;
    if (strcmp(device, "cpu") == 0 || (automatic && wk_cuda_device_count() == 0))
        return open_cpu(precision, pool, out, name, err);
    int number = automatic ? 0 : cuda_number(device);
    if (number < 0)
        return wk_fail(err, WK_E_INPUT, "device '%s': use auto, cpu, cuda or cuda:N", device);
    return open_cuda(number, precision, out, name, err);
}
