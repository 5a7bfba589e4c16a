// Internals of a graph: ops, their attributes, nodes and tensors. For the parts of the tensor
// engine and for backends; users of graphs need only graph.h.
#ifndef WK_TENSOR_NODE_H
#define WK_TENSOR_NODE_H

#include "base/memory.h"
#include "tensor/graph.h"

/// The ops of ops.def: WK_OP_matmul and so on.
typedef enum wk_op {
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits) WK_OP_##name,
#include "tensor/ops.def"
#undef OP
    WK_OP_COUNT
} wk_op;

/// What the planner must know about an op.
enum {
    WK_TRAIT_IN_PLACE = 1,    // output 0 may take the place of input 0
    WK_TRAIT_ACCUMULATES = 2, // output 0 may take the place of input 2, where it is given
    WK_TRAIT_RUNS = 4,        // always runs, although it writes nothing
};
/// The trait of an op that writes some of its inputs (a bit each) and therefore always runs.
#define WK_WRITES(mask) ((mask) << 8)

/// What reverse mode does at an op; see ops.def.
typedef enum wk_gradient_kind {
    WK_GRADIENT_DIFFERENTIABLE,
    WK_GRADIENT_CONSTANT,
    WK_GRADIENT_ONCE,
} wk_gradient_kind;

enum { WK_OUTPUTS_MAX = 5, WK_MANY_INPUTS = 1 << 30 };

/// One row of the manifest.
typedef struct wk_op_info {
    const char *name;
    int min_inputs, max_inputs, outputs;
    wk_gradient_kind gradient;
    unsigned traits;
} wk_op_info;
extern const wk_op_info wk_op_table[WK_OP_COUNT];

/// A bit for each input that the op writes; 0 for a pure op.
static inline unsigned wk_op_writes(wk_op op)
{
    return wk_op_table[op].traits >> 8;
}

/// Whether the op writes input i; there may be more inputs than bits.
static inline bool wk_op_writes_input(wk_op op, int i)
{
    return i < 24 && wk_op_writes(op) >> i & 1;
}

/// The small numbers of a node; which member holds depends on the op.
typedef union wk_attrs {
    wk_shape shape; // reshape: the output's
    struct {
        int axis, start, count;
    } slice;
    struct {
        int axis, length; // the output's length on the axis
        int starts;       // wk_graph.extents[starts ...]: where each input begins on the axis
        bool gaps;        // places that no input covers are zero
    } concat;
    struct {
        int axis, copies;
        float scale;
    } repeat;
    struct {
        int axis, axes; // axes `axis` ... `axis+axes-1` disappear
        float scale;
    } reduce;
    struct {
        float scale, offset;
    } affine;
    float floor; // clamp_min, clamp_min_grad
    struct {
        bool transpose_a, transpose_b;
        bool reduce; // sums the products of the stack into one
    } matmul;
    struct {
        wk_activation activation;
        int stack; // of the bias
    } bias_act;    // also act_grad, bias_act_grad
    int stack;     // column_sum, global_norm
    struct {
        int stride;
        wk_activation activation;
        wk_shape shape; // conv_dx, deconv_dx, conv_dw: the output's
    } conv;
    struct {
        float epsilon;
        bool params; // the gradients of the parameters are wanted
    } norm;          // gru and its gradient
    struct {
        uint64_t key;
        float low, high;
        wk_shape shape;              // uniform
        wk_sample_gradient gradient; // truncated_normal_sample
    } random;
    int axes; // half_squared_error and its gradient
    struct {
        float discount, lambda;
    } lambda_return;
    struct {
        wk_disagreement kind;
        float scale;
    } disagreement;
    wk_adam_config adam;
    uint64_t period; // store_every; for count the step
    wk_event *event; // mark
} wk_attrs;

/// One step of the computation.
typedef struct wk_node {
    wk_op op;
    int section;               // wk_graph.sections
    int inputs, input_count;   // wk_graph.links[inputs ...] are tensor ids; 0 is an absent input
    int outputs, output_count; // tensor ids outputs, outputs+1, ...
    wk_attrs attrs;
} wk_node;

/// Where a tensor's numbers live.
typedef enum wk_kind { WK_TEMPORARY, WK_INPUT, WK_PERSISTENT, WK_CONSTANT } wk_kind;

/// Element type and shape.
typedef struct wk_type {
    wk_dtype dtype;
    wk_shape shape;
} wk_type;

