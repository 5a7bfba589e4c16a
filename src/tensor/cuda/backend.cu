// The CUDA backend. An executable is the list of nodes captured into one CUDA graph: running it is
// one launch. Only tracing puts the nodes on the stream one by one, with events between them.
//
// Capturing goes twice over the nodes: the first pass finds out how much scratch memory they ask
// for and which buffers need bf16 copies, the second has the addresses. Neither runs anything, so
// compiling leaves the state as it is.
#include "tensor/cuda/observe.cuh"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Pieces of half a mebibyte stay in the processor's cache on their way.
enum { STAGING = 1 << 20, BLAS_WORKSPACE = 32 << 20, ALIGNMENT = 256 };

typedef struct cuda_backend {
    wk_backend base;
    int device, capability, processors;
    size_t shared_memory; // of a block, at most
    wk_cuda_precision precision;
    pthread_mutex_t transfer; // one upload or download at a time
    cudaStream_t stream;      // of transfers
    cudaEvent_t sent[2];      // half of the staging memory can be used again
    char *staging;            // pinned, two halves
    size_t allocated;         // bytes of device memory in use
} cuda_backend;

// A buffer has room for bf16 copies beside it once a program wants them; all programs share it.
typedef struct cuda_buffer {
    wk_buffer base;
    char *shadow;
} cuda_buffer;

struct wk_executable {
    cuda_backend *backend;
    size_t count;
    wk_cuda_call *calls;
    void **addresses;
    wk_cuda_lane lane;
    void *blas_workspace;
    size_t scratch_size;
    cudaStream_t stream;
    cudaGraphExec_t graph;
    cudaEvent_t *events;              // count + 1, made by the first traced run
    WK_ARRAY(wk_recurrence *) chains; // the plan's groups
};

static wk_status fail_cuda(cudaError_t error, const char *what, wk_error *err)
{
    if (error == cudaSuccess) return WK_OK;
    (void)cudaGetLastError();
    wk_status status = error == cudaErrorMemoryAllocation ? WK_E_MEMORY : WK_E_UNSUPPORTED;
    return wk_fail(err, status, "CUDA: %s: %s (%s)", what, cudaGetErrorString(error),
                   cudaGetErrorName(error));
}

#define TRY_CUDA(call, what) WK_TRY(fail_cuda((call), (what), err))

// Ops that are views wherever they stand.
#define wk_cuda_call_reshape NULL
#define wk_cuda_call_stop_gradient NULL
static wk_cuda_fn *const table[WK_OP_COUNT] = {
#define OP(name, fewest, most, outputs, gradient, traits) wk_cuda_call_##name,
#include "tensor/ops.def"
#undef OP
};

// Buffers.

static wk_status device_alloc(cuda_backend *backend, size_t size, void **out, wk_error *err)
{
    cudaError_t error = cudaMalloc(out, size ? size : 1);
    if (!error) backend->allocated += size;
    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0, total = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&available, &total);
        return wk_fail(err, WK_E_MEMORY,
                       "the GPU has %zu of %zu MiB free, but a buffer of %zu MiB is needed; use "
                       "smaller sizes or a smaller batch, or another device",
                       available >> 20, total >> 20, size >> 20);
    }
    return fail_cuda(error, "allocating device memory", err);
}

static void device_free(cuda_backend *backend, size_t size, void *memory)
{
    if (!memory) return;
    (void)cudaFree(memory);
    backend->allocated -= size;
}

static size_t allocated(const wk_backend *base)
{
    return ((const cuda_backend *)base)->allocated;
}

// Of the bf16 copies of a buffer.
static size_t shadow_size(const wk_buffer *buffer)
{
    return buffer->size / 2 + ALIGNMENT;
}

static wk_status clear(cuda_backend *backend, void *address, size_t size, wk_error *err)
{
    TRY_CUDA(cudaMemsetAsync(address, 0, size, backend->stream), "clearing device memory");
    TRY_CUDA(cudaStreamSynchronize(backend->stream), "clearing device memory");
    return WK_OK;
}

