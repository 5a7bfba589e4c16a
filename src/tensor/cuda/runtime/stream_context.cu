// What calls need from their stream's context while they are captured: scratch memory, the
// addresses of bf16 copies, and which of those are up to date.
#include "tensor/cuda/runtime/backend.cuh"

wk_ptr<void> wk_cuda_scratch(const wk_cuda_call *c, size_t bytes)
{
    wk_cuda_stream_context *context = c->context;
    // While the size is measured nothing runs, and any address will do.
    char *base = context->scratch ? context->scratch : (char *)(uintptr_t)WK_CUDA_ALIGNMENT;
    void *memory = base + context->used;
    context->used += (bytes + WK_CUDA_ALIGNMENT - 1) / WK_CUDA_ALIGNMENT * WK_CUDA_ALIGNMENT;
    if (context->used > context->peak) context->peak = context->used;
    return wk_ptr<void>(memory);
}

// Several copies together may cover the span.
bool wk_cuda_is_fresh(const wk_cuda_stream_context *context, wk_cuda_span span)
{
    for (bool grown = true; grown && span.begin < span.end;) {
        grown = false;
        for (size_t i = 0; i < context->copies->fresh.count; i++) {
            wk_cuda_span known = context->copies->fresh.items[i];
            if (known.begin > span.begin || known.end <= span.begin) continue;
            span.begin = known.end;
            grown = true;
        }
    }
    return span.begin >= span.end;
}

static void touch(wk_cuda_stream_context *context, const void *begin, const void *end, bool write)
{
    wk_access access = {(uintptr_t)begin, (uintptr_t)end, write};
    if (begin && !wk_array_push(&context->copies->touched, access)) context->failed = true;
}

static void touch_all(wk_cuda_stream_context *context, const wk_cuda_memory *m, bool write)
{
    touch(context, m->x, (const char *)m->x + m->size, write);
    touch(context, m->bf16.begin, m->bf16.end, write);
}

void wk_cuda_refreshed(wk_cuda_stream_context *context, wk_cuda_span span)
{
    touch(context, span.begin, span.end, true);
    if (!wk_array_push(&context->copies->fresh, span)) context->failed = true;
}

void wk_cuda_reads(wk_cuda_stream_context *context, const wk_cuda_memory *memory)
{
    touch_all(context, memory, false);
}

void wk_cuda_writes(wk_cuda_stream_context *context, const wk_cuda_memory *memory)
{
    wk_cuda_span stale = memory->bf16;
    size_t kept = 0;
    touch_all(context, memory, true);
    for (size_t i = 0; i < context->copies->fresh.count; i++) {
        wk_cuda_span known = context->copies->fresh.items[i];
        if (known.end <= stale.begin || known.begin >= stale.end)
            context->copies->fresh.items[kept++] = known;
    }
    context->copies->fresh.count = kept;
}

wk_out wk_call_store(const wk_cuda_call *c, int i)
{
    wk_out out = {wk_call_out(c, i), NULL};
    if (c->precision != WK_CUDA_BF16 || !(c->bf16_outputs >> i & 1)) return out;
    out.bf16 = c->out_bf16[i];
    c->context->emitted |= 1u << i;
    if (!(c->f32_outputs >> i & 1)) out.x = NULL;
    return out;
}

wk_in wk_call_load(const wk_cuda_call *c, int i)
{
    if (c->precision == WK_CUDA_BF16 && c->bf16_inputs >> i & 1) return {NULL, c->in_bf16[i]};
    return {wk_call_in(c, i), NULL};
}

wk_in wk_call_operand(const wk_cuda_call *c, int i)
{
    return {wk_call_in(c, i), c->in_bf16[i]};
}
