// A GRU layer for small networks of the tests; the world model has its cell's weights apart.
#ifndef WK_TESTS_NN_GRU_H
#define WK_TESTS_NN_GRU_H

#include "nn/params.h"

/// One step of the cell from state h [..,D] on x [..,K]: "gru/w" [K+D,3D], "gru/b", "gru/gain" and
/// "gru/bias" [3D].
static inline wk_tensor gru_step(wk_scope *scope, wk_tensor x, wk_tensor h)
{
    wk_graph *g = scope->g;
    if (!wk_tensor_exists(x) || !wk_tensor_exists(h)) return h;
    wk_shape shape = wk_graph_shape(g, h);
    int axis = shape.rank - 1, parts = 3 * shape.dim[axis];
    wk_tensor both = wk_graph_concat(g, (wk_tensor[]){x, h}, 2, axis);
    if (!wk_tensor_exists(both)) return both;
    int width = wk_graph_shape(g, both).dim[axis];
    wk_init zeros = {.kind = WK_INIT_ZEROS}, ones = {.kind = WK_INIT_ONES};
    wk_tensor w = wk_scope_weight(scope, "gru", "w", WK_SHAPE(width, parts),
                                  (wk_init){WK_INIT_GLOROT, width, parts});
    wk_tensor b = wk_scope_weight(scope, "gru", "b", WK_SHAPE(parts), zeros);
    wk_tensor gain = wk_scope_weight(scope, "gru", "gain", WK_SHAPE(parts), ones);
    wk_tensor bias = wk_scope_weight(scope, "gru", "bias", WK_SHAPE(parts), zeros);
    return wk_graph_gru(g, wk_graph_matmul(g, both, w), b, gain, bias, h, 1e-3f);
}

#endif
