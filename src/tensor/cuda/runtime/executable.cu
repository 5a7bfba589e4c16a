// Executables: a plan resolved to addresses and captured, and its runs. Running one is one launch;
// only tracing enqueues the nodes one by one, with events between them.
#include "tensor/cuda/runtime/backend.cuh"

extern "C" {
#include "tensor/cuda/passes/op_formats.h"
#include "tensor/schedule.h"
}

#include <stdlib.h>

static void destroy_events(wk_executable *e)
{
    for (size_t i = 0; e->events && i <= e->count; i++)
        if (e->events[i]) (void)cudaEventDestroy(e->events[i]);
    free(e->events);
    e->events = NULL;
}

static void destroy_context(const wk_executable *e, wk_cuda_stream_context *context)
{
    if (context->cublas) (void)cublasDestroy(context->cublas);
    if (context->cublas_lt) (void)cublasLtDestroy(context->cublas_lt);
    if (context->stream) (void)cudaStreamDestroy(context->stream);
    wk_cuda_free_members(e->backend, e->members, context->scratch_size, context->scratch);
    wk_cuda_free(e->backend, WK_CUDA_WORKSPACE, context->workspace);
}

static size_t keys_size(const wk_executable *e)
{
    return e->count * sizeof(uint64_t);
}

void wk_cuda_executable_destroy(wk_executable *e)
{
    if (!e) return;
    (void)cudaSetDevice(e->backend->device);
    destroy_events(e);
    if (e->graph) (void)cudaGraphExecDestroy(e->graph);
    for (int i = 0; i < WK_STREAMS_MAX; i++)
        destroy_context(e, &e->contexts[i]);
    wk_cuda_free_members(e->backend, e->members, keys_size(e), e->keys);
    free(e->contexts[0].lazy);
    wk_array_free(&e->copies.fresh);
    wk_array_free(&e->copies.touched);
    free(e->calls);
    free(e->addresses);
    free(e->bf16_addresses);
    free(e);
}

static wk_cuda_stream_context *context_of(wk_executable *e, const wk_plan *plan, size_t step)
{
    return &e->contexts[e->backend->streams == WK_CUDA_STREAM_ONE ? 0 : plan->streams[step]];
}

static void record_formats(wk_cuda_call *call, const unsigned char *formats)
{
    const wk_node *node = call->node;
    for (int i = 0; i < node->output_count; i++) {
        call->bf16_outputs |= (formats[node->outputs + i] & WK_FORMAT_BF16 ? 1u : 0u) << i;
        call->f32_outputs |= (formats[node->outputs + i] & WK_FORMAT_F32 ? 1u : 0u) << i;
    }
    for (int i = 0; i < node->input_count && i < WK_FORMAT_INPUTS_MAX; i++) {
        int root = wk_info(call->g, wk_node_inputs(call->g, node)[i])->root;
        call->bf16_inputs |= (formats[root] == WK_FORMAT_BF16 ? 1u : 0u) << i;
    }
}

// The buffer outside the temporaries that a tensor lies in, or NULL.
static wk_cuda_buffer *outer_buffer(const wk_plan *plan, int tensor)
{
    return tensor && plan->places[tensor].region != WK_REGION_TEMPORARY
               ? (wk_cuda_buffer *)wk_plan_buffer(plan, tensor)
               : NULL;
}

// An address of the first member as that of member r.
static char *of_member(const void *first, int r)
{
    return (char *)first + (size_t)r * WK_MEMBER_STRIDE;
}

// A plan's tensors lie where the first plan's do in the memory of their member.
static wk_status check_places(const wk_plan *const *plans, int members, wk_error *err)
{
    const wk_plan *plan = plans[0];
    for (int r = 1; r < members; r++)
        for (size_t i = 1; i < plan->graph->tensors.count; i++) {
            const wk_buffer *first = wk_plan_buffer(plan, (int)i);
            const wk_buffer *other = wk_plan_buffer(plans[r], (int)i);
            if (!first && !other) continue;
            if (!first || !other || other->address != of_member(first->address, r))
                return wk_fail(err, WK_E_UNSUPPORTED,
                               "run %d of a population has its memory in another order than the "
                               "first (tensor %zu); compile programs of all runs before those of "
                               "one alone",
                               r, i);
        }
    return WK_OK;
}