static wk_status buffer_create(wk_backend *base, size_t size, wk_buffer **out, wk_error *err)
{
    cuda_backend *backend = (cuda_backend *)base;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    void *address = NULL;
    WK_TRY(device_alloc(backend, size, &address, err));
    wk_status status = clear(backend, address, size, err);
    cuda_buffer *buffer = status == WK_OK ? (cuda_buffer *)calloc(1, sizeof *buffer) : NULL;
    if (!buffer) {
        device_free(backend, size, address);
        return status == WK_OK ? wk_fail(err, WK_E_MEMORY, "no memory for a buffer") : status;
    }
    buffer->base.backend = base;
    buffer->base.size = size;
    buffer->base.address = address;
    *out = &buffer->base;
    return WK_OK;
}

static void buffer_destroy(wk_buffer *buffer)
{
    cuda_backend *backend = (cuda_backend *)buffer->backend;
    (void)cudaSetDevice(backend->device);
    device_free(backend, shadow_size(buffer), ((cuda_buffer *)buffer)->shadow);
    device_free(backend, buffer->size, buffer->address);
    free(buffer);
}

// Pieces go through the two halves of the pinned memory in turn: while one is on its way, the host
// fills the other.
static cudaError_t send(cuda_backend *backend, char *to, const char *bytes, size_t size)
{
    cudaError_t error = cudaSuccess;
    for (int half = 0; size > 0 && !error; half = !half) {
        size_t piece = size < STAGING / 2 ? size : STAGING / 2;
        char *staging = backend->staging + half * (STAGING / 2);
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

static cudaError_t receive(cuda_backend *backend, char *bytes, const char *from, size_t size)
{
    cudaError_t error = cudaSuccess;
    while (size > 0 && !error) {
        size_t piece = size < STAGING ? size : STAGING;
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

static wk_status upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                        wk_error *err)
{
    cuda_backend *backend = (cuda_backend *)buffer->backend;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    pthread_mutex_lock(&backend->transfer);
    cudaError_t error = send(backend, (char *)buffer->address + offset, (const char *)bytes, size);
    pthread_mutex_unlock(&backend->transfer);
    return fail_cuda(error, "copying to the device", err);
}

static wk_status download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                          wk_error *err)
{
    cuda_backend *backend = (cuda_backend *)buffer->backend;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    pthread_mutex_lock(&backend->transfer);
    cudaError_t error =
        receive(backend, (char *)bytes, (const char *)buffer->address + offset, size);
    pthread_mutex_unlock(&backend->transfer);
    return fail_cuda(error, "copying from the device", err);
}

// What calls ask of their lane.

void *wk_cuda_scratch(const wk_cuda_call *c, size_t bytes)
{
    wk_cuda_lane *lane = c->lane;
    // While the need is measured nothing runs, and any address will do.
    char *base = lane->scratch ? lane->scratch : (char *)(uintptr_t)ALIGNMENT;
    void *memory = base + lane->used;
    lane->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (lane->used > lane->peak) lane->peak = lane->used;
    return memory;
}

__nv_bfloat16 *wk_cuda_shadow(wk_cuda_lane *lane, const float *x)
{
    for (size_t i = 0; i < lane->regions.count; i++) {
        wk_cuda_region *region = &lane->regions.items[i];
        const char *at = (const char *)x;
        if (at < region->base || at >= region->base + region->size) continue;
        region->wanted = true;
        char *shadow = region->shadow ? region->shadow : (char *)(uintptr_t)ALIGNMENT;
        return (__nv_bfloat16 *)(shadow + (size_t)(at - region->base) / 2);
    }
    return NULL;
}

// Several copies together may cover the span.
bool wk_cuda_is_fresh(const wk_cuda_lane *lane, wk_cuda_span span)
{
    for (bool grown = true; grown && span.begin < span.end;) {
        grown = false;
        for (size_t i = 0; i < lane->fresh.count; i++) {
            wk_cuda_span known = lane->fresh.items[i];
            if (known.begin > span.begin || known.end <= span.begin) continue;
            span.begin = known.end;
            grown = true;
        }
    }
    return span.begin >= span.end;
}

void wk_cuda_refreshed(wk_cuda_lane *lane, wk_cuda_span span)
{
    if (!wk_array_push(&lane->fresh, span)) lane->failed = true;
}

static void forget(wk_cuda_lane *lane, const void *begin, size_t size)
{
    const char *first = (const char *)begin, *past = first + size;
    size_t kept = 0;
    for (size_t i = 0; i < lane->fresh.count; i++) {
        wk_cuda_span span = lane->fresh.items[i];
        if (span.end <= first || span.begin >= past) lane->fresh.items[kept++] = span;
    }
    lane->fresh.count = kept;
}

wk_out wk_call_store(const wk_cuda_call *c, int i)
{
    wk_out out = {wk_call_out(c, i), NULL};
    if (c->precision != WK_CUDA_BF16 || !(c->matrices >> i & 1)) return out;
    out.half = wk_cuda_shadow(c->lane, out.x);
    c->lane->emitted |= 1u << i;
    if (!(c->numbers >> i & 1)) out.x = NULL;
    return out;
}

wk_in wk_call_load(const wk_cuda_call *c, int i)
{
    wk_in in = {wk_call_in(c, i), NULL};
    if (c->precision == WK_CUDA_BF16 && c->halves >> i & 1)
        in = {NULL, wk_cuda_shadow(c->lane, in.x)};
    return in;
}

// Putting the nodes on the stream.

// A concatenation leaves alone what lies in its place already.
static void forget_concat(const wk_cuda_call *c)
{
    int axis = c->node->attrs.concat.axis;
    const int *starts = c->g->extents.items + c->node->attrs.concat.starts;
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), axis, 1);
    size_t covered = 0, length = to.length * to.inner;
    float *y = wk_call_out(c, 0);
    for (int i = 0; i <= c->node->input_count; i++) {
        bool last = i == c->node->input_count;
        size_t begin = last ? length : (size_t)starts[i] * to.inner;
        size_t count = last ? 0 : wk_shape_count(wk_call_input_shape(c, i));
        if (begin > covered) forget(c->lane, y + covered, (begin - covered) * sizeof *y);
        if (!last && c->in[i] != y + begin) forget(c->lane, y + begin, count * sizeof *y);
        covered = begin + count;
    }
}

