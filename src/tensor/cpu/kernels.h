// The CPU kernels: the arithmetic of every op, forward and backward, as plain functions on float32
// arrays. They know nothing of graphs, allocate nothing and keep no state.
//
// Conventions, unless a declaration says otherwise:
// - Arrays are contiguous, row-major. Outputs are overwritten and must not overlap inputs;
//   "in place" marks the exceptions. Any extent may be 0.
// - `pool` may be NULL (work in the calling thread). Work is cut into pieces by sizes alone and
//   every sum has a fixed order, so results are the same bytes for any number of threads.
// - "stacks" is the leading axis S of several independent copies; a `_stride` of 0 says that all
//   copies share one array, any other value is the number of elements from one copy to the next.
// - A gradient pointer marked optional may be NULL: that gradient is then not computed.
// - `workspace` is scratch memory of the size the matching _workspace function gives, aligned to 64
//   bytes; its content means nothing between calls.
#ifndef WK_TENSOR_CPU_KERNELS_H
#define WK_TENSOR_CPU_KERNELS_H

#include "base/pool.h"
#include "base/random.h"
#include "tensor/activation.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Matrix products (gemm.c)

/// One product per stack entry, c[s] = op(a[s]) op(b[s]), with op(a) [m,k], op(b) [k,n], c [m,n].
typedef struct wk_matmul {
    size_t stacks, m, n, k;
    bool transpose_a;          // a is stored [k,m]
    bool transpose_b;          // b is stored [n,k]
    size_t stride_a, stride_b; // 0: shared by all stacks
    size_t stride_c;           // 0: the products of all stacks are summed, in order
    bool accumulate;
} wk_matmul;

void wk_cpu_matmul(const wk_matmul *p, const float *a, const float *b, float *c, wk_pool *pool);

// Convolutions (conv.c)
// NHWC, square kernels, no padding. A convolution maps the large image [batch, large, large,
// large_c] to the small one [batch, small, small, small_c], small = (large - kernel) / stride + 1;
// a transposed convolution maps small to large, large = (small - 1) * stride + kernel. Both use
// weights [kernel, kernel, large_c, small_c] and are each other's adjoint, so three functions serve
// both: the gradient of a transposed convolution's input is wk_cpu_conv of its output gradient.

typedef struct wk_conv {
    size_t batch, large, large_c, small_c, kernel, stride;
} wk_conv;

/// Extent of the small image; (large - kernel) must be a multiple of the stride or the remainder is
/// not looked at.
size_t wk_conv_small(const wk_conv *p);

/// Bytes of scratch that any of the three functions below needs on `threads` threads.
size_t wk_cpu_conv_workspace(const wk_conv *p, int threads);

/// y = act(conv(x, w) + bias): large to small. `bias` [small_c] may be NULL.
void wk_cpu_conv(const wk_conv *p, const float *x, const float *w, const float *bias,
                 wk_activation act, float *y, void *workspace, wk_pool *pool);

/// y = act(transposed conv(x, w) + bias): small to large; also the input gradient of wk_cpu_conv.
/// `bias` [large_c] may be NULL.
void wk_cpu_conv_transposed(const wk_conv *p, const float *x, const float *w, const float *bias,
                            wk_activation act, float *y, void *workspace, wk_pool *pool);

/// The weight gradient of either: `large` is the large-side array (input or output gradient) and
/// `small` the small-side one.
void wk_cpu_conv_weights(const wk_conv *p, const float *large, const float *small, float *dw,
                         void *workspace, wk_pool *pool);

// Bias and activation (activation.c)

/// Rows of `cols` numbers in `stacks` copies, with a bias per column.
typedef struct wk_bias_act {
    size_t stacks, rows, cols;
    size_t bias_stride; // cols, or 0 for one bias
    wk_activation act;
} wk_bias_act;

/// y = act(x + bias), in place allowed; `bias` may be NULL.
void wk_cpu_bias_act(const wk_bias_act *p, const float *x, const float *bias, float *y,
                     wk_pool *pool);

/// dx = dy act'(y), in place allowed; dbias (optional) = its column sums, over all stacks when the
/// bias is shared. dx may be NULL when act is WK_IDENTITY.
void wk_cpu_bias_act_backward(const wk_bias_act *p, const float *y, const float *dy, float *dx,
                              float *dbias, wk_pool *pool);

