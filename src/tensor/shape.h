// Shapes: how ops read them and the rules that give every op's result its own.
#ifndef WK_TENSOR_SHAPE_H
#define WK_TENSOR_SHAPE_H

#include "tensor/node.h"

/// Elements before an axis (or a run of axes), on it, and after it.
typedef struct wk_split {
    size_t outer, length, inner;
} wk_split;
wk_split wk_shape_split(wk_shape shape, int axis, int axes);

/// The length of the last axis, and whether an axis is the last.
static inline size_t wk_shape_width(wk_shape shape)
{
    return (size_t)shape.dim[shape.rank - 1];
}

static inline bool wk_shape_is_last(wk_shape shape, int axis)
{
    return axis == shape.rank - 1;
}

/// The shape with a new axis of this length at position `axis`.
wk_shape wk_shape_with(wk_shape shape, int axis, int length);

/// A matmul's operands and result as [stack,rows,columns].
typedef struct wk_matmul_sizes {
    int stack, m, n, k;
    bool shared_a, shared_b; // one matrix for the whole stack
} wk_matmul_sizes;
wk_matmul_sizes wk_matmul_measure(wk_shape a, wk_shape b, bool transpose_a, bool transpose_b);

/// How many sets of row parameters (bias, gain) a tensor holds: 1 for [N], S for [S,N].
int wk_row_stack(wk_shape row);

/// Types of the outputs of a node about to be recorded; asserts that the inputs fit.
void wk_shape_infer(const wk_graph *g, wk_op op, const wk_attrs *attrs, const wk_tensor *inputs,
                    size_t count, wk_type out[WK_OUTPUTS_MAX]);

#endif