static void forget_writes(const wk_cuda_call *c)
{
    const int *inputs = wk_node_inputs(c->g, c->node);
    unsigned writes = wk_op_writes(c->node->op);
    for (int i = 0; i < c->node->input_count; i++)
        if (writes >> i & 1)
            forget(c->lane, c->in[i], wk_type_size(wk_info(c->g, inputs[i])->type));
    for (int i = 0; i < c->node->output_count; i++)
        forget(c->lane, c->out[i], wk_type_size(wk_info(c->g, c->node->outputs + i)->type));
}

// The chain that step i belongs to, or NULL.
static const wk_recurrence *chain_at(const wk_executable *e, size_t i)
{
    for (size_t k = 0; k < e->chains.count; k++) {
        const wk_recurrence *chain = e->chains.items[k];
        if ((int)i >= chain->begin && (int)i <= chain->end) return chain;
    }
    return NULL;
}

// All of a chain, in the place of its first step.
static void put_chain(wk_executable *e, const wk_recurrence *chain)
{
    e->lane.used = 0;
    for (int i = chain->begin; i <= chain->end; i++)
        forget_writes(&e->calls[i]);
    wk_cuda_observe(e->calls, chain);
}

static void put(wk_executable *e, size_t i)
{
    const wk_recurrence *chain = chain_at(e, i);
    if (chain && (int)i == chain->begin) put_chain(e, chain);
    if (chain) return;
    wk_cuda_call *call = &e->calls[i];
    if (call->skipped) return;
    e->lane.used = 0;
    e->lane.emitted = 0;
    table[call->node->op](call);
    for (unsigned k = 0; k <= call->merged; k++) {
        if (wk_cuda_joined_in_place(call->g, call[k].node))
            forget_concat(&call[k]);
        else
            forget_writes(&call[k]);
    }
    for (int k = 0; k < call->node->output_count; k++) {
        if (!(e->lane.emitted >> k & 1)) continue;
        size_t size = wk_type_size(wk_info(call->g, call->node->outputs + k)->type);
        const char *out = (const char *)call->out[k];
        wk_cuda_refreshed(&e->lane, {out, out + size});
    }
}