// The GRU cell (gru.c)

/// The cell after its matrix product: parts = LN(pre + gate_bias) over all 3 hidden, split into
/// reset, cand, update; r = sigmoid(reset), c = tanh(r cand), u = sigmoid(update + update_bias),
/// out = u c + (1 - u) h.
typedef struct wk_gru {
    size_t stacks, rows, hidden;
    size_t param_stride; // 3 hidden, or 0 for one set of parameters
    float eps;           // 1e-3
    float update_bias;   // -1
} wk_gru;

/// Maximum hidden units of a cell: a row's working copy is on the stack.
enum { WK_GRU_HIDDEN_MAX = 8192 };

/// The cell's parameters, each [3 hidden] per copy.
typedef struct wk_gru_params {
    const float *gate_bias, *gain, *bias;
} wk_gru_params;

/// Their gradients; all NULL when none is wanted.
typedef struct wk_gru_grads {
    float *gate_bias, *gain, *bias;
} wk_gru_grads;

/// pre [stacks, rows, 3 hidden], h and out [stacks, rows, hidden]; `mean` and `rstd` [stacks, rows]
/// are kept for the backward pass, which computes the gates again.
void wk_cpu_gru(const wk_gru *p, const float *pre, const wk_gru_params *params, const float *h,
                float *out, float *mean, float *rstd, wk_pool *pool);

size_t wk_cpu_gru_backward_workspace(const wk_gru *p);

/// dpre and dh from dout; dh is the direct path only (the matrix product has the other).
void wk_cpu_gru_backward(const wk_gru *p, const float *pre, const wk_gru_params *params,
                         const float *h, const float *mean, const float *rstd, const float *dout,
                         float *dpre, float *dh, const wk_gru_grads *grads, void *workspace,
                         wk_pool *pool);

// Moving data (data.c)

/// dst[r, :cols] = src[r, :cols], rows `src_row` and `dst_row` elements apart: one part of a
/// concatenation, a slice, and the gradients of both.
void wk_cpu_copy_columns(size_t rows, size_t cols, const float *src, size_t src_row, float *dst,
                         size_t dst_row, wk_pool *pool);

/// y = x; also the refresh of a slow copy of parameters.
void wk_cpu_copy(size_t n, const float *x, float *y, wk_pool *pool);

// Elementwise (data.c); in place allowed everywhere

void wk_cpu_fill(size_t n, float value, float *y, wk_pool *pool);

/// y = a + b
void wk_cpu_add(size_t n, const float *a, const float *b, float *y, wk_pool *pool);

/// y = a b
void wk_cpu_mul(size_t n, const float *a, const float *b, float *y, wk_pool *pool);

/// y = scale x + shift
void wk_cpu_affine(size_t n, float scale, float shift, const float *x, float *y, wk_pool *pool);

/// y = max(x, floor); for a scalar mean KL this is the free-nats rule.
void wk_cpu_clamp_min(size_t n, float floor, const float *x, float *y, wk_pool *pool);

/// dx = x >= floor ? dy : 0
void wk_cpu_clamp_min_backward(size_t n, float floor, const float *x, const float *dy, float *dx,
                               wk_pool *pool);

/// y[r,:] = weight[r] x[r,:]: masks and discounts.
void wk_cpu_scale_rows(size_t rows, size_t cols, const float *weight, const float *x, float *y,
                       wk_pool *pool);

/// y[i] = x[i] / 255 - 0.5
void wk_cpu_image_normalise(size_t n, const uint8_t *x, float *y, wk_pool *pool);

// Reductions (reduce.c)
// Sums run over fixed chunks with fixed lanes and are collected in double.

/// *y = scale * sum of x.
void wk_cpu_sum(size_t n, float scale, const float *x, float *y, wk_pool *pool);

/// y[r] = scale * sum of row r.
void wk_cpu_row_sums(size_t rows, size_t cols, float scale, const float *x, float *y,
                     wk_pool *pool);

/// y[c] = scale * sum of column c.
void wk_cpu_column_sums(size_t rows, size_t cols, float scale, const float *x, float *y,
                        wk_pool *pool);

