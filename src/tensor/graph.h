// The graph: a computation recorded once in C and run many times.
//
// A graph is a list of nodes in recorded order over tensors whose shapes never change. Reverse mode
// (wk_graph_gradients) appends the gradient nodes to the same list; tensor/program.h removes what
// nothing needs, places every tensor in memory and runs the rest on a backend. Nodes run as if one
// after another in recorded order: a node that writes (Adam, store, counter) is seen by the nodes
// recorded after it and by no others.
//
// Tensors are contiguous and row-major with up to 5 axes. An op that speaks of a stack axis S takes
// it as the leading axis; an operand with 1 there, or without the axis, is shared by the stack.
// A wrong shape is a bug of the caller and asserts. Running out of memory while recording is
// remembered and reported by wk_program_create; builders then return tensors that may be passed on.
#ifndef WK_TENSOR_GRAPH_H
#define WK_TENSOR_GRAPH_H

#include "base/text.h"
#include "tensor/activation.h"
#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WK_RANK_MAX = 5 };

typedef struct wk_graph wk_graph;
typedef struct wk_buffer wk_buffer;
typedef struct wk_event wk_event; // tensor/queue.h

/// What the elements are.
typedef enum wk_dtype { WK_F32, WK_U8, WK_U64 } wk_dtype;

/// Bytes of one element.
size_t wk_dtype_size(wk_dtype dtype);

/// Lengths of the axes, the slowest first. Every length is at least 1.
typedef struct wk_shape {
    int rank;
    int dim[WK_RANK_MAX];
} wk_shape;

/// WK_SHAPE(4, 3) is the shape [4,3].
#define WK_SHAPE(...)                                                                              \
    ((wk_shape){.rank = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dim = {__VA_ARGS__}})

/// Number of elements.
size_t wk_shape_count(wk_shape shape);
bool wk_shape_equal(wk_shape a, wk_shape b);

/// A tensor of one graph; copy it freely. Zero is no tensor.
typedef struct wk_tensor {
    int id;
} wk_tensor;

static inline bool wk_tensor_exists(wk_tensor tensor)
{
    return tensor.id != 0;
}

/// An empty graph.
wk_status wk_graph_create(wk_graph **out, wk_error *err);
/// Frees the graph; its programs must be gone. NULL is allowed.
void wk_graph_destroy(wk_graph *g);

wk_shape wk_graph_shape(const wk_graph *g, wk_tensor x);
wk_dtype wk_graph_dtype(const wk_graph *g, wk_tensor x);
/// Number of nodes recorded so far.
size_t wk_graph_node_count(const wk_graph *g);

/// Nodes recorded from now on belong to this part ("encoder", "actor"), for timing;
/// gradient nodes belong to the part of the node they come from. The name is copied.
void wk_graph_section(wk_graph *g, const char *name);
// Where numbers come from and go to.

/// A tensor the user fills before a run (wk_program_upload); it keeps its content between runs.
wk_tensor wk_graph_input(wk_graph *g, wk_dtype dtype, wk_shape shape, const char *name);
/// A tensor that survives runs (weights, moments, counters), at `offset` bytes in `buffer`
/// (borrowed, must outlive the programs; offset a multiple of 4, of 8 for u64). With a NULL buffer
/// it starts as zeros in storage of the program, until wk_graph_bind says otherwise.
wk_tensor wk_graph_persistent(wk_graph *g, wk_dtype dtype, wk_shape shape, const char *name,
                              wk_buffer *buffer, size_t offset);
/// Gives a persistent tensor its place after it was recorded, before a program is made.
void wk_graph_bind(wk_graph *g, wk_tensor x, wk_buffer *buffer, size_t offset);
/// Fixed f32 values, copied.
wk_tensor wk_graph_constant(wk_graph *g, wk_shape shape, const float *values);
/// A constant tensor with every element `value`.
wk_tensor wk_graph_fill(wk_graph *g, wk_shape shape, float value);
/// Keeps x until the end of a run, for wk_program_download.
void wk_graph_output(wk_graph *g, wk_tensor x);

// Reverse mode.

