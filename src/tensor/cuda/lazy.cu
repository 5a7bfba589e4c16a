// Sums and slices that are never written: their one kind of reader, a kernel that takes its input
// as terms, adds up the parts where they lie. The gradients of imagined features are such sums: of
// the rows of a step, of some of their columns, from several heads and from the step after it.
#include "tensor/cuda/lane.cuh"
extern "C" {
#include "tensor/plan.h"
}

#include <stdlib.h>

// Which rows and columns of a tensor are read: row r is row r / rows * stack + first + r % rows,
// less those `before` the tensor's own.
typedef struct window {
    size_t rows, stack, first; // rows 0: all of them, as they are
    size_t before, height;     // height 0: as many as it has
    size_t col;
} window;

static bool is_last_axis(wk_shape shape, int axis)
{
    return axis == shape.rank - 1;
}

static size_t width_of(wk_shape shape)
{
    return (size_t)shape.dim[shape.rank - 1];
}

static size_t height_of(wk_shape shape)
{
    return wk_shape_count(shape) / width_of(shape);
}

static window through_slice(const wk_cuda_call *slice, window w)
{
    wk_shape from = wk_call_input_shape(slice, 0);
    size_t start = (size_t)slice->node->attrs.slice.start;
    if (is_last_axis(from, slice->node->attrs.slice.axis)) {
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
    w.before += (size_t)starts[input] * inner / width_of(to);
    w.height = height_of(part);
    return w;
}

static void add_term(const wk_cuda_call *c, int input, window w, wk_terms *terms)
{
    wk_shape shape = wk_call_input_shape(c, input);
    size_t width = width_of(shape);
    wk_term *t = &terms->item[terms->count++];
    assert(terms->count <= WK_TERMS);
    wk_in x = wk_call_load(c, input);
    t->x = {x.x ? x.x + w.col : NULL, x.half ? x.half + w.col : NULL};
    t->by_rows = wk_divisor_of(w.rows ? (unsigned)w.rows : 1u << 30);
    t->stack = (unsigned)w.stack;
    t->first = (unsigned)w.first;
    t->before = (unsigned)w.before;
    t->height = (unsigned)(w.height ? w.height : height_of(shape));
    t->row = width;
    bool pairs = !x.half && width % 2 == 0 && (uintptr_t)t->x.x % sizeof(float2) == 0;
    t->unit = t->x.aligned4() && width % 4 == 0 ? 4 : pairs ? 2 : 1;
}

static void collect(const wk_cuda_call *c, int input, window w, wk_terms *terms)
{
    const wk_tensor_info *info = wk_info(c->g, wk_node_inputs(c->g, c->node)[input]);
    const wk_cuda_call *lazy = c->lane->lazy ? c->lane->lazy[info->root] : NULL;
    if (!lazy) {
        add_term(c, input, w, terms);
        return;
    }
    w.first += info->offset / width_of(wk_info(c->g, info->root)->type.shape);
    if (lazy->node->op == WK_OP_slice) w = through_slice(lazy, w);
    for (int i = 0; i < lazy->node->input_count; i++)
        collect(lazy, i, lazy->node->op == WK_OP_concat ? through_concat(lazy, i, w) : w, terms);
}

wk_terms wk_call_terms(const wk_cuda_call *c, int i)
{
    const wk_tensor_info *info = wk_info(c->g, wk_node_inputs(c->g, c->node)[i]);
    bool lazy = c->lane->lazy && c->lane->lazy[info->root];
    wk_shape shape = lazy ? wk_info(c->g, info->root)->type.shape : info->type.shape;
    wk_terms terms = {};
    terms.width = (unsigned)width_of(shape);
    terms.by_width = wk_divisor_of(terms.width);
    collect(c, i, {}, &terms);
    return terms;
}

// Choosing the nodes.

// What a tensor would be read as, by root.
typedef struct reading {
    bool able;    // its node can be read through
    bool blocked; // somebody needs it written
    int terms;
    unsigned row_ops; // that are read through on the way
} reading;

enum { CUT = 1, JOINED = 2, SHIFTED = 4 };

// Whole rows of a root.
static bool is_rows(const wk_graph *g, int tensor)
{
    const wk_tensor_info *x = wk_info(g, tensor);
    size_t width = width_of(wk_info(g, x->root)->type.shape);
    return x->offset % width == 0 && width_of(x->type.shape) == width;
}

static bool is_candidate(const wk_graph *g, const wk_node *node)
{
    const wk_tensor_info *out = wk_info(g, node->outputs);
    if (out->output || out->type.dtype != WK_F32 || node->input_count > WK_TERMS) return false;
    wk_shape from = wk_info(g, wk_node_inputs(g, node)[0])->type.shape;
    switch (node->op) {
    case WK_OP_add_n:
        return true;
    case WK_OP_slice:
        return from.rank >= 2 && (is_last_axis(from, node->attrs.slice.axis) ||
                                  (from.rank == 3 && node->attrs.slice.axis == 1));
    case WK_OP_concat:
        return !is_last_axis(from, node->attrs.concat.axis) && wk_cuda_joined_in_place(g, node);
    default:
        return false;
    }
}

// What a node does with rows.
static unsigned row_op(const wk_graph *g, const wk_node *node)
{
    wk_shape from = wk_info(g, wk_node_inputs(g, node)[0])->type.shape;
    if (node->op == WK_OP_concat) return JOINED;
    return node->op == WK_OP_slice && !is_last_axis(from, node->attrs.slice.axis) ? CUT : 0;
}

// Whether an op on rows can be read through if these are read through after it: rows are cut out of
// stacks first, and those of a part that was joined are its own.
static bool follows(unsigned op, unsigned inner)
{
    if (op == JOINED) return inner == 0;
    return op == 0 || !(inner & CUT);
}

// Forwards: which nodes can be read through, and as how many terms.
static void judge(const wk_graph *g, const wk_node *node, reading *by_root)
{
    if (node->output_count != 1 || !is_candidate(g, node)) return;
    reading r = {};
    r.able = true;
    for (int i = 0; i < node->input_count; i++) {
        int tensor = wk_node_inputs(g, node)[i], root = wk_info(g, tensor)->root;
        const reading *from = &by_root[root];
        unsigned shift = from->able && wk_info(g, tensor)->offset > 0 ? SHIFTED : 0;
        unsigned inner = from->able ? from->row_ops : 0, op = row_op(g, node);
        r.able = r.able && wk_info(g, root)->kind == WK_TEMPORARY &&
                 (!from->able || is_rows(g, tensor)) && follows(shift, inner) &&
                 follows(op, inner | shift);
        r.terms += from->able ? from->terms : 1;
        r.row_ops |= inner | shift | op;
    }
    r.able = r.able && r.terms <= WK_TERMS;
    by_root[node->outputs] = r;
}

static bool takes_terms(const wk_node *node, int input)
{
    return (node->op == WK_OP_softmax_grad && input == 1) ||
           (node->op == WK_OP_gru_grad && input == 6 && !node->attrs.norm.params);
}

static bool is_grouped(const wk_plan *plan, int step)
{
    for (size_t i = 0; i < plan->groups.count; i++)
        if (step >= plan->groups.items[i].begin && step <= plan->groups.items[i].end) return true;
    return false;
}

// Backwards: who needs its inputs written.
static void choose(wk_plan *plan, int step, reading *by_root)
{
    const wk_graph *g = plan->graph;
    const wk_node *node = &g->nodes.items[plan->nodes[step]];
    bool grouped = is_grouped(plan, step);
    const reading *r = &by_root[node->outputs];
    bool lazy = !grouped && node->output_count == 1 && r->able && !r->blocked;
    plan->lazy[plan->nodes[step]] = lazy;
    for (int i = 0; i < node->input_count; i++) {
        int tensor = wk_node_inputs(g, node)[i];
        if (!tensor) continue;
        const wk_tensor_info *info = wk_info(g, tensor);
        bool all = info->offset == 0 && wk_shape_count(info->type.shape) ==
                                            wk_shape_count(wk_info(g, info->root)->type.shape);
        bool through = lazy || (!grouped && takes_terms(node, i) && all);
        if (!through) by_root[info->root].blocked = true;
    }
}

bool wk_cuda_find_lazy(wk_plan *plan)
{
    const wk_graph *g = plan->graph;
    reading *by_root = (reading *)calloc(g->tensors.count, sizeof *by_root);
    if (!by_root) return false;
    for (size_t step = 0; step < plan->node_count; step++)
        judge(g, &g->nodes.items[plan->nodes[step]], by_root);
    for (int step = (int)plan->node_count - 1; step >= 0; step--)
        choose(plan, step, by_root);
    free(by_root);
    return true;
}

bool wk_cuda_keep_lazy(wk_cuda_lane *lane, wk_cuda_call *calls, size_t count, const wk_plan *plan)
{
    lane->lazy = (const wk_cuda_call **)calloc(plan->graph->tensors.count, sizeof *lane->lazy);
    if (!lane->lazy) return false;
    for (size_t i = 0; i < count; i++) {
        if (!plan->lazy[plan->nodes[i]]) continue;
        calls[i].lazy = calls[i].skipped = true;
        lane->lazy[calls[i].node->outputs] = &calls[i];
    }
    return true;
}
