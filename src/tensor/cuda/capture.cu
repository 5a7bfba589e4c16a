// Putting the nodes on the stream, and capturing them into one CUDA graph.
//
// Capturing goes twice over the nodes: the first pass finds out how much scratch memory they ask
// for and which buffers need bf16 copies, the second has the addresses. Neither runs anything, so
// compiling leaves the state as it is.
#include "tensor/cuda/backend.cuh"

// Ops that are views wherever they stand.
#define wk_cuda_call_reshape NULL
#define wk_cuda_call_stop_gradient NULL
static wk_cuda_fn *const table[WK_OP_COUNT] = {
#define OP(name, fewest, most, outputs, gradient, traits) wk_cuda_call_##name,
#include "tensor/ops.def"
#undef OP
};

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
        if (begin > covered) wk_cuda_forget(c->lane, y + covered, (begin - covered) * sizeof *y);
        if (!last && c->in[i] != y + begin) wk_cuda_forget(c->lane, y + begin, count * sizeof *y);
        covered = begin + count;
    }
}

static void forget_writes(const wk_cuda_call *c)
{
    const int *inputs = wk_node_inputs(c->g, c->node);
    unsigned writes = wk_op_writes(c->node->op);
    for (int i = 0; i < c->node->input_count; i++)
        if (writes >> i & 1)
            wk_cuda_forget(c->lane, c->in[i], wk_type_size(wk_info(c->g, inputs[i])->type));
    for (int i = 0; i < c->node->output_count; i++)
        wk_cuda_forget(c->lane, c->out[i], wk_type_size(wk_info(c->g, c->node->outputs + i)->type));
}

// All of a chain, in the place of its first step.
static void put_chain(wk_executable *e, const wk_recurrence *chain)
{
    e->lane.used = 0;
    for (int i = chain->begin; i <= chain->end; i++)
        forget_writes(&e->calls[i]);
    wk_cuda_observe(e->calls, chain);
}

void wk_cuda_put(wk_executable *e, size_t i)
{
    const wk_recurrence *chain = wk_cuda_chain_at(e, i);
    if (chain && (int)i == chain->begin) put_chain(e, chain);
    if (chain) return;
    wk_cuda_call *call = &e->calls[i];
    if (call->skipped) return;
    e->lane.used = 0;
    e->lane.emitted = 0;
    assert(table[call->node->op]);
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

wk_status wk_cuda_check_lane(const wk_cuda_lane *lane, wk_error *err)
{
    if (lane->status != CUBLAS_STATUS_SUCCESS)
        return wk_fail(err, WK_E_UNSUPPORTED, "cuBLAS refused a matrix product: %s",
                       cublasGetStatusString(lane->status));
    if (lane->failed) return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    return wk_cuda_fail(cudaGetLastError(), "launching a kernel", err);
}

static wk_status capture(wk_executable *e, cudaGraph_t *graph, wk_error *err)
{
    e->lane.fresh.count = 0;
    // Relaxed: the first use of a kernel may load its code.
    TRY_CUDA(cudaStreamBeginCapture(e->stream, cudaStreamCaptureModeRelaxed), "capturing");
    wk_status status = WK_OK;
    for (size_t i = 0; i < e->count && status == WK_OK; i++) {
        wk_cuda_put(e, i);
        status = wk_cuda_check_lane(&e->lane, err);
        if (status != WK_OK) wk_fail_context(err, "%s", wk_op_table[e->calls[i].node->op].name);
    }
    cudaError_t error = cudaStreamEndCapture(e->stream, graph);
    WK_TRY(status);
    return wk_cuda_fail(error, "capturing", err);
}

static wk_status allocate(wk_executable *e, wk_error *err)
{
    WK_TRY(wk_cuda_alloc(e->backend, e->lane.peak + WK_CUDA_ALIGNMENT, (void **)&e->lane.scratch,
                         err));
    e->scratch_size = e->lane.peak + WK_CUDA_ALIGNMENT;
    for (size_t i = 0; i < e->lane.regions.count; i++) {
        wk_cuda_region *region = &e->lane.regions.items[i];
        wk_cuda_buffer *buffer = (wk_cuda_buffer *)region->buffer;
        if (!region->wanted) continue;
        if (!buffer->shadow)
            WK_TRY(wk_cuda_alloc(e->backend, wk_cuda_shadow_size(&buffer->base),
                                 (void **)&buffer->shadow, err));
        region->shadow = buffer->shadow;
    }
    return WK_OK;
}

wk_status wk_cuda_make_graph(wk_executable *e, wk_error *err)
{
    cudaGraph_t graph = NULL;
    WK_TRY(capture(e, &graph, err));
    (void)cudaGraphDestroy(graph);
    graph = NULL;
    WK_TRY(allocate(e, err));
    WK_TRY(capture(e, &graph, err));
    cudaError_t error = cudaGraphInstantiate(&e->graph, graph, 0);
    (void)cudaGraphDestroy(graph);
    WK_TRY(wk_cuda_fail(error, "making a graph", err));
    return wk_cuda_fail(cudaGraphUpload(e->graph, e->stream), "placing a graph on the device", err);
}