// Memory for the bf16 copies of a buffer, in all members: where one has it already, all do.
static wk_status make_shadow(wk_executable *e, const wk_plan *const *plans, int tensor,
                             wk_error *err)
{
    wk_cuda_buffer *first = outer_buffer(plans[0], tensor);
    bool shared = first && first->shadow;
    for (int r = 1; first && r < e->members; r++) {
        const char *shadow = outer_buffer(plans[r], tensor)->shadow;
        if (shared ? shadow != of_member(first->shadow, r) : shadow != NULL)
            return wk_fail(err, WK_E_UNSUPPORTED,
                           "run %d of a population has a program of its own already; compile "
                           "programs of all runs first",
                           r);
    }
    if (!first || shared) return WK_OK;
    void *shadow = NULL;
    size_t size = wk_cuda_shadow_size(&first->base);
    WK_TRY(wk_cuda_alloc_members(e->backend, e->members, size, &shadow, err));
    for (int r = 0; r < e->members; r++) {
        wk_cuda_buffer *buffer = outer_buffer(plans[r], tensor);
        buffer->shadow = of_member(shadow, r);
        // Each frees its own.
        e->backend->allocated -= size;
        ((wk_cuda_backend *)buffer->base.backend)->allocated += size;
    }
    return WK_OK;
}

// Buffers that operands of products lie in get memory for their bf16 copies.
static wk_status make_shadows(wk_executable *e, const wk_plan *const *plans, wk_error *err)
{
    const wk_plan *plan = plans[0];
    for (size_t i = 0; e->backend->limits.bf16 && i < plan->node_count; i++) {
        const wk_node *node = wk_plan_node(plan, i);
        for (int k = 0; k < 2 && wk_op_is_product(node->op); k++)
            WK_TRY(make_shadow(e, plans, wk_node_inputs(plan->graph, node)[k], err));
    }
    return WK_OK;
}

static bool is_random(wk_op op)
{
    return op == WK_OP_uniform || op == WK_OP_sample_onehot ||
           op == WK_OP_truncated_normal_sample || op == WK_OP_truncated_normal_sample_grad;
}

// The keys of random nodes are what the plans of a population differ in, and so lie in memory.
static wk_status make_keys(wk_executable *e, const wk_plan *const *plans, wk_error *err)
{
    WK_TRY(wk_cuda_alloc_members(e->backend, e->members, keys_size(e), &e->keys, err));
    uint64_t *keys = (uint64_t *)calloc(e->count + 1, sizeof *keys);
    if (!keys) return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    cudaError_t error = cudaSuccess;
    for (int r = 0; !error && r < e->members; r++) {
        for (size_t i = 0; i < e->count; i++) {
            const wk_node *node = wk_plan_node(plans[r], i);
            keys[i] = is_random(node->op) ? node->attrs.random.key : 0;
        }
        error = cudaMemcpy(of_member(e->keys, r), keys, keys_size(e), cudaMemcpyHostToDevice);
    }
    free(keys);
    return wk_cuda_fail(error, "copying to the device", err);
}

// The addresses of a tensor's numbers and bf16 numbers.
static void locate(const wk_plan *plan, int tensor, wk_ptr<void> *x, wk_ptr<__nv_bfloat16> *bf16)
{
    *x = NULL;
    *bf16 = NULL;
    if (!tensor) return;
    wk_place place = plan->places[tensor];
    const wk_buffer *buffer = wk_plan_buffer(plan, tensor);
    const wk_cuda_buffer *outer = outer_buffer(plan, tensor);
    assert(buffer && "a tensor outside the program");
    char *base = (char *)buffer->address;
    if (place.offset != WK_NOWHERE) x->base = base + place.offset;
    if (place.bf16 != WK_NOWHERE) bf16->base = (__nv_bfloat16 *)(base + place.bf16);
    if (outer && outer->shadow && wk_info(plan->graph, tensor)->type.dtype == WK_F32)
        bf16->base = (__nv_bfloat16 *)(outer->shadow + place.offset / 2);
}