/// Appends nodes that compute d(loss)/d(params[i]) into grads[i], for a loss of one element. Only
/// paths from the given parameters to the loss are followed, so several losses over one graph keep
/// to their own parameters. `params` may be any tensors. A parameter that the loss does not depend
/// on gets zeros. Contributions are added in a fixed order.
void wk_graph_gradients(wk_graph *g, wk_tensor loss, const wk_tensor *params, size_t count,
                        wk_tensor *grads);
/// The values of x, seen as a constant by reverse mode.
wk_tensor wk_graph_stop_gradient(wk_graph *g, wk_tensor x);

// Shape.

/// The elements of x under another shape of the same count; never copies.
wk_tensor wk_graph_reshape(wk_graph *g, wk_tensor x, wk_shape shape);
/// Elements start ... start+count-1 of an axis. Copies nothing where the axes before it have
/// length 1.
wk_tensor wk_graph_slice(wk_graph *g, wk_tensor x, int axis, int start, int count);
/// Tensors one after another along an axis; the other axes agree.
wk_tensor wk_graph_concat(wk_graph *g, const wk_tensor *x, size_t count, int axis);
/// Tensors of one shape [..] on a new leading axis: [count,..].
wk_tensor wk_graph_stack(wk_graph *g, const wk_tensor *x, size_t count);
/// x [..] repeated on a new axis: [..,copies,..], the new axis at position `axis`.
wk_tensor wk_graph_repeat(wk_graph *g, wk_tensor x, int axis, int copies);

// Arithmetic, elementwise on tensors of one shape.

wk_tensor wk_graph_add(wk_graph *g, wk_tensor a, wk_tensor b);
wk_tensor wk_graph_mul(wk_graph *g, wk_tensor a, wk_tensor b);
/// Sum of tensors of one shape, added from first to last.
wk_tensor wk_graph_add_n(wk_graph *g, const wk_tensor *x, size_t count);
/// scale * x + offset.
wk_tensor wk_graph_affine(wk_graph *g, wk_tensor x, float scale, float offset);
/// act(x).
wk_tensor wk_graph_activate(wk_graph *g, wk_tensor x, wk_activation activation);
/// max(x, floor); no gradient where x < floor. Free nats.
wk_tensor wk_graph_clamp_min(wk_graph *g, wk_tensor x, float floor);
/// Every row of x [R..,..] times its own weight [R..]: masks, discounts. The weight's shape is the
/// beginning of x's; axes of length 1 after it are allowed ([B,1] for x [B,D]). The weight has no
/// gradient: asking for it asserts.
wk_tensor wk_graph_scale_rows(wk_graph *g, wk_tensor x, wk_tensor weight);

/// Mean over one axis, which disappears.
wk_tensor wk_graph_mean(wk_graph *g, wk_tensor x, int axis);
/// Sum, or mean, of all elements: shape [1].
wk_tensor wk_graph_sum_all(wk_graph *g, wk_tensor x);
wk_tensor wk_graph_mean_all(wk_graph *g, wk_tensor x);

// Layers.

/// a [S,M,K] times b [S,K,N]: [S,M,N]. Either may be shared by the stack ([1,..] or rank 2); two
/// operands of rank 2 give rank 2.
wk_tensor wk_graph_matmul(wk_graph *g, wk_tensor a, wk_tensor b);
/// As wk_graph_matmul, added to `sum`, which has its shape.
wk_tensor wk_graph_matmul_add(wk_graph *g, wk_tensor a, wk_tensor b, wk_tensor sum);
/// act(x + bias) for x [..,N] and bias [N], or x [S,..,N] and bias [S,N].
wk_tensor wk_graph_bias_act(wk_graph *g, wk_tensor x, wk_tensor bias, wk_activation activation);
/// act(conv(x, w) + bias) without padding, images x [B,H,H,C], w [K,K,C,D], bias [D] or none:
/// [B,(H-K)/stride+1,..,D]. With a stack: x [S,B,H,H,C], w [S,K,K,C,D], bias [S,D].
wk_tensor wk_graph_conv(wk_graph *g, wk_tensor x, wk_tensor w, wk_tensor bias, int stride,
                        wk_activation activation);
