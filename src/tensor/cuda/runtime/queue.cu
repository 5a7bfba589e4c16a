// Queues are CUDA streams, events are CUDA events, and pinned memory is page-locked. The device
// reads the list of a gather directly from the host: it is a few kilobytes and read once.
#include "tensor/cuda/runtime/backend.cuh"

#include <stdlib.h>
#include <string.h>

typedef struct cuda_queue {
    wk_queue base;
    cudaStream_t stream;
} cuda_queue;

typedef struct cuda_event {
    wk_event base;
    cudaEvent_t event;
} cuda_event;

static cudaStream_t stream_of(const wk_queue *queue)
{
    return ((const cuda_queue *)queue)->stream;
}

static cudaEvent_t event_of(const wk_event *event)
{
    return ((const cuda_event *)event)->event;
}

static wk_status choose(const wk_backend *base, wk_error *err)
{
    return wk_cuda_fail(cudaSetDevice(((const wk_cuda_backend *)base)->device),
                        "choosing the device", err);
}

wk_status wk_cuda_make_stream(wk_cuda_priority priority, cudaStream_t *out, wk_error *err)
{
    int least = 0, greatest = 0;
    TRY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for the device");
    int level = least + (greatest - least) * (int)priority / WK_CUDA_PRIORITY_HIGH;
    return wk_cuda_fail(cudaStreamCreateWithPriority(out, cudaStreamNonBlocking, level),
                        "making a stream", err);
}

static wk_status create(wk_backend *backend, bool high_priority, wk_queue **out, wk_error *err)
{
    WK_TRY(choose(backend, err));
    cuda_queue *queue = (cuda_queue *)calloc(1, sizeof *queue);
    if (!queue) return wk_fail(err, WK_E_MEMORY, "no memory for a queue");
    queue->base.backend = backend;
    wk_status status = wk_cuda_make_stream(
        high_priority ? WK_CUDA_PRIORITY_HIGH : WK_CUDA_PRIORITY_NORMAL, &queue->stream, err);
    if (status != WK_OK) {
        free(queue);
        return status;
    }
    *out = &queue->base;
    return WK_OK;
}

static void destroy(wk_queue *queue)
{
    wk_error ignored = {};
    (void)choose(queue->backend, &ignored);
    (void)cudaStreamSynchronize(stream_of(queue));
    (void)cudaStreamDestroy(stream_of(queue));
    free(queue);
}

static wk_status upload(wk_queue *queue, wk_buffer *buffer, size_t offset, const void *bytes,
                        size_t size, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    return wk_cuda_fail(cudaMemcpyAsync((char *)buffer->address + offset, bytes, size,
                                        cudaMemcpyHostToDevice, stream_of(queue)),
                        "copying to the device", err);
}

static wk_status download(wk_queue *queue, const wk_buffer *buffer, size_t offset, void *bytes,
                          size_t size, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    return wk_cuda_fail(cudaMemcpyAsync(bytes, (const char *)buffer->address + offset, size,
                                        cudaMemcpyDeviceToHost, stream_of(queue)),
                        "copying from the device", err);
}

static wk_status copy(wk_queue *queue, const wk_copy *c, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    return wk_cuda_fail(wk_cuda_enqueue_copy(c, stream_of(queue)), "copying on the device", err);
}

// One block for each row.
__global__ static void gather_kernel(uint4 *to, const uint4 *const *rows, unsigned chunks)
{
    const uint4 *from = rows[blockIdx.x];
    uint4 *out = to + (size_t)blockIdx.x * chunks;
    for (unsigned i = threadIdx.x; i < chunks; i += blockDim.x)
        out[i] = from[i];
}

static wk_status gather(wk_queue *queue, const wk_gather *g, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    if (g->count == 0) return WK_OK;
    gather_kernel<<<(unsigned)g->count, 256, 0, stream_of(queue)>>>(
        (uint4 *)((char *)g->to->address + g->offset), (const uint4 *const *)g->rows,
        (unsigned)(g->row / sizeof(uint4)));
    return wk_cuda_fail(cudaGetLastError(), "gathering rows", err);
}

static wk_status run(wk_queue *queue, wk_executable *e, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    return wk_cuda_fail(cudaGraphLaunch(e->graph, stream_of(queue)), "starting a graph", err);
}

static wk_status event_create(wk_backend *backend, wk_event **out, wk_error *err)
{
    WK_TRY(choose(backend, err));
    cuda_event *event = (cuda_event *)calloc(1, sizeof *event);
    if (!event) return wk_fail(err, WK_E_MEMORY, "no memory for an event");
    event->base.backend = backend;
    cudaError_t error = cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming);
    if (error) {
        free(event);
        return wk_cuda_fail(error, "making an event", err);
    }
    *out = &event->base;
    return WK_OK;
}

static void event_destroy(wk_event *event)
{
    (void)cudaEventDestroy(event_of(event));
    free(event);
}

static wk_status enqueue_event(wk_queue *queue, wk_event *event, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    return wk_cuda_fail(cudaEventRecord(event_of(event), stream_of(queue)), "marking a queue", err);
}

// Captured, the event becomes a node of its own, for streams outside the graph; errors are found
// with those of kernels.
void wk_cuda_call_mark(const wk_cuda_call *c)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    (void)cudaStreamIsCapturing(c->stream, &status);
    bool captured = status == cudaStreamCaptureStatusActive;
    (void)cudaEventRecordWithFlags(event_of(c->node->attrs.event), c->stream,
                                   captured ? cudaEventRecordExternal : cudaEventRecordDefault);
}

static wk_status after(wk_queue *queue, const wk_event *event, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    return wk_cuda_fail(cudaStreamWaitEvent(stream_of(queue), event_of(event), 0),
                        "waiting for another queue", err);
}

static wk_status wait(const wk_event *event, wk_error *err)
{
    return wk_cuda_fail(cudaEventSynchronize(event_of(event)), "running", err);
}

static wk_status drain(wk_queue *queue, wk_error *err)
{
    return wk_cuda_fail(cudaStreamSynchronize(stream_of(queue)), "running", err);
}

static wk_status pinned_create(wk_backend *backend, size_t size, void **out, wk_error *err)
{
    WK_TRY(choose(backend, err));
    *out = NULL;
    cudaError_t error = cudaMallocHost(out, size ? size : 1);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return wk_fail(err, WK_E_MEMORY,
                       "the system has no %zu KiB of page-locked memory for transfers to the GPU",
                       size >> 10);
    }
    TRY_CUDA(error, "allocating pinned memory");
    memset(*out, 0, size);
    return WK_OK;
}

static void pinned_destroy(wk_backend *backend, void *memory)
{
    wk_error ignored = {};
    (void)choose(backend, &ignored);
    (void)cudaFreeHost(memory);
}

const wk_queue_vtable wk_cuda_queues = {
    create, destroy, upload,       download,      copy,
    gather, run,     event_create, event_destroy, enqueue_event,
    after,  wait,    drain,        pinned_create, pinned_destroy,
};