// The calls of all steps. What is fused into another call is on its stream.
static void resolve(wk_executable *e, const wk_plan *plan, const wk_fused *all)
{
    const wk_graph *g = plan->graph;
    wk_ptr<void> *address = e->addresses;
    wk_ptr<__nv_bfloat16> *bf16 = e->bf16_addresses;
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = wk_plan_node(plan, step);
        const wk_fused *fused = &all[step];
        wk_cuda_call call = {};
        call.g = g;
        call.node = node;
        call.in = address;
        call.out = address + node->input_count;
        call.in_bf16 = bf16;
        call.out_bf16 = bf16 + node->input_count;
        call.context =
            context_of(e, plan, fused->fused_into >= 0 ? (size_t)fused->fused_into : step);
        call.stream = call.context->stream;
        call.key = wk_ptr<const uint64_t>((const uint64_t *)e->keys + step);
        call.members = e->members;
        call.precision = e->backend->precision;
        call.processors = e->backend->limits.processors;
        call.cache = e->backend->limits.cache;
        call.programmatic = e->backend->limits.capability >= 90;
        record_formats(&call, plan->formats);
        for (int i = 0; i < node->input_count; i++)
            locate(plan, wk_node_inputs(g, node)[i], address++, bf16++);
        for (int i = 0; i < node->output_count; i++)
            locate(plan, node->outputs + i, address++, bf16++);
        call.kernel = fused->kernel;
        call.tile = fused->tile;
        call.form = fused->form;
        call.fused_next = (unsigned)fused->fused_next;
        call.addend = fused->addend >= 0 ? &e->calls[fused->addend] : NULL;
        call.epilogue = fused->epilogue >= 0 ? &e->calls[fused->epilogue] : NULL;
        e->calls[step] = call;
    }
    for (size_t i = 0; i < plan->groups.count; i++)
        e->calls[plan->groups.items[i].begin].recurrence =
            (const wk_recurrence *)plan->groups.items[i].what;
}

static wk_status make_context(wk_executable *e, wk_cuda_stream_context *context,
                              wk_cuda_priority priority, wk_error *err)
{
    // The captured nodes keep the stream's priority.
    WK_TRY(wk_cuda_make_stream(priority, &context->stream, err));
    WK_TRY(wk_cuda_alloc(e->backend, WK_CUDA_WORKSPACE, &context->workspace, err));
    context->workspace_size = WK_CUDA_WORKSPACE;
    cublasStatus_t status = cublasCreate(&context->cublas);
    if (!status) status = cublasLtCreate(&context->cublas_lt);
    if (!status) status = cublasSetStream(context->cublas, context->stream);
    if (!status)
        status = cublasSetWorkspace(context->cublas, context->workspace, WK_CUDA_WORKSPACE);
    context->copies = &e->copies;
    if (status)
        return wk_fail(err, WK_E_UNSUPPORTED, "cuBLAS does not start: %s",
                       cublasGetStatusString(status));
    return WK_OK;
}

// Of stream 0; all of a low-priority program has the lowest.
static wk_cuda_priority priority_of(wk_priority priority)
{
    if (priority == WK_PRIORITY_LOW) return WK_CUDA_PRIORITY_SIDE;
    return priority == WK_PRIORITY_HIGH ? WK_CUDA_PRIORITY_HIGH : WK_CUDA_PRIORITY_NORMAL;
}

static wk_status make_contexts(wk_executable *e, const wk_plan *plan, wk_error *err)
{
    bool low_priority = plan->priority == WK_PRIORITY_LOW;
    WK_TRY(make_context(e, e->contexts, priority_of(plan->priority), err));
    for (size_t i = 0; i < plan->node_count; i++) {
        wk_cuda_stream_context *context = context_of(e, plan, i);
        bool urgent = context == &e->contexts[WK_URGENT_STREAM] && !low_priority;
        if (!context->stream)
            WK_TRY(make_context(e, context,
                                urgent ? WK_CUDA_PRIORITY_URGENT : WK_CUDA_PRIORITY_SIDE, err));
    }
    return WK_OK;
}