static wk_status check_lane(const wk_cuda_lane *lane, wk_error *err)
{
    if (lane->status != CUBLAS_STATUS_SUCCESS)
        return wk_fail(err, WK_E_UNSUPPORTED, "cuBLAS refused a matrix product: %s",
                       cublasGetStatusString(lane->status));
    if (lane->failed) return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    return fail_cuda(cudaGetLastError(), "launching a kernel", err);
}

static wk_status capture(wk_executable *e, cudaGraph_t *graph, wk_error *err)
{
    e->lane.fresh.count = 0;
    // Relaxed: the first use of a kernel may load its code.
    TRY_CUDA(cudaStreamBeginCapture(e->stream, cudaStreamCaptureModeRelaxed), "capturing");
    wk_status status = WK_OK;
    for (size_t i = 0; i < e->count && status == WK_OK; i++) {
        put(e, i);
        status = check_lane(&e->lane, err);
        if (status != WK_OK) wk_fail_context(err, "%s", wk_op_table[e->calls[i].node->op].name);
    }
    cudaError_t error = cudaStreamEndCapture(e->stream, graph);
    WK_TRY(status);
    return fail_cuda(error, "capturing", err);
}

static wk_status allocate(wk_executable *e, wk_error *err)
{
    WK_TRY(device_alloc(e->backend, e->lane.peak + ALIGNMENT, (void **)&e->lane.scratch, err));
    e->scratch_size = e->lane.peak + ALIGNMENT;
    for (size_t i = 0; i < e->lane.regions.count; i++) {
        wk_cuda_region *region = &e->lane.regions.items[i];
        cuda_buffer *buffer = (cuda_buffer *)region->buffer;
        if (!region->wanted) continue;
        if (!buffer->shadow)
            WK_TRY(device_alloc(e->backend, shadow_size(&buffer->base), (void **)&buffer->shadow,
                                err));
        region->shadow = buffer->shadow;
    }
    return WK_OK;
}

static wk_status make_graph(wk_executable *e, wk_error *err)
{
    cudaGraph_t graph = NULL;
    WK_TRY(capture(e, &graph, err));
    (void)cudaGraphDestroy(graph);
    graph = NULL;
    WK_TRY(allocate(e, err));
    WK_TRY(capture(e, &graph, err));
    cudaError_t error = cudaGraphInstantiate(&e->graph, graph, 0);
    (void)cudaGraphDestroy(graph);
    WK_TRY(fail_cuda(error, "making a graph", err));
    return fail_cuda(cudaGraphUpload(e->graph, e->stream), "placing a graph on the device", err);
}

// Executables.

static void destroy_events(wk_executable *e)
{
    for (size_t i = 0; e->events && i <= e->count; i++)
        if (e->events[i]) (void)cudaEventDestroy(e->events[i]);
    free(e->events);
    e->events = NULL;
}

