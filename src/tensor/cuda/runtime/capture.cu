// Capturing the nodes of an executable into one CUDA graph.
//
// Capturing goes twice over the nodes: the first pass finds out how much scratch memory they ask
// for, and which nodes of one stream must wait for which of another (stream_waits.h); the second
// has the addresses and the waits. Neither runs anything, so compiling leaves the state as it is.
#include "tensor/cuda/runtime/backend.cuh"

#include <stdlib.h>

wk_status wk_cuda_check(const wk_executable *e, wk_error *err)
{
    for (int i = 0; i < WK_STREAMS_MAX; i++) {
        const wk_cuda_stream_context *context = &e->contexts[i];
        if (context->status != CUBLAS_STATUS_SUCCESS)
            return wk_fail(err, WK_E_UNSUPPORTED, "cuBLAS refused a matrix product: %s",
                           cublasGetStatusString(context->status));
        if (context->no_tensor_map)
            return wk_fail(err, WK_E_UNSUPPORTED,
                           "the driver makes no tensor map for a matrix product; update it");
        if (context->failed) return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    }
    return wk_cuda_fail(cudaGetLastError(), "launching a kernel", err);
}

// What the first pass finds out for the second, by step.
typedef struct timetable {
    wk_stream_waits *order; // in the first pass
    wk_vector_clock *waits; // for which steps of other streams each waits
    cudaEvent_t *done;      // of those that are waited for
} timetable;

// Lets all that comes on a stream wait for the end of what it has waited for so far. A kernel that
// is set up early (`programmatic`) would otherwise not wait for the other streams.
static cudaError_t fence(cudaStream_t stream)
{
    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    const cudaGraphNode_t *before;
    cudaGraphNode_t node;
    size_t count = 0;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData *edges;
    cudaError_t error =
        cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &before, &edges, &count);
#else
    cudaError_t error = cudaStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, &before, &count);
#endif
    if (!error) error = cudaGraphAddEmptyNode(&node, graph, before, count);
#if CUDART_VERSION >= 13000
    return error ? error
                 : cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                                       cudaStreamSetCaptureDependencies);
#else
    return error ? error
                 : cudaStreamUpdateCaptureDependencies(stream, &node, 1,
                                                       cudaStreamSetCaptureDependencies);
#endif
}

static wk_status wait_for(const wk_executable *e, const timetable *table, size_t i, wk_error *err)
{
    bool waits = false;
    for (int k = 0; k < WK_STREAMS_MAX; k++) {
        int step = table->waits[i].step[k];
        if (step < 0) continue;
        TRY_CUDA(cudaStreamWaitEvent(e->calls[i].stream, table->done[step], 0), "capturing");
        waits = true;
    }
    return waits ? wk_cuda_fail(fence(e->calls[i].stream), "capturing", err) : WK_OK;
}

__global__ void delay_kernel(unsigned nanoseconds)
{
    __nanosleep(nanoseconds);
}

// Delays every fourth step or so, on whatever stream it is.
static void delay_step(const wk_executable *e, size_t i)
{
    enum { FOURTH = 4, LONGEST = 30000 };
    uint32_t word = wk_philox_at(e->count, 0, i).v[0];
    if (e->backend->streams == WK_CUDA_STREAMS_UNEVEN && word % FOURTH == 0)
        delay_kernel<<<1, 1, 0, e->calls[i].stream>>>(word / FOURTH % LONGEST);
}

static wk_status record_order(const wk_executable *e, const timetable *table, size_t i,
                              wk_error *err)
{
    wk_vector_clock *waits = &table->waits[i];
    if (!wk_stream_waits_add(table->order, (int)(e->calls[i].context - e->contexts),
                             e->copies.touched.items, e->copies.touched.count, waits))
        return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    for (int k = 0; k < WK_STREAMS_MAX; k++)
        if (waits->step[k] >= 0 && !table->done[waits->step[k]])
            TRY_CUDA(cudaEventCreateWithFlags(&table->done[waits->step[k]], cudaEventDisableTiming),
                     "making an event");
    return WK_OK;
}

