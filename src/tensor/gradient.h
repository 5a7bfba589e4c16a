// Gradient rules. A rule is called for one node after the gradient of its first output is complete;
// it records nodes and adds each wanted input's contribution. The rules lie in gradient_rules.c,
// one for each differentiable op of ops.def.
#ifndef WK_TENSOR_GRADIENT_H
#define WK_TENSOR_GRADIENT_H

#include "tensor/node.h"

typedef struct wk_reverse_pass wk_reverse_pass;

/// One node in the reverse sweep.
typedef struct wk_backward {
    wk_graph *g;
    wk_reverse_pass *sweep;
    wk_node node;
    wk_tensor dy; // gradient of output 0
} wk_backward;

wk_tensor wk_backward_input(const wk_backward *b, int i);
wk_tensor wk_backward_output(const wk_backward *b, int i);
/// Whether input i is given and leads to a parameter.
bool wk_backward_wants(const wk_backward *b, int i);

/// Adds a gradient with as many elements as input i.
void wk_backward_add(wk_backward *b, int i, wk_tensor gradient);
/// Adds a gradient that concerns only the part of input i from `start` on along an axis.
void wk_backward_add_part(wk_backward *b, int i, wk_tensor gradient, int axis, int start);
/// Adds transpose(x) dy, the gradient of a matrix input i. Products with few rows, as in an
/// unrolled recurrence, are joined into one product over all their rows.
void wk_backward_add_product(wk_backward *b, int i, wk_tensor x, wk_tensor dy);
/// Adds the column sums of dx, the gradient of a row of biases i; joined like products.
void wk_backward_add_column_sum(wk_backward *b, int i, wk_tensor dx);

/// Up to this many rows products and column sums are joined; beyond it each is large enough.
enum { WK_JOINED_ROWS = 256 };

// The rules: void wk_gradient_matmul(wk_backward *b) and so on.
#define DIFFERENTIABLE(name) void wk_gradient_##name(wk_backward *b);
#define CONSTANT(name)
#define ONCE(name)
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits) gradient(name)
#include "tensor/ops.def"
#undef OP
#undef DIFFERENTIABLE
#undef CONSTANT
#undef ONCE

#endif