static void executable_destroy(wk_executable *e)
{
    if (!e) return;
    (void)cudaSetDevice(e->backend->device);
    destroy_events(e);
    if (e->graph) (void)cudaGraphExecDestroy(e->graph);
    if (e->lane.blas) (void)cublasDestroy(e->lane.blas);
    if (e->lane.light) (void)cublasLtDestroy(e->lane.light);
    if (e->stream) (void)cudaStreamDestroy(e->stream);
    device_free(e->backend, e->scratch_size, e->lane.scratch);
    device_free(e->backend, BLAS_WORKSPACE, e->blas_workspace);
    wk_array_free(&e->lane.regions);
    wk_array_free(&e->lane.fresh);
    for (size_t i = 0; i < e->chains.count; i++)
        free(e->chains.items[i]);
    wk_array_free(&e->chains);
    free(e->calls);
    free(e->addresses);
    free(e);
}

static void add_region(wk_executable *e, wk_buffer *buffer)
{
    wk_cuda_lane *lane = &e->lane;
    for (size_t i = 0; i < lane->regions.count; i++)
        if (lane->regions.items[i].base == buffer->address) return;
    wk_cuda_region region = {(char *)buffer->address, buffer->size, NULL, false, buffer};
    if (!wk_array_push(&lane->regions, region)) lane->failed = true;
}

static void list_regions(wk_executable *e, const wk_plan *plan)
{
    add_region(e, plan->temporary);
    add_region(e, plan->owned);
    for (size_t i = 1; i < plan->graph->tensors.count; i++)
        if (plan->places[i].region == WK_REGION_BOUND)
            add_region(e, wk_info(plan->graph, wk_info(plan->graph, (int)i)->root)->buffer);
}

static const wk_node *plan_node(const wk_plan *plan, size_t step)
{
    return &plan->graph->nodes.items[plan->nodes[step]];
}

static void resolve(wk_executable *e, const wk_plan *plan)
{
    const wk_graph *g = plan->graph;
    void **address = e->addresses;
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = plan_node(plan, step);
        assert(table[node->op]);
        wk_cuda_call call = {};
        call.g = g;
        call.node = node;
        call.in = address;
        call.out = address + node->input_count;
        call.stream = e->stream;
        call.precision = e->backend->precision;
        call.lane = &e->lane;
        call.programmatic = e->backend->capability >= 90;
        call.hopper = e->backend->capability == 90;
        e->calls[step] = call;
        for (int i = 0; i < node->input_count; i++)
            *address++ = wk_plan_address(plan, wk_node_inputs(g, node)[i]);
        for (int i = 0; i < node->output_count; i++)
            *address++ = wk_plan_address(plan, node->outputs + i);
    }
}

static wk_status make_lane(wk_executable *e, wk_error *err)
{
    TRY_CUDA(cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking), "making a stream");
    WK_TRY(device_alloc(e->backend, BLAS_WORKSPACE, &e->blas_workspace, err));
    cublasStatus_t status = cublasCreate(&e->lane.blas);
    if (!status) status = cublasLtCreate(&e->lane.light);
    if (!status) status = cublasSetStream(e->lane.blas, e->stream);
    if (!status) status = cublasSetWorkspace(e->lane.blas, e->blas_workspace, BLAS_WORKSPACE);
    e->lane.workspace = e->blas_workspace;
    e->lane.workspace_size = BLAS_WORKSPACE;
    if (status)
        return wk_fail(err, WK_E_UNSUPPORTED, "cuBLAS does not start: %s",
                       cublasGetStatusString(status));
    return WK_OK;
}

// Unrolled recurrences run as one kernel each. That kernel multiplies in bf16.
static wk_status find_chains(const cuda_backend *backend, wk_plan *plan, int *last_use,
                             wk_recurrence *chain, wk_error *err)
{
    wk_recurrence_last_use(plan, last_use);
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (!wk_recurrence_find(plan, last_use, step, chain)) continue;
        if (!wk_cuda_observe_fits(chain, backend->shared_memory, backend->processors)) continue;
        wk_group group = {step, chain->end};
        if (!wk_array_push(&plan->groups, group))
            return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
        step = chain->end;
    }
    return WK_OK;
}

