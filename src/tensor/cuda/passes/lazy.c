#include "tensor/cuda/passes/lazy.h"
#include "tensor/cuda/passes/fusion.h"
#include "tensor/cuda/passes/op_formats.h"
#include "tensor/shape.h"

#include <stdlib.h>

// What a tensor would be read as, by root.
typedef struct reading {
    bool able;    // its node can be read through, as terms
    bool bytes;   // or as the bytes of an image
    bool blocked; // some reader needs it materialised
    int terms;
    unsigned row_ops; // that are read through on the way
} reading;

enum { CUT = 1, JOINED = 2, SHIFTED = 4 };

// Whole rows of a root.
static bool is_rows(const wk_graph *g, int tensor)
{
    const wk_tensor_info *x = wk_info(g, tensor);
    size_t width = wk_shape_width(wk_info(g, x->root)->type.shape);
    return x->offset % width == 0 && wk_shape_width(x->type.shape) == width;
}

static bool is_candidate(const wk_graph *g, const wk_node *node)
{
    const wk_tensor_info *out = wk_info(g, node->outputs);
    if (out->output || out->type.dtype != WK_F32 || node->input_count > WK_TERMS_MAX) return false;
    wk_shape from = wk_info(g, wk_node_inputs(g, node)[0])->type.shape;
    switch (node->op) {
    case WK_OP_add_n:
        return true;
    case WK_OP_slice:
        return from.rank >= 2 && (wk_shape_is_last(from, node->attrs.slice.axis) ||
                                  (from.rank == 3 && node->attrs.slice.axis == 1));
    case WK_OP_concat:
        return !wk_shape_is_last(from, node->attrs.concat.axis) && wk_plan_joins(g, node);
    default:
        return false;
    }
}

// What a node does with rows.
static unsigned row_op(const wk_graph *g, const wk_node *node)
{
    wk_shape from = wk_info(g, wk_node_inputs(g, node)[0])->type.shape;
    if (node->op == WK_OP_concat) return JOINED;
    return node->op == WK_OP_slice && !wk_shape_is_last(from, node->attrs.slice.axis) ? CUT : 0;
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
    if (node->op == WK_OP_image) by_root[node->outputs].bytes = !wk_info(g, node->outputs)->output;
    if (node->output_count != 1 || !is_candidate(g, node)) return;
    reading r = {.able = true};
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
    r.able = r.able && r.terms <= WK_TERMS_MAX;
    by_root[node->outputs] = r;
}

// Backwards: who needs its inputs written.
static void choose(wk_plan *plan, int step, const wk_cuda_limits *limits, reading *by_root)
{
    const wk_graph *g = plan->graph;
    const wk_node *node = &g->nodes.items[plan->nodes[step]];
    bool grouped = wk_plan_is_grouped(plan, step);
    const reading *r = &by_root[node->outputs];
    bool terms = !wk_is_off(limits, WK_PART_LAZY_TERMS);
    bool lazy =
        !grouped && node->output_count == 1 && ((r->able && terms) || r->bytes) && !r->blocked;
    plan->lazy[plan->nodes[step]] = lazy;
    for (int i = 0; i < node->input_count; i++) {
        int tensor = wk_node_inputs(g, node)[i];
        if (!tensor) continue;
        const wk_tensor_info *info = wk_info(g, tensor);
        bool all = info->offset == 0 && wk_shape_count(info->type.shape) ==
                                            wk_shape_count(wk_info(g, info->root)->type.shape);
        unsigned reads = wk_op_reads(g, node, i, limits);
        bool takes =
            by_root[info->root].bytes ? reads & WK_READS_BYTES : lazy || reads & WK_READS_TERMS;
        bool through = !grouped && takes && (lazy || all);
        if (!through) by_root[info->root].blocked = true;
    }
}

bool wk_plan_find_lazy(wk_plan *plan, const wk_cuda_limits *limits)
{
    const wk_graph *g = plan->graph;
    reading *by_root = calloc(g->tensors.count, sizeof *by_root);
    if (!by_root) return false;
    for (size_t step = 0; step < plan->node_count; step++)
        judge(g, &g->nodes.items[plan->nodes[step]], by_root);
    for (int step = (int)plan->node_count - 1; step >= 0; step--)
        choose(plan, step, limits, by_root);
    free(by_root);
    return true;
}
