// What calls need from their stream's context while they are captured: scratch memory, the
// addresses of bf16 copies, and which of those are up to date.
#include "tensor/cuda/runtime/backend.cuh"

void *wk_cuda_scratch(const wk_cuda_call *c, size_t bytes)
{
    wk_cuda_stream_context *context = c->context;
    // While the size is measured nothing runs, and any address will do.
    char *base = context->scratch ? context->scratch : (char *)(uintptr_t)WK_CUDA_ALIGNMENT;
    void *memory = base + context->used;
    context->used += (bytes + WK_CUDA_ALIGNMENT - 1) / WK_CUDA_ALIGNMENT * WK_CUDA_ALIGNMENT;
    if (context->used > context->peak) context->peak = context->used;
    return memory;
}

static wk_cuda_region *region_of(wk_cuda_stream_context *context, const void *x)
{
    const char *at = (const char *)x;
    for (size_t i = 0; i < context->copies->regions.count; i++) {
        wk_cuda_region *region = &context->copies->regions.items[i];
        if (at >= region->base && at < region->base + region->size) return region;
    }
    return NULL;
}

__nv_bfloat16 *wk_cuda_shadow(wk_cuda_stream_context *context, const float *x)
{
    wk_cuda_region *region = region_of(context, x);
    if (!region) return NULL;
    region->wanted = true;
    char *shadow = region->shadow ? region->shadow : (char *)(uintptr_t)WK_CUDA_ALIGNMENT;
    return (__nv_bfloat16 *)(shadow + (size_t)((const char *)x - region->base) / 2);
}

bool wk_cuda_is_padded(const wk_cuda_call *c, int i)
{
    int root = wk_info(c->g, wk_node_inputs(c->g, c->node)[i])->root;
    return c->context->formats[root] == WK_FORMAT_PADDED_BF16;
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

static bool is_name(const void *x)
{
    return (uintptr_t)x >= WK_PLAN_NAMES;
}

wk_cuda_span wk_cuda_bytes(wk_cuda_stream_context *context, const void *at, size_t size)
{
    const char *begin = (const char *)at;
    if (!is_name(at)) return {begin, begin + size};
    const wk_cuda_region *names = region_of(context, at);
    begin = names->shadow + (size_t)(begin - names->base) / 2;
    return {begin, begin + size / 2};
}

// For dependencies, bf16 copies are separate memory, in the upper half of the address space.
// Tensors in bf16 alone share memory with other steps' floats.
static void touch(wk_cuda_stream_context *context, wk_cuda_span span, bool copy, bool write)
{
    uint64_t half = copy && !is_name(span.begin) ? (uint64_t)1 << 63 : 0;
    wk_cuda_span bytes = wk_cuda_bytes(context, span.begin, (size_t)(span.end - span.begin));
    wk_access access = {(uintptr_t)bytes.begin + half, (uintptr_t)bytes.end + half, write};
    if (!wk_array_push(&context->copies->touched, access)) context->failed = true;
}

void wk_cuda_refreshed(wk_cuda_stream_context *context, wk_cuda_span span)
{
    touch(context, span, true, true);
    if (!wk_array_push(&context->copies->fresh, span)) context->failed = true;
}

void wk_cuda_reads(wk_cuda_stream_context *context, const void *begin, size_t size)
{
    wk_cuda_span span = {(const char *)begin, (const char *)begin + size};
    touch(context, span, false, false);
    touch(context, span, true, false);
}

void wk_cuda_writes(wk_cuda_stream_context *context, const void *begin, size_t size)
{
    wk_cuda_span span = {(const char *)begin, (const char *)begin + size};
    touch(context, span, false, true);
    touch(context, span, true, true);
    size_t kept = 0;
    for (size_t i = 0; i < context->copies->fresh.count; i++) {
        wk_cuda_span known = context->copies->fresh.items[i];
        if (known.end <= span.begin || known.begin >= span.end)
            context->copies->fresh.items[kept++] = known;
    }
    context->copies->fresh.count = kept;
}

wk_out wk_call_store(const wk_cuda_call *c, int i)
{
    wk_out out = {wk_call_out(c, i), NULL};
    if (c->precision != WK_CUDA_BF16 || !(c->matrices >> i & 1)) return out;
    out.half = wk_cuda_shadow(c->context, out.x);
    c->context->emitted |= 1u << i;
    if (!(c->numbers >> i & 1)) out.x = NULL;
    return out;
}

wk_in wk_call_load(const wk_cuda_call *c, int i)
{
    wk_in in = {wk_call_in(c, i), NULL};
    if (c->precision == WK_CUDA_BF16 && c->halves >> i & 1)
        in = {NULL, wk_cuda_shadow(c->context, in.x)};
    return in;
}
