// Device memory and transfers. Host bytes go through pinned memory in pieces, on a stream of their
// own; copies between buffers stay on the device.
#include "tensor/cuda/runtime/backend.cuh"

#include <stdlib.h>
#include <string.h>

static wk_status check_alloc(cudaError_t error, size_t size, wk_error *err)
{
    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0, total = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&available, &total);
        return wk_fail(err, WK_E_MEMORY,
                       "the GPU has %zu of %zu MiB free, but a buffer of %zu MiB is needed; use "
                       "smaller sizes or a smaller batch, or another device",
                       available >> 20, total >> 20, size >> 20);
    }
    return wk_cuda_fail(error, "allocating device memory", err);
}

wk_status wk_cuda_alloc(wk_cuda_backend *backend, size_t size, void **out, wk_error *err)
{
    WK_TRY(check_alloc(cudaMalloc(out, size ? size : 1), size, err));
    backend->allocated += size;
    return WK_OK;
}

void wk_cuda_free(wk_cuda_backend *backend, size_t size, void *memory)
{
    if (!memory) return;
    (void)cudaFree(memory);
    backend->allocated -= size;
}

wk_status wk_cuda_alloc_members(wk_cuda_backend *backend, int members, size_t size, void **out,
                                wk_error *err)
{
    wk_cuda_population *population = backend->population;
    if (!population) return wk_cuda_alloc(backend, size, out, err);
    WK_TRY(check_alloc(wk_population_alloc(population, backend->member, members, size, out),
                       size * (size_t)members, err));
    backend->allocated += size * (size_t)members;
    return WK_OK;
}

void wk_cuda_free_members(wk_cuda_backend *backend, int members, size_t size, void *memory)
{
    if (!memory) return;
    if (!backend->population) {
        wk_cuda_free(backend, size, memory);
        return;
    }
    for (int i = 0; i < members; i++)
        wk_population_free(backend->population, backend->member + i,
                           (char *)memory + (size_t)i * WK_MEMBER_STRIDE);
    backend->allocated -= size * (size_t)members;
}

size_t wk_cuda_allocated(const wk_backend *base)
{
    return ((const wk_cuda_backend *)base)->allocated;
}

wk_memory_info wk_cuda_memory_info(const wk_backend *base)
{
    const wk_cuda_backend *backend = (const wk_cuda_backend *)base;
    wk_memory_info info = {0, 0, WK_CUDA_WORKSPACE, backend->precision == WK_CUDA_BF16};
    (void)cudaSetDevice(backend->device);
    if (cudaMemGetInfo(&info.free, &info.total) != cudaSuccess) info.total = 0;
    return info;
}

size_t wk_cuda_shadow_size(const wk_buffer *buffer)
{
    return buffer->size / 2 + WK_CUDA_ALIGNMENT;
}

static wk_status clear(wk_cuda_backend *backend, void *address, size_t size, wk_error *err)
{
    TRY_CUDA(cudaMemsetAsync(address, 0, size, backend->stream), "clearing device memory");
    TRY_CUDA(cudaStreamSynchronize(backend->stream), "clearing device memory");
    return WK_OK;
}

wk_status wk_cuda_buffer_create(wk_backend *base, size_t size, wk_buffer **out, wk_error *err)
{
    wk_cuda_backend *backend = (wk_cuda_backend *)base;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    void *address = NULL;
    WK_TRY(wk_cuda_alloc_members(backend, 1, size, &address, err));
    wk_status status = clear(backend, address, size, err);
    wk_cuda_buffer *buffer = status == WK_OK ? (wk_cuda_buffer *)calloc(1, sizeof *buffer) : NULL;
    if (!buffer) {
        wk_cuda_free_members(backend, 1, size, address);
        return status == WK_OK ? wk_fail(err, WK_E_MEMORY, "no memory for a buffer") : status;
    }
    buffer->base.backend = base;
    buffer->base.size = size;
    buffer->base.address = address;
    *out = &buffer->base;
    return WK_OK;
}

void wk_cuda_buffer_destroy(wk_buffer *buffer)
{
    wk_cuda_backend *backend = (wk_cuda_backend *)buffer->backend;
    (void)cudaSetDevice(backend->device);
    wk_cuda_free_members(backend, 1, wk_cuda_shadow_size(buffer),
                         ((wk_cuda_buffer *)buffer)->shadow);
    wk_cuda_free_members(backend, 1, buffer->size, buffer->address);
    free(buffer);
}

// Pieces go through the two halves of the pinned memory in turn: while one is on its way, the host
// fills the other.
static cudaError_t send(wk_cuda_backend *backend, char *to, const char *bytes, size_t size)
{
    cudaError_t error = cudaSuccess;
    for (int half = 0; size > 0 && !error; half = !half) {
        size_t piece = size < WK_CUDA_STAGING / 2 ? size : WK_CUDA_STAGING / 2;
        char *staging = backend->staging + half * (WK_CUDA_STAGING / 2);
        error = cudaEventSynchronize(backend->sent[half]);
        memcpy(staging, bytes, piece);
        if (!error)
            error = cudaMemcpyAsync(to, staging, piece, cudaMemcpyHostToDevice, backend->stream);
        if (!error) error = cudaEventRecord(backend->sent[half], backend->stream);
        to += piece;
        bytes += piece;
        size -= piece;
    }
    return error ? error : cudaStreamSynchronize(backend->stream);
}

static cudaError_t receive(wk_cuda_backend *backend, char *bytes, const char *from, size_t size)
{
    cudaError_t error = cudaSuccess;
    while (size > 0 && !error) {
        size_t piece = size < WK_CUDA_STAGING ? size : WK_CUDA_STAGING;
        error =
            cudaMemcpyAsync(backend->staging, from, piece, cudaMemcpyDeviceToHost, backend->stream);
        if (!error) error = cudaStreamSynchronize(backend->stream);
        if (!error) memcpy(bytes, backend->staging, piece);
        bytes += piece;
        from += piece;
        size -= piece;
    }
    return error;
}

wk_status wk_cuda_upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                         wk_error *err)
{
    wk_cuda_backend *backend = (wk_cuda_backend *)buffer->backend;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    pthread_mutex_lock(&backend->transfer);
    cudaError_t error = send(backend, (char *)buffer->address + offset, (const char *)bytes, size);
    pthread_mutex_unlock(&backend->transfer);
    return wk_cuda_fail(error, "copying to the device", err);
}

wk_status wk_cuda_download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                           wk_error *err)
{
    wk_cuda_backend *backend = (wk_cuda_backend *)buffer->backend;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    pthread_mutex_lock(&backend->transfer);
    cudaError_t error =
        receive(backend, (char *)bytes, (const char *)buffer->address + offset, size);
    pthread_mutex_unlock(&backend->transfer);
    return wk_cuda_fail(error, "copying from the device", err);
}

cudaError_t wk_cuda_enqueue_copy(const wk_copy *c, cudaStream_t stream)
{
    return cudaMemcpyAsync((char *)c->to->address + c->to_offset,
                           (const char *)c->from->address + c->from_offset, c->size,
                           cudaMemcpyDeviceToDevice, stream);
}

wk_status wk_cuda_copy(const wk_copy *c, wk_error *err)
{
    wk_cuda_backend *backend = (wk_cuda_backend *)c->to->backend;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    TRY_CUDA(wk_cuda_enqueue_copy(c, backend->stream), "copying on the device");
    return wk_cuda_fail(cudaStreamSynchronize(backend->stream), "copying on the device", err);
}
