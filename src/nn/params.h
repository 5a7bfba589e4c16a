// A parameter set: the named weights of one network, or of several that are trained together. With
// a stack every weight has a leading axis S; the members differ by their initial values.
//
// A set is filled while its networks are first recorded, then placed once in device memory with its
// initial values. A scope is one set as it is used in one graph: layers ask it for weights by name;
// the first graph to ask declares them, later graphs and later calls get the same, and so the same
// memory.
#ifndef WK_NN_PARAMS_H
#define WK_NN_PARAMS_H

#include "base/memory.h"
#include "tensor/backend.h"
#include "tensor/graph.h"

/// How a weight starts.
typedef enum wk_init_kind {
    WK_INIT_ZEROS,
    WK_INIT_ONES,
    WK_INIT_GLOROT, // uniform on +-sqrt(6 / (fan_in + fan_out)), as Keras does by default
} wk_init_kind;

/// What a new weight needs to know. The fans matter only to WK_INIT_GLOROT.
typedef struct wk_init {
    wk_init_kind kind;
    int fan_in, fan_out;
} wk_init;

/// One weight of a set.
typedef struct wk_weight {
    const char *name; // without the set's name
    wk_shape shape;   // with the stack axis, if there is one
    wk_init init;
    size_t offset; // bytes into the set's buffer
    size_t count;  // elements
} wk_weight;

/// What a set is; copied on create.
typedef struct wk_params_config {
    const char *name; // "model", "critic": the first part of its tensors' names in files
    int stack;        // number of members S; 0 for weights without the stack axis
    uint64_t seed;    // weight NAME of member s starts from stream (seed, "init/SET/NAME", s)
} wk_params_config;

/// A set. Others only read it.
typedef struct wk_params {
    const char *name;
    int stack;
    uint64_t seed;
    WK_ARRAY(wk_weight) weights; // in the order of declaration
    size_t bytes;                // of all of them
    wk_buffer *buffer;           // their device memory; NULL before wk_params_place
    wk_arena names;
    bool failed; // memory ran out while weights were declared
} wk_params;

/// An empty set.
wk_status wk_params_create(const wk_params_config *config, wk_params **out, wk_error *err);
/// NULL is allowed; programs that use the set must be gone.
void wk_params_destroy(wk_params *params);

/// The index of weight `name` with this shape (without the stack axis), declaring it if it is new.
/// A different shape under a known name is a bug, and so is a new name after the set was placed.
/// Returns -1 when memory ran out, which wk_params_place then reports.
int wk_params_declare(wk_params *params, const char *name, wk_shape shape, wk_init init);

/// Puts the set into memory of `backend` (borrowed) with its initial values. Once.
wk_status wk_params_place(wk_params *params, wk_backend *backend, wk_error *err);

/// Gives every weight the value of the weight of the same name in `from`, a placed set of the same
/// weights: how a slow copy begins.
wk_status wk_params_copy(wk_params *params, const wk_params *from, wk_error *err);

/// The initial values of a weight, as wk_params_place writes them; for tests and tools.
void wk_params_initial(const wk_params *params, size_t index, float *values);

/// The use of a set in a graph, both borrowed. Others only read it.
typedef struct wk_scope {
    wk_params *params;
    wk_graph *g;
    WK_ARRAY(wk_tensor) tensors; // of the weights that the graph uses
    WK_ARRAY(int) indices;       // of these weights in the set
    bool failed;                 // memory ran out while recording
} wk_scope;

wk_status wk_scope_create(wk_params *params, wk_graph *g, wk_scope **out, wk_error *err);
/// NULL is allowed. The graph keeps the weights' tensors.
void wk_scope_destroy(wk_scope *scope);

/// The weight that tensor `index` stands for.
static inline const wk_weight *wk_scope_param(const wk_scope *scope, size_t index)
{
    return &scope->params->weights.items[scope->indices.items[index]];
}

/// The tensor of weight "layer/part" with this shape (without the stack axis).
wk_tensor wk_scope_weight(wk_scope *scope, const char *layer, const char *part, wk_shape shape,
                          wk_init init);

/// Makes the graph use every weight that the set has so far.
void wk_scope_use_all(wk_scope *scope);

/// Places the set if it was not yet, and binds the graph's tensors to its memory. After recording,
/// before a program is made. Reports memory that ran out while recording.
wk_status wk_scope_bind(wk_scope *scope, wk_backend *backend, wk_error *err);

/// Records nodes that copy every weight of `from` into the weight of the same name here, in runs in
/// which `counter` (u64 [1]) is a multiple of `period`: the slow copy. Both scopes are of one
/// graph.
void wk_scope_copy_every(wk_scope *scope, const wk_scope *from, wk_tensor counter, uint64_t period);

#endif