static wk_status resolve_fused(wk_executable *e, const wk_plan *plan, wk_error *err)
{
    wk_fused *fused = (wk_fused *)malloc((plan->node_count + 1) * sizeof *fused);
    if (!fused) return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    // As launch_clusters shares them out.
    wk_cuda_limits share = e->backend->limits;
    share.processors /= e->members;
    share.members = e->members;
    wk_fusion_choose(plan, &share, fused);
    resolve(e, plan, fused);
    free(fused);
    return WK_OK;
}

static wk_status build(wk_executable *e, const wk_plan *const *plans, wk_error *err)
{
    const wk_plan *plan = plans[0];
    WK_TRY(check_places(plans, e->members, err));
    WK_TRY(make_contexts(e, plan, err));
    WK_TRY(make_shadows(e, plans, err));
    WK_TRY(make_keys(e, plans, err));
    WK_TRY(resolve_fused(e, plan, err));
    if (!wk_cuda_keep_lazy(e->contexts, e->calls, e->count, plan))
        return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    for (int i = 0; i < WK_STREAMS_MAX; i++) {
        e->contexts[i].lazy = e->contexts[0].lazy;
        e->contexts[i].formats = plan->formats;
    }
    return wk_cuda_make_graph(e, err);
}

wk_status wk_cuda_compile(wk_backend *base, const wk_plan *const *plans, int count,
                          wk_executable **out, wk_error *err)
{
    const wk_plan *plan = plans[0];
    wk_cuda_backend *backend = (wk_cuda_backend *)base;
    TRY_CUDA(cudaSetDevice(backend->device), "choosing the device");
    size_t addresses = 0;
    for (size_t i = 0; i < plan->node_count; i++)
        addresses +=
            (size_t)(wk_plan_node(plan, i)->input_count + wk_plan_node(plan, i)->output_count);
    wk_executable *e = (wk_executable *)calloc(1, sizeof *e);
    if (!e) return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    e->backend = backend;
    e->members = count;
    e->count = plan->node_count;
    e->calls = (wk_cuda_call *)calloc(plan->node_count + 1, sizeof *e->calls);
    e->addresses = (wk_ptr<void> *)calloc(addresses + 1, sizeof *e->addresses);
    e->bf16_addresses = (wk_ptr<__nv_bfloat16> *)calloc(addresses + 1, sizeof *e->bf16_addresses);
    wk_status status = e->calls && e->addresses && e->bf16_addresses
                           ? build(e, plans, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    if (status != WK_OK) {
        wk_cuda_executable_destroy(e);
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
    e->copies.fresh.count = 0;
    TRY_CUDA(cudaEventRecord(e->events[0], e->contexts[0].stream), "tracing");
    for (size_t i = 0; i < e->count; i++) {
        cudaStream_t stream = e->calls[i].stream;
        TRY_CUDA(cudaStreamWaitEvent(stream, e->events[i], 0), "tracing");
        wk_cuda_enqueue(e, i);
        TRY_CUDA(cudaEventRecord(e->events[i + 1], stream), "tracing");
    }
    WK_TRY(wk_cuda_check(e, err));
    TRY_CUDA(cudaEventSynchronize(e->events[e->count]), "running");
    for (size_t i = 0; i < e->count; i++) {
        float milliseconds = 0;
        TRY_CUDA(cudaEventElapsedTime(&milliseconds, e->events[i], e->events[i + 1]), "tracing");
        trace[i] += milliseconds * 1e-3;
    }
    return WK_OK;
}

wk_status wk_cuda_run(wk_executable *e, double *trace, wk_error *err)
{
    TRY_CUDA(cudaSetDevice(e->backend->device), "choosing the device");
    if (trace) return run_traced(e, trace, err);
    TRY_CUDA(cudaGraphLaunch(e->graph, e->contexts[0].stream), "starting a graph");
    return wk_cuda_fail(cudaStreamSynchronize(e->contexts[0].stream), "running", err);
}