static wk_status capture_step(wk_executable *e, const timetable *table, size_t i, wk_error *err)
{
    if (table->order) {
        wk_cuda_enqueue(e, i);
        WK_TRY(wk_cuda_check(e, err));
        return record_order(e, table, i, err);
    }
    WK_TRY(wait_for(e, table, i, err));
    delay_step(e, i);
    wk_cuda_enqueue(e, i);
    WK_TRY(wk_cuda_check(e, err));
    if (!table->done[i]) return WK_OK;
    return wk_cuda_fail(cudaEventRecord(table->done[i], e->calls[i].stream), "capturing", err);
}

// Lets `to` wait for all that is on `from`.
static wk_status join_streams(cudaStream_t from, cudaStream_t to, wk_error *err)
{
    cudaEvent_t event;
    TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    cudaError_t error = cudaEventRecord(event, from);
    if (!error) error = cudaStreamWaitEvent(to, event, 0);
    (void)cudaEventDestroy(event);
    return wk_cuda_fail(error, "capturing", err);
}

static wk_status capture_steps(wk_executable *e, const timetable *table, wk_error *err)
{
    cudaStream_t main = e->contexts[0].stream;
    e->copies.fresh.count = 0;
    for (int k = 1; k < WK_STREAMS_MAX; k++)
        if (e->contexts[k].stream) WK_TRY(join_streams(main, e->contexts[k].stream, err));
    for (size_t i = 0; i < e->count; i++) {
        wk_status status = capture_step(e, table, i, err);
        if (status == WK_OK) continue;
        wk_fail_context(err, "%s", wk_op_table[e->calls[i].node->op].name);
        return status;
    }
    for (int k = 1; k < WK_STREAMS_MAX; k++)
        if (e->contexts[k].stream) WK_TRY(join_streams(e->contexts[k].stream, main, err));
    return WK_OK;
}

static wk_status capture(wk_executable *e, const timetable *table, cudaGraph_t *graph,
                         wk_error *err)
{
    // Relaxed: the first use of a kernel may load its code.
    TRY_CUDA(cudaStreamBeginCapture(e->contexts[0].stream, cudaStreamCaptureModeRelaxed),
             "capturing");
    wk_status status = capture_steps(e, table, err);
    cudaError_t error = cudaStreamEndCapture(e->contexts[0].stream, graph);
    WK_TRY(status);
    return wk_cuda_fail(error, "capturing", err);
}

static wk_status allocate(wk_executable *e, wk_error *err)
{
    for (int i = 0; i < WK_STREAMS_MAX; i++) {
        wk_cuda_stream_context *context = &e->contexts[i];
        if (!context->stream) continue;
        size_t size = context->peak + WK_CUDA_ALIGNMENT;
        WK_TRY(
            wk_cuda_alloc_members(e->backend, e->members, size, (void **)&context->scratch, err));
        context->scratch_size = size;
    }
    return WK_OK;
}

static wk_status capture_twice(wk_executable *e, timetable *table, cudaGraph_t *graph,
                               wk_error *err)
{
    if (!table->order || !table->waits || !table->done)
        return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    WK_TRY(capture(e, table, graph, err));
    (void)cudaGraphDestroy(*graph);
    wk_stream_waits_destroy(table->order);
    table->order = NULL;
    WK_TRY(allocate(e, err));
    return capture(e, table, graph, err);
}

wk_status wk_cuda_make_graph(wk_executable *e, wk_error *err)
{
    cudaGraph_t graph = NULL;
    timetable table = {wk_stream_waits_create(),
                       (wk_vector_clock *)calloc(e->count + 1, sizeof *table.waits),
                       (cudaEvent_t *)calloc(e->count + 1, sizeof *table.done)};
    wk_status status = capture_twice(e, &table, &graph, err);
    wk_stream_waits_destroy(table.order);
    for (size_t i = 0; table.done && i < e->count; i++)
        if (table.done[i]) (void)cudaEventDestroy(table.done[i]);
    free(table.waits);
    free(table.done);
    WK_TRY(status);
    // Else all would have the priority of the stream that the graph is launched into.
    cudaError_t error =
        cudaGraphInstantiate(&e->graph, graph, cudaGraphInstantiateFlagUseNodePriority);
    (void)cudaGraphDestroy(graph);
    WK_TRY(wk_cuda_fail(error, "making a graph", err));
    return wk_cuda_fail(cudaGraphUpload(e->graph, e->contexts[0].stream),
                        "placing a graph on the device", err);
}