/// act(transposed conv(x, w) + bias) without padding, x [B,H,H,C], w [K,K,D,C], bias [D] or none:
/// [B,(H-1)*stride+K,..,D]. With a stack: x [S,B,H,H,C], w [S,K,K,D,C], bias [S,D].
wk_tensor wk_graph_deconv(wk_graph *g, wk_tensor x, wk_tensor w, wk_tensor bias, int stride,
                          wk_activation activation);
/// The layer-norm GRU cell after its matrix product `pre` [..,3D]: parts = LN(pre + gate_bias) over
/// all 3D with gain and bias, split into reset, cand, update; r = sigmoid(reset), c = tanh(r*cand),
/// u = sigmoid(update - 1); gives u*c + (1-u)*h, [..,D]. h [..,D] is the state before; gate_bias,
/// gain and bias are [3D], or [S,3D] for pre [S,..,3D].
wk_tensor wk_graph_gru(wk_graph *g, wk_tensor pre, wk_tensor gate_bias, wk_tensor gain,
                       wk_tensor bias, wk_tensor h, float epsilon);
/// Images u8 of any shape as f32: x/255 - 0.5.
wk_tensor wk_graph_image(wk_graph *g, wk_tensor x);

// Distributions and losses.

/// Where a random node takes its bits: the value of `counter` (u64 [1]) picks the substream of the
/// stream `key` (wk_rng_key), the element's index the place in it. Give every random node its own
/// key; advance the counter once a run with wk_graph_count.
typedef struct wk_random {
    wk_tensor counter;
    uint64_t key;
} wk_random;

/// Uniform numbers in (low, high).
wk_tensor wk_graph_uniform(wk_graph *g, wk_shape shape, wk_random random, float low, float high);
/// Softmax over the last axis.
wk_tensor wk_graph_softmax(wk_graph *g, wk_tensor x);
/// One-hot samples of the categorical distributions softmax(logits) over the last axis. The
/// gradient is that of the probabilities (straight-through).
wk_tensor wk_graph_sample_onehot(wk_graph *g, wk_tensor logits, wk_random random);
/// One-hot of the maximum logit (the first of equals); a constant for reverse mode.
wk_tensor wk_graph_mode_onehot(wk_graph *g, wk_tensor logits);
/// Entropy of softmax(logits) over the last axis C, summed over the axis V before it: [..,V,C]
/// gives [..], or [1] from rank 2. For measuring: it has no gradient, and asking for it asserts.
wk_tensor wk_graph_entropy(wk_graph *g, wk_tensor logits);
/// KL(softmax(p) || softmax(q)) over the last axis C, summed over the axis V before it: logits
/// [..,V,C] each give [..], or [1] from rank 2. Stop a side's gradient for balancing.
wk_tensor wk_graph_kl(wk_graph *g, wk_tensor p, wk_tensor q);
/// The actor's distribution, a normal cut to [-1, 1] in each dimension: raw [..,2A] holds m then s,
/// mean = tanh(m), std = 2*sigmoid(s/2) + 0.1. Gives reparameterised samples [..,A] clipped to
/// +-(1 - 1e-6), straight-through.
wk_tensor wk_graph_truncated_normal_sample(wk_graph *g, wk_tensor raw, wk_random random,
                                           wk_sample_gradient gradient);
/// Its mode, clipped the same way: [..,A]. A constant for reverse mode.
wk_tensor wk_graph_truncated_normal_mode(wk_graph *g, wk_tensor raw);
/// Its entropy summed over A: [..], or [1] from rank 1.
wk_tensor wk_graph_truncated_normal_entropy(wk_graph *g, wk_tensor raw);
/// 0.5 * sum over the last `axes` axes of (x - target)^2: [..], or [1] if nothing is left. The
/// target has x's shape, or lacks x's leading stack axis (or has 1 there). The gradient goes to x
/// only.
wk_tensor wk_graph_half_squared_error(wk_graph *g, wk_tensor x, wk_tensor target, int axes);
/// G[t] = reward[t] + discount*((1-lambda)*value[t+1] + lambda*G[t+1]), G[H] = value[H], for
/// reward [H,N] and value [H+1,N]: [H,N]. With a stack: [S,H,N] and [S,H+1,N].
wk_tensor wk_graph_lambda_return(wk_graph *g, wk_tensor reward, wk_tensor value, float discount,
                                 float lambda);