/// y[r,:] = scale v[r]: the gradient of row sums; rows = 1 that of the sum of everything.
void wk_cpu_broadcast_rows(size_t rows, size_t cols, float scale, const float *v, float *y,
                           wk_pool *pool);

/// y[r,:] = scale v[:]: the gradient of column sums.
void wk_cpu_broadcast_columns(size_t rows, size_t cols, float scale, const float *v, float *y,
                              wk_pool *pool);

/// How many of x are NaN or infinite.
uint64_t wk_cpu_count_nonfinite(size_t n, const float *x, wk_pool *pool);

// Randomness (data.c)

/// Where an op's random words lie: element i reads word i % 4 of the Philox block `block + i / 4`
/// of (key, substream). Every backend reads the same.
typedef struct wk_draws {
    uint64_t key, substream, block;
} wk_draws;

/// y[i] = low + (high - low) u_i, u_i = wk_unit_float of the word of element i, inside (0, 1).
void wk_cpu_uniform(size_t n, const wk_draws *draws, float low, float high, float *y,
                    wk_pool *pool);

// Categorical variables (categorical.c)
// A variable is `classes` consecutive logits, at most 1024.

void wk_cpu_softmax(size_t variables, size_t classes, const float *x, float *y, wk_pool *pool);

/// dx = y (dy - sum of y dy), from the softmax output y. Also the gradient of the straight-through
/// sample, with y the probabilities that wk_cpu_sample_onehot gave.
void wk_cpu_softmax_backward(size_t variables, size_t classes, const float *y, const float *dy,
                             float *dx, wk_pool *pool);

/// Draws one class per variable and writes it as a one-hot row, with the probabilities for the
/// backward pass. The rule, in float32, is the same for every backend: m = max logit; e_c =
/// wk_weightf(logit_c - m) (vmath.h); s_c = s_{c-1} + e_c summed one by one from class 0; the class
/// is the number of c with s_c <= u s_last, u = wk_unit_float of the variable's word. A class of
/// weight 0 is never drawn.
void wk_cpu_sample_onehot(size_t variables, size_t classes, const float *logits,
                          const wk_draws *draws, float *onehot, float *probs, wk_pool *pool);

/// One-hot of the first largest logit: the mode, for acting without noise.
void wk_cpu_mode_onehot(size_t variables, size_t classes, const float *logits, float *onehot,
                        wk_pool *pool);

/// y[r] = entropy summed over the `variables` variables of row r; x are logits [rows, variables,
/// classes].
void wk_cpu_entropy(size_t rows, size_t variables, size_t classes, const float *x, float *y,
                    wk_pool *pool);

/// y[r] = KL(post || prior) summed over the `variables` variables of row r; both are logits.
void wk_cpu_kl(size_t rows, size_t variables, size_t classes, const float *post, const float *prior,
               float *y, wk_pool *pool);

/// Gradients of the KL to either side (each optional): dpost = dy dKL/dpost, dprior = dy
/// dKL/dprior.
void wk_cpu_kl_backward(size_t rows, size_t variables, size_t classes, const float *post,
                        const float *prior, const float *dy, float *dpost, float *dprior,
                        wk_pool *pool);

// The actor's truncated normal (normal.c)
// raw [rows, 2 dims] holds m then s: mean = tanh(m), std = 2 sigmoid(s/2) + 0.1, a normal truncated
// to [-1, 1] per dimension.

/// action [rows, dims] = the reparameterised sample of uniform u (one word per element), clipped to
/// +-(1 - 1e-6).
void wk_cpu_truncated_normal_sample(size_t rows, size_t dims, const float *raw,
                                    const wk_draws *draws, float *action, wk_pool *pool);

/// draw from daction, straight through the clip; `draws` as in the forward pass.
void wk_cpu_truncated_normal_sample_backward(size_t rows, size_t dims, const float *raw,
                                             const wk_draws *draws, wk_sample_gradient gradient,
                                             const float *daction, float *draw, wk_pool *pool);

/// action = the mode, clipped the same way.
void wk_cpu_truncated_normal_mode(size_t rows, size_t dims, const float *raw, float *action,
                                  wk_pool *pool);

/// y[r] = entropy summed over dims, in closed form.
void wk_cpu_truncated_normal_entropy(size_t rows, size_t dims, const float *raw, float *y,
                                     wk_pool *pool);

