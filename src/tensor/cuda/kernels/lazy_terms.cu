// Sums and slices that are never written: their one kind of reader, a kernel that takes its input
// as terms, adds up the parts where they lie. The gradients of imagined features are such sums: of
// the rows of a step, of some of their columns, from several heads and from the step after it.
#include "tensor/cuda/runtime/stream_context.cuh"

#include <stdlib.h>

// Which rows and columns of a tensor are read: row r is row r / rows * stack + first + r % rows,
// less those `before` the tensor's own.
typedef struct window {
    size_t rows, stack, first; // rows 0: all of them, as they are
    size_t before, height;     // height 0: as many as it has
    size_t col;
} window;

static size_t height_of(wk_shape shape)
{
    return wk_shape_count(shape) / wk_shape_width(shape);
}

static window through_slice(const wk_cuda_call *slice, window w)
{
    wk_shape from = wk_call_input_shape(slice, 0);
    size_t start = (size_t)slice->node->attrs.slice.start;
    if (wk_shape_is_last(from, slice->node->attrs.slice.axis)) {
        w.col += start;
        return w;
    }
    w.rows = (size_t)slice->node->attrs.slice.count;
    w.stack = (size_t)from.dim[1];
    w.first = start;
    return w;
}

// A part of a concatenation of rows.
static window through_concat(const wk_cuda_call *concat, int input, window w)
{
    wk_shape to = wk_call_output_shape(concat, 0), part = wk_call_input_shape(concat, input);
    const int *starts = concat->g->extents.items + concat->node->attrs.concat.starts;
    size_t inner = wk_shape_split(to, concat->node->attrs.concat.axis, 1).inner;
    w.before += (size_t)starts[input] * inner / wk_shape_width(to);
    w.height = height_of(part);
    return w;
}

static void add_term(const wk_cuda_call *c, int input, window w, wk_terms *terms)
{
    wk_shape shape = wk_call_input_shape(c, input);
    size_t width = wk_shape_width(shape);
    wk_term *t = &terms->item[terms->count++];
    assert(terms->count <= WK_TERMS_MAX);
    wk_in x = wk_call_load(c, input);
    t->x = {x.x ? x.x + w.col : NULL, x.bf16 ? x.bf16 + w.col : NULL};
    t->by_rows = wk_divisor_of(w.rows ? (unsigned)w.rows : 1u << 30);
    t->stack = (unsigned)w.stack;
    t->first = (unsigned)w.first;
    t->before = (unsigned)w.before;
    t->height = (unsigned)(w.height ? w.height : height_of(shape));
    t->row = width;
    bool pairs = !x.bf16 && width % 2 == 0 && (uintptr_t)t->x.x % sizeof(float2) == 0;
    t->unit = t->x.aligned4() && width % 4 == 0 ? 4 : pairs ? 2 : 1;
}

static void collect(const wk_cuda_call *c, int input, window w, wk_terms *terms)
{
    const wk_tensor_info *info = wk_info(c->g, wk_node_inputs(c->g, c->node)[input]);
    const wk_cuda_call *lazy = c->context->lazy ? c->context->lazy[info->root] : NULL;
    if (!lazy) {
        add_term(c, input, w, terms);
        return;
    }
    w.first += info->offset / wk_shape_width(wk_info(c->g, info->root)->type.shape);
    if (lazy->node->op == WK_OP_slice) w = through_slice(lazy, w);
    for (int i = 0; i < lazy->node->input_count; i++)
        collect(lazy, i, lazy->node->op == WK_OP_concat ? through_concat(lazy, i, w) : w, terms);
}

wk_terms wk_call_terms(const wk_cuda_call *c, int i)
{
    const wk_tensor_info *info = wk_info(c->g, wk_node_inputs(c->g, c->node)[i]);
    bool lazy = c->context->lazy && c->context->lazy[info->root];
    wk_shape shape = lazy ? wk_info(c->g, info->root)->type.shape : info->type.shape;
    wk_terms terms = {};
    terms.width = (unsigned)wk_shape_width(shape);
    terms.by_width = wk_divisor_of(terms.width);
    collect(c, i, {}, &terms);
    return terms;
}

wk_ptr<const uint8_t> wk_call_bytes(const wk_cuda_call *c, int i)
{
    const wk_tensor_info *info = wk_info(c->g, wk_node_inputs(c->g, c->node)[i]);
    const wk_cuda_call *lazy = c->context->lazy ? c->context->lazy[info->root] : NULL;
    if (!lazy || lazy->node->op != WK_OP_image) return NULL;
    return wk_call_at<const uint8_t>(lazy, 0);
}

bool wk_cuda_keep_lazy(wk_cuda_stream_context *context, const wk_cuda_call *calls, size_t count,
                       const wk_plan *plan)
{
    context->lazy =
        (const wk_cuda_call **)calloc(plan->graph->tensors.count, sizeof *context->lazy);
    if (!context->lazy) return false;
    for (size_t i = 0; i < count; i++) {
        if (!plan->lazy[plan->nodes[i]]) continue;
        context->lazy[calls[i].node->outputs] = &calls[i];
    }
    return true;
}
