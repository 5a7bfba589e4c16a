// Queues are CUDA streams, events are CUDA events, and pinned memory is page-locked. The device
// reads the list of a gather, and small uploads, directly from the host: a few kilobytes, read
// once.
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

// Many transfers are one kernel, with a block for a part of each: a population has several for each
// member, and each on its own takes the host and the device some microseconds, however small it is.
enum { LIST_MAX = 128, LIST_THREADS = 256 };
typedef struct copy_list {
    struct {
        char *to;
        const char *from;
        size_t size;
    } item[LIST_MAX];
} copy_list;

template <class T> static __device__ void copy_units(char *to, const char *from, size_t size)
{
    size_t step = (size_t)gridDim.x * LIST_THREADS;
    for (size_t i = blockIdx.x * LIST_THREADS + threadIdx.x; i < size / sizeof(T); i += step)
        ((T *)to)[i] = ((const T *)from)[i];
}

__global__ static void copy_kernel(const copy_list list)
{
    char *to = list.item[blockIdx.y].to;
    const char *from = list.item[blockIdx.y].from;
    size_t size = list.item[blockIdx.y].size, unit = (size_t)to | (size_t)from | size;
    if (unit % sizeof(uint4) == 0)
        copy_units<uint4>(to, from, size);
    else if (unit % sizeof(float) == 0)
        copy_units<float>(to, from, size);
    else
        copy_units<char>(to, from, size);
}

static void add_copy(copy_list *list, unsigned i, void *to, const void *from, size_t size)
{
    list->item[i].to = (char *)to;
    list->item[i].from = (const char *)from;
    list->item[i].size = size;
}

static cudaError_t copy_all(const copy_list *list, unsigned count, cudaStream_t stream)
{
    enum { BLOCK_BYTES = 4 * LIST_THREADS * sizeof(uint4), BLOCKS_MAX = 256 };
    size_t largest = 1;
    for (unsigned i = 0; i < count; i++)
        if (list->item[i].size > largest) largest = list->item[i].size;
    size_t blocks = (largest + BLOCK_BYTES - 1) / BLOCK_BYTES;
    dim3 grid((unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX), count);
    copy_kernel<<<grid, LIST_THREADS, 0, stream>>>(*list);
    return cudaGetLastError();
}

// Items of the list that begins with item i.
static unsigned list_count(size_t count, size_t i)
{
    return (unsigned)(count - i < LIST_MAX ? count - i : LIST_MAX);
}

static wk_status copy(wk_queue *queue, const wk_copy *copies, size_t count, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    if (count == 1)
        return wk_cuda_fail(wk_cuda_enqueue_copy(copies, stream_of(queue)), "copying on the device",
                            err);
    for (size_t i = 0; i < count; i += LIST_MAX) {
        copy_list list = {};
        for (unsigned k = 0; k < list_count(count, i); k++) {
            const wk_copy *c = &copies[i + k];
            add_copy(&list, k, (char *)c->to->address + c->to_offset,
                     (const char *)c->from->address + c->from_offset, c->size);
        }
        WK_TRY(wk_cuda_fail(copy_all(&list, list_count(count, i), stream_of(queue)),
                            "copying on the device", err));
    }
    return WK_OK;
}

static wk_status upload_pinned(wk_queue *queue, const wk_upload *uploads, size_t count,
                               wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    for (size_t i = 0; i < count; i += LIST_MAX) {
        copy_list list = {};
        for (unsigned k = 0; k < list_count(count, i); k++) {
            const wk_upload *u = &uploads[i + k];
            add_copy(&list, k, (char *)u->to->address + u->offset, u->bytes, u->size);
        }
        WK_TRY(wk_cuda_fail(copy_all(&list, list_count(count, i), stream_of(queue)),
                            "copying to the device", err));
    }
    return WK_OK;
}

typedef struct gather_list {
    struct {
        uint4 *to;
        const uint4 *const *rows;
        unsigned count, chunks;
    } item[LIST_MAX];
} gather_list;

// One block for each row.
__global__ static void gather_kernel(const gather_list list)
{
    unsigned chunks = list.item[blockIdx.y].chunks;
    if (blockIdx.x >= list.item[blockIdx.y].count) return;
    const uint4 *from = list.item[blockIdx.y].rows[blockIdx.x];
    uint4 *out = list.item[blockIdx.y].to + (size_t)blockIdx.x * chunks;
    for (unsigned i = threadIdx.x; i < chunks; i += LIST_THREADS)
        out[i] = from[i];
}

static wk_status gather(wk_queue *queue, const wk_gather *gathers, size_t count, wk_error *err)
{
    WK_TRY(choose(queue->backend, err));
    for (size_t i = 0; i < count; i += LIST_MAX) {
        gather_list list = {};
        unsigned max_rows = 0;
        for (unsigned k = 0; k < list_count(count, i); k++) {
            const wk_gather *g = &gathers[i + k];
            list.item[k].to = (uint4 *)((char *)g->to->address + g->offset);
            list.item[k].rows = (const uint4 *const *)g->rows;
            list.item[k].count = (unsigned)g->count;
            list.item[k].chunks = (unsigned)(g->row / sizeof(uint4));
            if (g->count > max_rows) max_rows = (unsigned)g->count;
        }
        if (max_rows == 0) continue;
        gather_kernel<<<dim3(max_rows, list_count(count, i)), LIST_THREADS, 0, stream_of(queue)>>>(
            list);
        WK_TRY(wk_cuda_fail(cudaGetLastError(), "gathering rows", err));
    }
    return WK_OK;
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
    create, destroy, upload,        download,       copy,          upload_pinned,
    gather, run,     event_create,  event_destroy,  enqueue_event, after,
    wait,   drain,   pinned_create, pinned_destroy,
};