void wk_cpu_truncated_normal_entropy_backward(size_t rows, size_t dims, const float *raw,
                                              const float *dy, float *draw, wk_pool *pool);

// Losses, returns, disagreement (losses.c)

/// y[s,r] = 0.5 sum over cols of (x - target)^2; target_stride 0 shares [rows, cols] over stacks.
void wk_cpu_half_squared_error(size_t stacks, size_t rows, size_t cols, const float *x,
                               const float *target, size_t target_stride, float *y, wk_pool *pool);

/// dx = dy[s,r] (x - target), in place on x allowed. With target and x exchanged this is the
/// target's gradient.
void wk_cpu_half_squared_error_backward(size_t stacks, size_t rows, size_t cols, const float *x,
                                        const float *target, size_t target_stride, const float *dy,
                                        float *dx, wk_pool *pool);

/// G_t = r_t + discount ((1 - lambda) v_{t+1} + lambda G_{t+1}), the last bootstrapped with
/// v_steps.
typedef struct wk_lambda_return {
    size_t stacks, steps, rows;
    float discount, lambda;
} wk_lambda_return;

/// reward and y [stacks, steps, rows], value [stacks, steps + 1, rows]; steps >= 1.
void wk_cpu_lambda_return(const wk_lambda_return *p, const float *reward, const float *value,
                          float *y, wk_pool *pool);

/// dreward and dvalue (each optional) from dy; dvalue of step 0 is 0.
void wk_cpu_lambda_return_backward(const wk_lambda_return *p, const float *dy, float *dreward,
                                   float *dvalue, wk_pool *pool);

/// y[r] = scale * mean over cols of the spread of x [stacks, rows, cols] over stacks.
void wk_cpu_disagreement(wk_disagreement kind, size_t stacks, size_t rows, size_t cols, float scale,
                         const float *x, float *y, wk_pool *pool);

/// The gradient to x; where the standard deviation is 0 it is taken as 0.
void wk_cpu_disagreement_backward(wk_disagreement kind, size_t stacks, size_t rows, size_t cols,
                                  float scale, const float *x, const float *dy, float *dx,
                                  wk_pool *pool);

/// y[i] = the sum over stacks of x [stacks, n].
void wk_cpu_stack_sum(size_t stacks, size_t n, const float *x, float *y, wk_pool *pool);

// Optimiser (adam.c)

/// A run of parameters or gradients.
typedef struct wk_span {
    const float *data;
    size_t count;
} wk_span;

/// *norm = sqrt of the sum of squares of all spans, in order.
void wk_cpu_global_norm(size_t spans, const wk_span *span, float *norm, wk_pool *pool);

typedef struct wk_adam {
    double rate, beta1, beta2, eps; // 3e-4, 0.9, 0.999, 1e-5
    double decay;                   // 1e-6: every weight times (1 - decay) before the step
    double clip;                    // gradients times clip / norm where norm > clip; 0: no clipping
    uint64_t step;                  // 1 for the first
} wk_adam;

/// One step on n weights with their moments: w -= rate m' / (sqrt(v') + eps), m' and v' corrected
/// for their zero start. `norm` is the set's global norm; when it is not finite nothing changes.
/// `norm` may be NULL without clipping.
void wk_cpu_adam(const wk_adam *p, size_t n, const float *norm, const float *grad, float *weight,
                 float *m, float *v, wk_pool *pool);

// What kernels share; all of it runs in the calling thread

/// u[i] = wk_unit_float of the word of element begin + i.
void wk_draw_units(const wk_draws *draws, size_t begin, size_t count, float *u);

/// y = act(x + bias) for `rows` rows that lie in cache; in place allowed, `bias` may be NULL.
void wk_bias_act_rows(wk_activation act, size_t rows, size_t cols, const float *x,
                      const float *bias, float *y);

/// Makes the BLAS single-threaded; call before wk_gemm, from any thread, any number of times.
void wk_gemm_init(void);

/// c [m,n] = or += op(a) op(b) by the BLAS; no extent is 0, rows are `row_x` elements apart.
void wk_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a,
             size_t row_a, const float *b, size_t row_b, bool accumulate, float *c, size_t row_c);

#endif
