// The CUDA backend of a build without CUDA: there are no devices, and asking for one says how to
// get them.
#include "tensor/cuda/cuda.h"

static wk_status refuse(wk_error *err)
{
    return wk_fail(err, WK_E_UNSUPPORTED,
                   "this build has no CUDA backend; use --device cpu, or build with the CUDA "
                   "toolkit on PATH (cmake -DWAKER_CUDA=ON)");
}

int wk_cuda_device_count(void)
{
    return 0;
}

const char *wk_cuda_why_unavailable(void)
{
    return "built without CUDA";
}

wk_status wk_cuda_device_describe(int device, wk_cuda_device *out, wk_error *err)
{
    (void)device;
    (void)out;
    return refuse(err);
}

void wk_backend_cuda_streams(wk_backend *backend, wk_cuda_streams streams)
{
    (void)backend;
    (void)streams;
}

wk_status wk_backend_cuda_switch_off(wk_backend *backend, const char *names, wk_error *err)
{
    (void)backend;
    (void)names;
    return refuse(err);
}

wk_status wk_backend_cuda_create(int device, wk_cuda_precision precision, wk_backend **out,
                                 wk_error *err)
{
    (void)device;
    (void)precision;
    (void)out;
    return refuse(err);
}

wk_status wk_backend_cuda_create_population(int device, wk_cuda_precision precision, int count,
                                            wk_backend **out, wk_error *err)
{
    (void)device;
    (void)precision;
    (void)count;
    (void)out;
    return refuse(err);
}
