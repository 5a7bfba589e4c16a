#include "run/setup/device.h"

#include "tensor/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status choose_cpu(const char *precision, wk_device *out, wk_error *err)
{
    if (strcmp(precision, "bf16") == 0)
        return wk_fail(
            err, WK_E_UNSUPPORTED,
            "precision bf16 needs a GPU and this run is on the CPU (%s); use precision f32",
            out->why);
    out->number = -1;
    out->bf16 = false;
    snprintf(out->name, sizeof out->name, "cpu");
    return WK_OK;
}

static wk_status choose_cuda(int number, const char *precision, wk_device *out, wk_error *err)
{
    wk_cuda_device found;
    WK_TRY(wk_cuda_device_describe(number, &found, err));
    out->number = number;
    out->bf16 = strcmp(precision, "f32") != 0;
    snprintf(out->name, sizeof out->name, "cuda:%d (%s, %s)", number, found.name,
             out->bf16 ? "bf16" : "f32");
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

static wk_status choose_automatically(const char *precision, wk_device *out, wk_error *err)
{
    int count = wk_cuda_device_count();
    if (count == 0) {
        snprintf(out->why, sizeof out->why, "device auto, %s", wk_cuda_why_unavailable());
        return choose_cpu(precision, out, err);
    }
    snprintf(out->why, sizeof out->why, "device auto, first of %d GPU%s", count,
             wk_plural((uint64_t)count));
    return choose_cuda(0, precision, out, err);
}

wk_status wk_device_choose(const char *device, const char *precision, wk_device *out, wk_error *err)
{
    if (strcmp(device, "auto") == 0) return choose_automatically(precision, out, err);
    snprintf(out->why, sizeof out->why, "device %.100s was asked for", device);
    if (strcmp(device, "cpu") == 0) return choose_cpu(precision, out, err);
    int number = cuda_number(device);
    if (number < 0)
        return wk_fail(err, WK_E_INPUT, "device '%s': use auto, cpu, cuda or cuda:N", device);
    return choose_cuda(number, precision, out, err);
}

wk_status wk_device_open(const char *device, const char *precision, wk_pool *pool, wk_backend **out,
                         wk_device *chosen, wk_error *err)
{
    return wk_device_open_population(device, precision, 1, pool, out, chosen, err);
}

wk_status wk_device_open_population(const char *device, const char *precision, int count,
                                    wk_pool *pool, wk_backend **out, wk_device *chosen,
                                    wk_error *err)
{
    WK_TRY(wk_device_choose(device, precision, chosen, err));
    wk_cuda_precision products = chosen->bf16 ? WK_CUDA_BF16 : WK_CUDA_F32;
    if (chosen->number >= 0 && count > 1)
        return wk_backend_cuda_create_population(chosen->number, products, count, out, err);
    if (chosen->number >= 0) return wk_backend_cuda_create(chosen->number, products, out, err);
    WK_TRY(wk_backend_cpu_create(pool, &out[0], err));
    for (int r = 1; r < count; r++)
        out[r] = out[0];
    return WK_OK;
}

void wk_device_close_population(wk_backend *const *backends, int count)
{
    for (int r = count - 1; r >= 0; r--)
        if (r == 0 || backends[r] != backends[0]) wk_backend_destroy(backends[r]);
}
