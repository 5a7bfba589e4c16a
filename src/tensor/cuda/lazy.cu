// Sums and slices that are never written: their one kind of reader, a kernel that takes its input
// as terms, adds up the parts where they lie. The gradients of imagined features are such sums: of
// the rows of a step, of some of their columns, from several heads and from the step after it.
#include "tensor/cuda/lane.cuh"
extern "C" {
#include "tensor/plan.h"
}

#include <stdlib.h>

// Which rows and columns of a tensor are read: row r is row r / rows * stack + first + r % rows.
typedef struct window {
    size_t rows, stack, first; // rows 0: all of them, as they are
    size_t col;
} window;

static bool is_last_axis(wk_shape shape, int axis)
{
    return axis == shape.rank - 1;
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

static void add_term(const wk_cuda_call *c, int input, window w, wk_terms *terms)
{
    wk_shape shape = wk_call_input_shape(c, input);
    size_t width = (size_t)shape.dim[shape.rank - 1];
    wk_term *t = &terms->item[terms->count++];
    assert(terms->count <= WK_TERMS);
    wk_in x = wk_call_load(c, input);
    size_t begin = w.first * width + w.col;
    t->x = {x.x ? x.x + begin : NULL, x.half ? x.half + begin : NULL};
    t->by_rows = wk_divisor_of(w.rows ? (unsigned)w.rows : 1u << 30);
    t->row = width;
    t->stack = w.stack * width;
    t->wide = t->x.aligned4() && t->row % 4 == 0 && t->stack % 4 == 0;
}

static void collect(const wk_cuda_call *c, int input, window w, wk_terms *terms)
{
    int root = wk_info(c->g, wk_node_inputs(c->g, c->node)[input])->root;
    const wk_cuda_call *lazy = c->lane->lazy ? c->lane->lazy[root] : NULL;
    if (!lazy) {
        add_term(c, input, w, terms);
        return;
    }
    if (lazy->node->op == WK_OP_slice) w = through_slice(lazy, w);
    for (int i = 0; i < lazy->node->input_count; i++)
        collect(lazy, i, w, terms);
}

wk_terms wk_call_terms(const wk_cuda_call *c, int i)
{
    const wk_tensor_info *info = wk_info(c->g, wk_node_inputs(c->g, c->node)[i]);
    bool lazy = c->lane->lazy && c->lane->lazy[info->root];
    wk_shape shape = lazy ? wk_info(c->g, info->root)->type.shape : info->type.shape;
    wk_terms terms = {};
    terms.width = (unsigned)shape.dim[shape.rank - 1];
    terms.by_width = wk_divisor_of(terms.width);
    collect(c, i, {}, &terms);
    return terms;
}

// Choosing the nodes.

// What a tensor would be read as, by root.
typedef struct reading {
    bool able;    // its node can be read through
    bool blocked; // somebody needs it written
    int terms, cuts;
} reading;

// All of a root, with rows of the same width.
static bool is_whole(const wk_graph *g, int tensor)
{
    const wk_tensor_info *x = wk_info(g, tensor), *root = wk_info(g, x->root);
    wk_shape a = x->type.shape, b = root->type.shape;
    return x->offset == 0 && wk_shape_count(a) == wk_shape_count(b) &&
           a.dim[a.rank - 1] == b.dim[b.rank - 1];
}

static bool cuts_rows(const wk_graph *g, const wk_node *node)
{
    return node->op == WK_OP_slice &&
           !is_last_axis(wk_info(g, wk_node_inputs(g, node)[0])->type.shape,
                         node->attrs.slice.axis);
}

static bool is_candidate(const wk_graph *g, const wk_node *node)
{
    if (wk_info(g, node->outputs)->output || wk_info(g, node->outputs)->type.dtype != WK_F32)
        return false;
    if (node->op == WK_OP_add_n) return node->input_count <= WK_TERMS;
    if (node->op != WK_OP_slice) return false;
    wk_shape from = wk_info(g, wk_node_inputs(g, node)[0])->type.shape;
    return from.rank >= 2 && (is_last_axis(from, node->attrs.slice.axis) ||
                              (from.rank == 3 && node->attrs.slice.axis == 1));
}

// Forwards: which nodes can be read through, and as how many terms.
static void judge(const wk_graph *g, const wk_node *node, reading *by_root)
{
    reading *r = &by_root[node->outputs];
    r->able = is_candidate(g, node);
    for (int i = 0; i < node->input_count && r->able; i++) {
        int tensor = wk_node_inputs(g, node)[i], root = wk_info(g, tensor)->root;
        const reading *from = &by_root[root];
        bool written = !from->able;
        r->able = wk_info(g, root)->kind == WK_TEMPORARY && (written || is_whole(g, tensor));
        r->terms += written ? 1 : from->terms;
        if (!written && from->cuts > r->cuts) r->cuts = from->cuts;
    }
    if (cuts_rows(g, node)) r->cuts++;
    r->able = r->able && r->terms <= WK_TERMS && r->cuts <= 1;
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
