// How the CPU backend runs a node: a function for each op that reads the sizes from the node and
// calls the kernel.
#ifndef WK_TENSOR_CPU_CALLS_H
#define WK_TENSOR_CPU_CALLS_H

#include "base/pool.h"
#include "tensor/node.h"
#include "tensor/shape.h"

/// One node about to run. Absent inputs are NULL.
typedef struct wk_cpu_call {
    const wk_graph *g;
    const wk_node *node;
    void *const *in;
    void *const *out;
    wk_pool *pool;
    void *workspace; // as large as wk_cpu_workspace requested
} wk_cpu_call;

typedef void wk_cpu_fn(const wk_cpu_call *c);

/// By op; NULL for ops that are always views.
extern wk_cpu_fn *const wk_cpu_table[WK_OP_COUNT];

/// Bytes of scratch memory that a node needs on so many threads.
size_t wk_cpu_workspace(const wk_graph *g, const wk_node *node, int threads);

// ops.def names the functions of the table.
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits) wk_cpu_fn wk_cpu_call_##name;
#include "tensor/ops.def"
#undef OP

static inline wk_shape wk_call_input_shape(const wk_cpu_call *c, int i)
{
    return wk_info(c->g, wk_node_inputs(c->g, c->node)[i])->type.shape;
}

static inline wk_shape wk_call_output_shape(const wk_cpu_call *c, int i)
{
    return wk_info(c->g, c->node->outputs + i)->type.shape;
}

static inline size_t wk_call_count(const wk_cpu_call *c)
{
    return wk_shape_count(wk_call_output_shape(c, 0));
}

/// A tensor [S,..,N] as S stacks of rows of N.
typedef struct wk_rows {
    size_t stacks, rows, cols;
} wk_rows;

static inline wk_rows wk_rows_of(wk_shape shape, int stacks)
{
    size_t cols = (size_t)shape.dim[shape.rank - 1];
    return (wk_rows){(size_t)stacks, wk_shape_count(shape) / cols / (size_t)stacks, cols};
}

#endif