static wk_status group(const wk_backend *base, wk_plan *plan, wk_error *err)
{
    const cuda_backend *backend = (const cuda_backend *)base;
    if (backend->precision != WK_CUDA_BF16 || backend->capability < 80) return WK_OK;
    int *last_use = (int *)malloc(plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *chain = (wk_recurrence *)malloc(sizeof *chain);
    wk_status status = last_use && chain
                           ? find_chains(backend, plan, last_use, chain, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    free(last_use);
    free(chain);
    return status;
}

// Finds the plan's groups once more, to keep what they are.
static wk_status keep_chains(wk_executable *e, const wk_plan *plan, wk_error *err)
{
    int *last_use = (int *)malloc(plan->graph->tensors.count * sizeof *last_use);
    bool ok = last_use;
    if (ok) wk_recurrence_last_use(plan, last_use);
    for (size_t i = 0; ok && i < plan->groups.count; i++) {
        wk_recurrence *chain = (wk_recurrence *)malloc(sizeof *chain);
        ok = chain && wk_array_push(&e->chains, chain);
        if (!ok) free(chain);
        if (ok) wk_recurrence_find(plan, last_use, plan->groups.items[i].begin, chain);
    }
    free(last_use);
    return ok ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
}

static wk_status build(wk_executable *e, const wk_plan *plan, wk_error *err)
{
    WK_TRY(make_lane(e, err));
    list_regions(e, plan);
    resolve(e, plan);
    WK_TRY(keep_chains(e, plan, err));
    for (size_t i = 0; i < e->count; i++)
        e->calls[i].chained = chain_at(e, i);
    if (!wk_cuda_find_storage(e->calls, e->count))
        return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    wk_cuda_merge_adam(e->calls, e->count);
    wk_cuda_merge_products(e->calls, e->count);
    return make_graph(e, err);
}

static wk_status compile(wk_backend *base, const wk_plan *plan, wk_executable **out, wk_error *err)
{
    cuda_backend *backend = (cuda_backend *)base;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    size_t addresses = 0;
    for (size_t i = 0; i < plan->node_count; i++)
        addresses += (size_t)(plan_node(plan, i)->input_count + plan_node(plan, i)->output_count);
    wk_executable *e = (wk_executable *)calloc(1, sizeof *e);
    if (!e) return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    e->backend = backend;
    e->count = plan->node_count;
    e->calls = (wk_cuda_call *)calloc(plan->node_count + 1, sizeof *e->calls);
    e->addresses = (void **)calloc(addresses + 1, sizeof *e->addresses);
    wk_status status = e->calls && e->addresses
                           ? build(e, plan, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    if (status != WK_OK) {
        executable_destroy(e);
        return status;
    }
    *out = e;
    return WK_OK;
}

static wk_status make_events(wk_executable *e, wk_error *err)
{
    if (e->events) return WK_OK;
    e->events = (cudaEvent_t *)calloc(e->count + 1, sizeof *e->events);
    if (!e->events) return wk_fail(err, WK_E_MEMORY, "no memory to trace a graph");
    for (size_t i = 0; i <= e->count; i++)
        TRY_CUDA(cudaEventCreate(&e->events[i]), "making an event");
    return WK_OK;
}

static wk_status run_traced(wk_executable *e, double *trace, wk_error *err)
{
    WK_TRY(make_events(e, err));
    e->lane.fresh.count = 0;
    TRY_CUDA(cudaEventRecord(e->events[0], e->stream), "tracing");
    for (size_t i = 0; i < e->count; i++) {
        put(e, i);
        TRY_CUDA(cudaEventRecord(e->events[i + 1], e->stream), "tracing");
    }
    WK_TRY(check_lane(&e->lane, err));
    TRY_CUDA(cudaStreamSynchronize(e->stream), "running");
    for (size_t i = 0; i < e->count; i++) {
        float milliseconds = 0;
        TRY_CUDA(cudaEventElapsedTime(&milliseconds, e->events[i], e->events[i + 1]), "tracing");
        trace[i] += milliseconds * 1e-3;
    }
    return WK_OK;
}

static cudaError_t put_copy(const wk_copy *c, cudaStream_t stream)
{
    return cudaMemcpyAsync((char *)c->to->address + c->to_offset,
                           (const char *)c->from->address + c->from_offset, c->size,
                           cudaMemcpyDeviceToDevice, stream);
}

static wk_status copy(const wk_copy *c, wk_error *err)
{
    cuda_backend *backend = (cuda_backend *)c->to->backend;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    TRY_CUDA(put_copy(c, backend->stream), "copying on the device");
    return fail_cuda(cudaStreamSynchronize(backend->stream), "copying on the device", err);
}

static wk_status start(wk_executable *e, const wk_copy *copies, size_t count, wk_error *err)
{
    TRY_CUDA(cudaSetDevice(e->backend->device), "choosing the device");
    for (size_t i = 0; i < count; i++)
        TRY_CUDA(put_copy(&copies[i], e->stream), "copying on the device");
    return fail_cuda(cudaGraphLaunch(e->graph, e->stream), "starting a graph", err);
}

static wk_status finish(wk_executable *e, wk_error *err)
{
    TRY_CUDA(cudaSetDevice(e->backend->device), "choosing the device");
    return fail_cuda(cudaStreamSynchronize(e->stream), "running", err);
}

static wk_status run(wk_executable *e, double *trace, wk_error *err)
{
    TRY_CUDA(cudaSetDevice(e->backend->device), "choosing the device");
    if (trace) return run_traced(e, trace, err);
    WK_TRY(start(e, NULL, 0, err));
    return finish(e, err);
}

// The backend.

static void destroy(wk_backend *base)
{
    cuda_backend *backend = (cuda_backend *)base;
    (void)cudaSetDevice(backend->device);
    for (int i = 0; i < 2; i++)
        if (backend->sent[i]) (void)cudaEventDestroy(backend->sent[i]);
    if (backend->stream) (void)cudaStreamDestroy(backend->stream);
    (void)cudaFreeHost(backend->staging);
    pthread_mutex_destroy(&backend->transfer);
    free(backend);
}

static const wk_backend_vtable cuda_vtable = {
    "cuda",  destroy, buffer_create, buffer_destroy, upload, download,           group,
    compile, run,     copy,          start,          finish, executable_destroy, allocated};

static wk_status open(cuda_backend *backend, wk_error *err)
{
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    int shared = 0;
    TRY_CUDA(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, backend->device),
        "asking for the device");
    backend->shared_memory = (size_t)shared;
    TRY_CUDA(cudaStreamCreateWithFlags(&backend->stream, cudaStreamNonBlocking), "making a stream");
    for (int i = 0; i < 2; i++)
        TRY_CUDA(cudaEventCreateWithFlags(&backend->sent[i], cudaEventDisableTiming),
                 "making an event");
    return fail_cuda(cudaMallocHost((void **)&backend->staging, STAGING),
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
    return fail_cuda(cudaMemGetInfo(&out->memory_free, &out->memory), "asking for memory", err);
}

extern "C" wk_status wk_backend_cuda_create(int device, wk_cuda_precision precision,
                                            wk_backend **out, wk_error *err)
{
    wk_cuda_device about;
    WK_TRY(wk_cuda_device_describe(device, &about, err));
    cuda_backend *backend = (cuda_backend *)calloc(1, sizeof *backend);
    if (!backend) return wk_fail(err, WK_E_MEMORY, "no memory for the CUDA backend");
    backend->base.vtable = &cuda_vtable;
    backend->device = device;
    backend->capability = about.capability;
    backend->processors = about.processors;
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