/// One tensor. A view has the elements of `root` from `offset` on and no memory of its own.
typedef struct wk_tensor_info {
    wk_type type;
    wk_kind kind;       // a view has its root's
    bool output;        // kept until the end of a run; set on roots
    int producer;       // node, or -1
    int root;           // this tensor itself unless it is a view
    size_t offset;      // elements into the root
    int writer;         // last node that writes it, or -1; kept on roots
    wk_buffer *buffer;  // persistent: may be NULL
    size_t place;       // bytes into the buffer
    const float *value; // constant: its elements
    const char *name;   // may be NULL
} wk_tensor_info;

struct wk_graph {
    WK_ARRAY(wk_node) nodes;
    WK_ARRAY(wk_tensor_info) tensors; // [0] stands for no tensor
    WK_ARRAY(int) links;
    WK_ARRAY(int) extents;
    WK_ARRAY(const char *) sections; // [0] is ""
    int section;                     // of the nodes recorded next
    wk_tensor idle;                  // see wk_graph_set_idle; may be absent
    wk_arena names;                  // and the values of constants
    bool failed;                     // memory ran out while recording
};

static inline const wk_tensor_info *wk_info(const wk_graph *g, int id)
{
    return &g->tensors.items[id];
}

static inline const int *wk_node_inputs(const wk_graph *g, const wk_node *node)
{
    return g->links.items + node->inputs;
}

/// Whether a node does nothing at run time because its output is a view.
static inline bool wk_node_is_view(const wk_graph *g, const wk_node *node)
{
    return node->output_count == 1 && wk_info(g, node->outputs)->root != node->outputs;
}

/// Bytes of all elements.
static inline size_t wk_type_size(wk_type type)
{
    return wk_shape_count(type.shape) * wk_dtype_size(type.dtype);
}

/// Records a node and gives its first output. After a failed allocation it records nothing and
/// gives no tensor.
wk_tensor wk_graph_emit(wk_graph *g, wk_op op, wk_attrs attrs, const wk_tensor *inputs,
                        size_t count);
/// WK_EMIT(g, matmul, attrs, a, b): wk_graph_emit with the inputs listed.
#define WK_EMIT(g, name, attrs, ...)                                                               \
    wk_graph_emit((g), WK_OP_##name, (attrs), (wk_tensor[]){__VA_ARGS__},                          \
                  sizeof((wk_tensor[]){__VA_ARGS__}) / sizeof(wk_tensor))
/// Records a node whose output is a view of x: `shape` elements from `offset` on.
wk_tensor wk_graph_emit_view(wk_graph *g, wk_op op, wk_attrs attrs, wk_tensor x, wk_shape shape,
                             size_t offset);
/// Records an event that is reached when these persistent tensors hold what the first `at` nodes
/// wrote; recorded as node `at`.
void wk_graph_mark(wk_graph *g, int at, const wk_tensor *x, size_t count, wk_event *event);
/// Output `index` of the node whose first output is `first`.
wk_tensor wk_graph_sibling(const wk_graph *g, wk_tensor first, int index);

/// Concat of inputs that begin at the given places of an axis of the given length; with gaps, what
/// they leave is zero.
wk_tensor wk_graph_assemble(wk_graph *g, const wk_tensor *x, const int *starts, size_t count,
                            int axis, int length, bool gaps);
/// Matmul with transposed operands; `reduce` sums over the stack; `sum`, where it exists, is added.
wk_tensor wk_graph_matmul_general(wk_graph *g, wk_tensor a, wk_tensor b, bool transpose_a,
                                  bool transpose_b, bool reduce, wk_tensor sum);

/// Whether two persistent tensors lie in the same memory.
static inline bool wk_tensors_overlap(const wk_tensor_info *a, const wk_tensor_info *b)
{
    return a->buffer && a->buffer == b->buffer && a->place < b->place + wk_type_size(b->type) &&
           b->place < a->place + wk_type_size(a->type);
}

/// Convolutions in all directions.
static inline bool wk_op_is_conv(wk_op op)
{
    return op == WK_OP_conv || op == WK_OP_conv_dx || op == WK_OP_deconv || op == WK_OP_deconv_dx ||
           op == WK_OP_conv_dw;
}

/// Ops whose first two inputs are multiplied.
static inline bool wk_op_is_product(wk_op op)
{
    return op == WK_OP_matmul || wk_op_is_conv(op);
}

#endif
