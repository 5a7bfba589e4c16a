// The CUDA backend: devices, and what is made once for each backend. Buffers are in memory.cu,
// executables in executable.cu.
#include "tensor/cuda/runtime/backend.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_status wk_cuda_fail(cudaError_t error, const char *what, wk_error *err)
{
    if (error == cudaSuccess) return WK_OK;
    (void)cudaGetLastError();
    wk_status status = error == cudaErrorMemoryAllocation ? WK_E_MEMORY : WK_E_UNSUPPORTED;
    return wk_fail(err, status, "CUDA: %s: %s (%s)", what, cudaGetErrorString(error),
                   cudaGetErrorName(error));
}

static void destroy(wk_backend *base)
{
    wk_cuda_backend *backend = (wk_cuda_backend *)base;
    (void)cudaSetDevice(backend->device);
    for (int i = 0; i < 2; i++)
        if (backend->sent[i]) (void)cudaEventDestroy(backend->sent[i]);
    if (backend->stream) (void)cudaStreamDestroy(backend->stream);
    (void)cudaFreeHost(backend->staging);
    pthread_mutex_destroy(&backend->transfer);
    if (backend->population) wk_population_release(backend->population);
    free(backend);
}

static wk_status choose_schedule(const wk_backend *base, wk_plan *plan, wk_error *err)
{
    return wk_cuda_choose_schedule(&((const wk_cuda_backend *)base)->limits, plan, err);
}

static wk_status choose_formats(const wk_backend *base, wk_plan *plan, wk_error *err)
{
    return wk_cuda_choose_formats(&((const wk_cuda_backend *)base)->limits, plan, err);
}

static const wk_backend_vtable cuda_vtable = {
    "cuda",
    destroy,
    wk_cuda_buffer_create,
    wk_cuda_buffer_destroy,
    wk_cuda_upload,
    wk_cuda_download,
    choose_schedule,
    choose_formats,
    wk_cuda_compile,
    wk_cuda_run,
    wk_cuda_copy,
    wk_cuda_executable_destroy,
    wk_cuda_allocated,
    wk_cuda_memory_info,
    &wk_cuda_queues,
};

static wk_status open(wk_cuda_backend *backend, wk_error *err)
{
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    int shared = 0, cache = 0;
    TRY_CUDA(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, backend->device),
        "asking for the device");
    TRY_CUDA(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, backend->device),
             "asking for the device");
    backend->limits.shared_memory = (size_t)shared;
    backend->limits.cache = (size_t)cache;
    TRY_CUDA(cudaStreamCreateWithFlags(&backend->stream, cudaStreamNonBlocking), "making a stream");
    for (int i = 0; i < 2; i++)
        TRY_CUDA(cudaEventCreateWithFlags(&backend->sent[i], cudaEventDisableTiming),
                 "making an event");
    return wk_cuda_fail(cudaMallocHost((void **)&backend->staging, WK_CUDA_STAGING),
                        "allocating pinned memory", err);
}

extern "C" int wk_cuda_device_count(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    (void)cudaGetLastError();
    return 0;
}

static wk_status check_device(int device, wk_error *err)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    (void)cudaGetLastError();
    if (error != cudaSuccess)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "no GPU can be used: %s; check nvidia-smi, or use --device cpu",
                       cudaGetErrorString(error));
    if (device < 0 || device >= count)
        return wk_fail(
            err, WK_E_UNSUPPORTED,
            "there is no GPU %d; this machine has %d (CUDA_VISIBLE_DEVICES may hide some)", device,
            count);
    const char *missing = wk_cublas_missing();
    if (missing)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "there is a GPU, but %s cannot be loaded; install CUDA's libraries, name "
                       "their folder in LD_LIBRARY_PATH, or use --device cpu",
                       missing);
    return WK_OK;
}

extern "C" wk_status wk_cuda_device_describe(int device, wk_cuda_device *out, wk_error *err)
{
    WK_TRY(check_device(device, err));
    cudaDeviceProp properties;
    TRY_CUDA(cudaGetDeviceProperties(&properties, device), "asking for the device");
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", properties.name);
    out->capability = 10 * properties.major + properties.minor;
    out->processors = properties.multiProcessorCount;
    TRY_CUDA(cudaSetDevice(device), "choosing the device");
    return wk_cuda_fail(cudaMemGetInfo(&out->memory_free, &out->memory), "asking for memory", err);
}

extern "C" void wk_backend_cuda_streams(wk_backend *backend, wk_cuda_streams streams)
{
    ((wk_cuda_backend *)backend)->streams = streams;
}

extern "C" wk_status wk_backend_cuda_switch_off(wk_backend *backend, const char *names,
                                                wk_error *err)
{
    return wk_cuda_switch_off(names, &((wk_cuda_backend *)backend)->limits, err);
}

extern "C" wk_status wk_backend_cuda_create(int device, wk_cuda_precision precision,
                                            wk_backend **out, wk_error *err)
{
    wk_cuda_device about;
    WK_TRY(wk_cuda_device_describe(device, &about, err));
    wk_cuda_backend *backend = (wk_cuda_backend *)calloc(1, sizeof *backend);
    if (!backend) return wk_fail(err, WK_E_MEMORY, "no memory for the CUDA backend");
    backend->base.vtable = &cuda_vtable;
    backend->device = device;
    backend->limits.capability = about.capability;
    backend->limits.processors = about.processors;
    backend->limits.members = 1;
    backend->limits.bf16 = precision == WK_CUDA_BF16;
    backend->precision = precision;
    pthread_mutex_init(&backend->transfer, NULL);
    wk_status status = open(backend, err);
    if (status != WK_OK) {
        destroy(&backend->base);
        return status;
    }
    *out = &backend->base;
    return WK_OK;
}

extern "C" wk_status wk_backend_cuda_create_population(int device, wk_cuda_precision precision,
                                                       int count, wk_backend **out, wk_error *err)
{
    wk_status status = WK_OK;
    int made = 0;
    while (status == WK_OK && made < count) {
        status = wk_backend_cuda_create(device, precision, &out[made], err);
        made += status == WK_OK;
    }
    wk_cuda_population *population = NULL;
    if (status == WK_OK && count > 1)
        status = wk_population_create(device, count, &population, err);
    for (int i = 0; i < made; i++) {
        wk_cuda_backend *backend = (wk_cuda_backend *)out[i];
        backend->population = population;
        backend->member = i;
        if (status != WK_OK) destroy(out[i]);
    }
    return status;
}
