// A scope: one parameter set as it is used in one graph. Layers ask it for weights by name; the
// first graph to ask declares them, later ones and later calls get the same.
#ifndef WK_NN_SCOPE_H
#define WK_NN_SCOPE_H

#include "nn/params.h"

typedef struct wk_scope wk_scope;

/// The use of `params` in `g`, both borrowed.
wk_status wk_scope_create(wk_params *params, wk_graph *g, wk_scope **out, wk_error *err);
/// NULL is allowed. The graph keeps the weights' tensors.
void wk_scope_destroy(wk_scope *scope);

wk_graph *wk_scope_graph(const wk_scope *scope);
const wk_params *wk_scope_params(const wk_scope *scope);
/// The set's number of members; 0 without a stack axis.
int wk_scope_stack(const wk_scope *scope);

/// The tensor of weight "layer/part" with this shape (without the stack axis).
wk_tensor wk_scope_weight(wk_scope *scope, const char *layer, const char *part, wk_shape shape,
                          wk_init init);

/// Makes the graph use every weight that the set has so far.
void wk_scope_use_all(wk_scope *scope);

/// Number of weights this graph uses, and their tensors and indices in the set.
size_t wk_scope_count(const wk_scope *scope);
const wk_tensor *wk_scope_tensors(const wk_scope *scope);
const wk_weight *wk_scope_param(const wk_scope *scope, size_t index);

/// Places the set if it was not yet, and binds the graph's tensors to its memory. After recording,
/// before a program is made. Reports memory that ran out while recording.
wk_status wk_scope_bind(wk_scope *scope, wk_backend *backend, wk_error *err);

/// Records nodes that copy every weight of `from` into the weight of the same name here, in runs in
/// which `counter` (u64 [1]) is a multiple of `period`: the slow copy. Both scopes are of one
/// graph.
void wk_scope_copy_every(wk_scope *scope, const wk_scope *from, wk_tensor counter, uint64_t period);

#endif