/// scale times the spread over the stack (divided by S, not S-1) of x [S,..,F], mean over the last
/// axis: [..] (or [1] from rank 2). Where the deviation is zero its gradient is zero.
wk_tensor wk_graph_disagreement(wk_graph *g, wk_tensor x, wk_disagreement kind, float scale);

// Nodes that write. They always run.

/// Adam steps, counters and slow copies recorded from now on do nothing in runs in which `idle`
/// (u64 [1]) is not zero: how a member of a population that has no batch keeps its
/// state. What is merely stored is written all the same.
void wk_graph_set_idle(wk_graph *g, wk_tensor idle);

/// Euclidean norm of all the tensors together: [1]. With stack S > 1 every tensor is [S,..] and
/// each member has its own norm: [S].
wk_tensor wk_graph_global_norm(wk_graph *g, const wk_tensor *x, size_t count, int stack);

/// Constants of Adam.
typedef struct wk_adam_config {
    float beta1, beta2, epsilon;
    float clip;  // largest global norm of a gradient; 0 does not clip
    float decay; // every weight is multiplied by 1 - decay before the step
    // Where epsilon is added: PyTorch's sqrt(v / (1 - beta2^t)) + epsilon, or Keras' sqrt(v) +
    // epsilon, of which the correction is a factor of the rate.
    bool keras_epsilon;
    bool joint_clip; // by the norm of all members of a stack together, which also skip together
} wk_adam_config;
/// beta 0.9 and 0.999, epsilon 1e-5 in PyTorch's place, clip 100 of each member, decay 1e-6.
wk_adam_config wk_adam_config_default(void);
/// Decides the step of one parameter group once a run: counts it in state u64 [S,2] = (steps done,
/// steps skipped), and gives the numbers that wk_graph_adam needs. `norm` [S] is the group's global
/// norm, `rate` f32 [1] the learning rate. A member whose norm is not finite, or a set `flag` (u64
/// [1], may be absent), skips the step: nothing of that member is written.
wk_tensor wk_graph_adam_begin(wk_graph *g, wk_tensor norm, wk_tensor rate, wk_tensor state,
                              wk_tensor flag, wk_adam_config config);
/// One Adam step on a persistent weight with moments m and v of its shape. With S members in `step`
/// the weight is [S,..].
void wk_graph_adam(wk_graph *g, wk_tensor weight, wk_tensor m, wk_tensor v, wk_tensor gradient,
                   wk_tensor step, wk_adam_config config);
/// Sets `flag` (persistent u64 [1]) to 1 if an element of x is not finite; never clears it.
void wk_graph_check_finite(wk_graph *g, wk_tensor x, wk_tensor flag);
/// Writes x into a persistent tensor of the same shape and type.
void wk_graph_store(wk_graph *g, wk_tensor destination, wk_tensor x);
/// As store, in runs in which `counter` (u64 [1]) is a multiple of `period`: the slow copy.
void wk_graph_store_every(wk_graph *g, wk_tensor destination, wk_tensor x, wk_tensor counter,
                          uint64_t period);
/// Adds `step` to the persistent u64 [1] counter.
void wk_graph_count(wk_graph *g, wk_tensor counter, uint64_t step);

/// Every enqueued run of g reaches the event (borrowed, must outlive the programs) as soon as
/// nothing is left in it that writes memory which one of the other graphs uses, or reads what one
/// of them writes. Another queue that waits for the event, enqueued after the run, may run them
/// while the rest of the run is in flight. Called when everything is recorded and bound, before a
/// program is made. What they write, g reads only by nodes that write (store, Adam).
void wk_graph_signal(wk_graph *g, const wk_graph *const *others, size_t count, wk_event *event);

#endif
