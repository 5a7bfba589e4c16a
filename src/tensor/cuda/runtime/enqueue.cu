// Enqueues one node on its stream, with those fused into it, and records the memory that it
// accesses.
#include "tensor/cuda/runtime/backend.cuh"

// Ops that are views wherever they stand.
#define wk_cuda_call_reshape NULL
#define wk_cuda_call_stop_gradient NULL
static wk_cuda_fn *const ops[WK_OP_COUNT] = {
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits) wk_cuda_call_##name,
#include "tensor/ops.def"
#undef OP
};

// All of a tensor. More than that would be its neighbours', for which others would wait.
static wk_cuda_memory memory_of(const wk_cuda_call *c, int tensor, wk_ptr<void> at,
                                wk_ptr<__nv_bfloat16> bf16_at)
{
    const __nv_bfloat16 *bf16 = bf16_at.base;
    const wk_tensor_info *info = wk_info(c->g, tensor);
    bool padded = c->context->formats[info->root] == WK_FORMAT_PADDED_BF16;
    size_t count = padded ? wk_plan_padded_size(info->type.shape) / sizeof *bf16
                          : wk_shape_count(info->type.shape);
    return {at.base, wk_type_size(info->type), {bf16, bf16 ? bf16 + count : NULL}};
}

static wk_cuda_memory input_memory(const wk_cuda_call *c, int i)
{
    return memory_of(c, wk_node_inputs(c->g, c->node)[i], c->in[i], c->in_bf16[i]);
}

static wk_cuda_memory output_memory(const wk_cuda_call *c, int i)
{
    return memory_of(c, c->node->outputs + i, c->out[i], c->out_bf16[i]);
}

// `count` numbers of a call's result.
static void write_part(const wk_cuda_call *c, size_t begin, size_t count)
{
    const float *x = wk_call_out(c, 0).base;
    const __nv_bfloat16 *bf16 = c->out_bf16[0].base;
    wk_cuda_memory part = {x ? x + begin : NULL, count * sizeof *x, {}};
    if (bf16) part.bf16 = {bf16 + begin, bf16 + begin + count};
    wk_cuda_writes(c->context, &part);
}

// A concatenation leaves alone what lies in its place already.
static void record_concat(const wk_cuda_call *c)
{
    int axis = c->node->attrs.concat.axis;
    const int *starts = c->g->extents.items + c->node->attrs.concat.starts;
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), axis, 1);
    size_t covered = 0, length = to.length * to.inner;
    for (int i = 0; i <= c->node->input_count; i++) {
        bool last = i == c->node->input_count;
        size_t begin = last ? length : (size_t)starts[i] * to.inner;
        size_t count = last ? 0 : wk_shape_count(wk_call_input_shape(c, i));
        if (begin > covered) write_part(c, covered, begin - covered);
        if (!last && !wk_call_lies_at(c, i, begin)) write_part(c, begin, count);
        covered = begin + count;
    }
}

static void record_writes(const wk_cuda_call *c)
{
    for (int i = 0; i < c->node->input_count; i++) {
        wk_cuda_memory memory = input_memory(c, i);
        if (wk_op_writes_input(c->node->op, i)) wk_cuda_writes(c->context, &memory);
    }
    for (int i = 0; i < c->node->output_count; i++) {
        wk_cuda_memory memory = output_memory(c, i);
        wk_cuda_writes(c->context, &memory);
    }
}

// In the place of a lazy result its inputs are read.
static void record_inputs(wk_cuda_stream_context *context, const wk_cuda_call *c)
{
    const int *inputs = wk_node_inputs(c->g, c->node);
    for (int i = 0; i < c->node->input_count; i++) {
        if (!inputs[i]) continue;
        const wk_tensor_info *info = wk_info(c->g, inputs[i]);
        const wk_cuda_call *lazy = context->lazy ? context->lazy[info->root] : NULL;
        wk_cuda_memory memory = input_memory(c, i);
        if (lazy)
            record_inputs(context, lazy);
        else
            wk_cuda_reads(context, &memory);
    }
}

static void record_reads(const wk_cuda_call *c)
{
    record_inputs(c->context, c);
}

// All of a recurrence, in the place of its first step.
static void enqueue_recurrence(const wk_cuda_call *call)
{
    call->context->used = 0;
    for (int i = 0; i < call->recurrence->nodes; i++) {
        record_reads(&call[i]);
        record_writes(&call[i]);
    }
    wk_cuda_observe(call);
}

static void launch(const wk_cuda_call *call)
{
    switch (call->kernel) {
    case WK_KERNEL_SKINNY_ACTION:
    case WK_KERNEL_SKINNY_HEAD:
    case WK_KERNEL_SKINNY_N:
        return wk_cuda_skinny_n(call);
    case WK_KERNEL_SKINNY_K:
        return wk_cuda_skinny_k(call);
    case WK_KERNEL_SKINNY_DW:
        return wk_cuda_skinny_dw(call);
    case WK_KERNEL_WGMMA:
        return wk_cuda_gemm_fused(call);
    case WK_KERNEL_CUBLASLT_BIAS:
        return wk_cuda_gemm_biased(call);
    case WK_KERNEL_CONV_RGB:
    case WK_KERNEL_CONV_PLANES:
        return wk_cuda_conv_planes(call);
    case WK_KERNEL_RGB_WEIGHTS:
    case WK_KERNEL_CONV_WEIGHTS:
        return wk_cuda_conv_weights(call);
    case WK_KERNEL_CONV_DIRECT:
        return wk_cuda_conv_direct(call);
    case WK_KERNEL_GRU_CELL:
        return wk_cuda_gru_cell(call);
    case WK_KERNEL_CLASS_QUADS:
        return wk_cuda_class_quads(call);
    case WK_KERNEL_SAMPLE_MANY:
        return wk_cuda_sample_many(call);
    default:
        assert(ops[call->node->op]);
        ops[call->node->op](call);
    }
}

// A call, and those that are fused into it.
static void enqueue_call(const wk_cuda_call *call)
{
    wk_cuda_stream_context *context = call->context;
    context->used = 0;
    context->emitted = 0;
    launch(call);
    for (unsigned k = 0; k <= call->fused_next; k++) {
        record_reads(&call[k]);
        if (wk_plan_joins(call->g, call[k].node))
            record_concat(&call[k]);
        else
            record_writes(&call[k]);
    }
    // Both leave their result in the call's own place.
    if (call->addend) record_inputs(context, call->addend);
    if (call->epilogue) record_inputs(context, call->epilogue);
    for (int k = 0; k < call->node->output_count; k++) {
        if (context->emitted >> k & 1) wk_cuda_refreshed(context, output_memory(call, k).bf16);
    }
}

void wk_cuda_enqueue(wk_executable *e, size_t i)
{
    e->copies.touched.count = 0;
    if (e->calls[i].kernel == WK_KERNEL_OBSERVE)
        enqueue_recurrence(&e->calls[i]);
    else if (e->calls[i].kernel != WK_KERNEL_NONE)
        enqueue_call(&e->calls[i]);
}
