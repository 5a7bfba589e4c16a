#include "tensor/shape.h"

#include <assert.h>

size_t wk_dtype_size(wk_dtype dtype)
{
    static const size_t sizes[] = {[WK_F32] = 4, [WK_U8] = 1, [WK_U64] = 8};
    return sizes[dtype];
}

size_t wk_shape_count(wk_shape shape)
{
    size_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= (size_t)shape.dim[i];
    return count;
}

bool wk_shape_equal(wk_shape a, wk_shape b)
{
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dim[i] != b.dim[i]) return false;
    return true;
}

wk_split wk_shape_split(wk_shape shape, int axis, int axes)
{
    wk_split split = {1, 1, 1};
    for (int i = 0; i < shape.rank; i++) {
        size_t *part = i < axis ? &split.outer : i < axis + axes ? &split.length : &split.inner;
        *part *= (size_t)shape.dim[i];
    }
    return split;
}

// The shape without axes axis ... axis+axes-1; [1] when none is left.
static wk_shape without_axes(wk_shape shape, int axis, int axes)
{
    wk_shape result = {0};
    for (int i = 0; i < shape.rank; i++) {
        bool dropped = i >= axis && i < axis + axes;
        if (!dropped) result.dim[result.rank++] = shape.dim[i];
    }
    return result.rank ? result : WK_SHAPE(1);
}

wk_shape wk_shape_with(wk_shape shape, int axis, int length)
{
    assert(shape.rank < WK_RANK_MAX && axis >= 0 && axis <= shape.rank);
    for (int i = shape.rank; i > axis; i--)
        shape.dim[i] = shape.dim[i - 1];
    shape.dim[axis] = length;
    shape.rank++;
    return shape;
}

// The shape with another length on the last axis.
static wk_shape with_last(wk_shape shape, int length)
{
    shape.dim[shape.rank - 1] = length;
    return shape;
}

int wk_row_stack(wk_shape row)
{
    return row.rank == 1 ? 1 : row.dim[0];
}

wk_matmul_sizes wk_matmul_measure(wk_shape a, wk_shape b, bool transpose_a, bool transpose_b)
{
    assert((a.rank == 2 || a.rank == 3) && (b.rank == 2 || b.rank == 3));
    int stack_a = a.rank == 3 ? a.dim[0] : 1, stack_b = b.rank == 3 ? b.dim[0] : 1;
    const int *last_a = a.dim + a.rank - 2, *last_b = b.dim + b.rank - 2;
    assert((stack_a == stack_b || stack_a == 1 || stack_b == 1) && "matmul: stacks differ");
    assert(last_a[!transpose_a] == last_b[transpose_b] && "matmul: inner lengths differ");
    return (wk_matmul_sizes){
        .stack = stack_a > stack_b ? stack_a : stack_b,
        .m = last_a[transpose_a],
        .n = last_b[!transpose_b],
        .k = last_a[!transpose_a],
        .shared_a = stack_a == 1,
        .shared_b = stack_b == 1,
    };
}

// One call of a rule: the inputs' types, the attributes, and where the outputs' types go.
typedef struct call {
    const wk_graph *g;
    const wk_tensor *inputs;
    size_t count;
    const wk_attrs *attrs;
    wk_type *out;
} call;

static wk_shape in(const call *c, size_t i)
{
    return wk_info(c->g, c->inputs[i].id)->type.shape;
}

static bool present(const call *c, size_t i)
{
    return i < c->count && wk_tensor_exists(c->inputs[i]);
}

static bool is(const call *c, size_t i, wk_dtype dtype)
{
    return wk_info(c->g, c->inputs[i].id)->type.dtype == dtype;
}

static void give(const call *c, int output, wk_shape shape)
{
    c->out[output] = (wk_type){WK_F32, shape};
}

static void same(const call *c)
{
    assert(is(c, 0, WK_F32));
    give(c, 0, in(c, 0));
}

static void same_pair(const call *c)
{
    assert(wk_shape_equal(in(c, 0), in(c, 1)) && "the operands' shapes differ");
    same(c);
}

// A row parameter fits x [..,N] as [N], or x [S,..,N] as [S,N].
static void check_row(wk_shape x, wk_shape row)
{
    assert(row.rank == 1 || (row.rank == 2 && x.rank >= 2 && row.dim[0] == x.dim[0]));
    assert(row.dim[row.rank - 1] == x.dim[x.rank - 1] && "a row parameter has the wrong length");
    (void)x, (void)row;
}

static void shape_reshape(const call *c)
{
    assert(wk_shape_count(c->attrs->shape) == wk_shape_count(in(c, 0)) && "reshape: counts differ");
    c->out[0] = (wk_type){wk_info(c->g, c->inputs[0].id)->type.dtype, c->attrs->shape};
}

static void shape_stop_gradient(const call *c)
{
    c->out[0] = wk_info(c->g, c->inputs[0].id)->type;
}

static void shape_slice(const call *c)
{
    wk_shape shape = in(c, 0);
    int axis = c->attrs->slice.axis, start = c->attrs->slice.start, count = c->attrs->slice.count;
    assert(axis >= 0 && axis < shape.rank && "slice: no such axis");
    assert(start >= 0 && count >= 1 && start + count <= shape.dim[axis] && "slice: out of range");
    shape.dim[axis] = count;
    c->out[0] = (wk_type){wk_info(c->g, c->inputs[0].id)->type.dtype, shape};
    (void)start;
}

static void shape_concat(const call *c)
{
    wk_shape shape = in(c, 0);
    int axis = c->attrs->concat.axis;
    assert(axis >= 0 && axis < shape.rank && "concat: no such axis");
    for (size_t i = 0; i < c->count; i++) {
        wk_shape other = in(c, i);
        assert(is(c, i, WK_F32));
        assert(other.rank == shape.rank && "concat: ranks differ");
        other.dim[axis] = shape.dim[axis];
        assert(wk_shape_equal(other, shape) && "concat: another axis differs");
    }
    shape.dim[axis] = c->attrs->concat.length;
    give(c, 0, shape);
}

static void shape_repeat(const call *c)
{
    give(c, 0, wk_shape_with(in(c, 0), c->attrs->repeat.axis, c->attrs->repeat.copies));
}

#define shape_add same_pair
#define shape_mul same_pair
#define shape_affine same
#define shape_clamp_min same
#define shape_clamp_min_grad same_pair

static void shape_add_n(const call *c)
{
    for (size_t i = 1; i < c->count; i++)
        assert(wk_shape_equal(in(c, 0), in(c, i)) && "add_n: shapes differ");
    same(c);
}

static void shape_scale_rows(const call *c)
{
    wk_shape x = in(c, 0), weight = in(c, 1);
    int i = 0;
    while (i < weight.rank && i < x.rank && weight.dim[i] == x.dim[i])
        i++;
    for (; i < weight.rank; i++)
        assert(weight.dim[i] == 1 && "scale_rows: the weight is not the beginning of x's shape");
    same(c);
    (void)x, (void)weight;
}

static void shape_reduce(const call *c)
{
    wk_shape x = in(c, 0);
    int axis = c->attrs->reduce.axis, axes = c->attrs->reduce.axes;
    assert(axis >= 0 && axes >= 1 && axis + axes <= x.rank && "sum or mean: no such axis");
    give(c, 0, without_axes(x, axis, axes));
}

static void shape_matmul(const call *c)
{
    wk_shape a = in(c, 0), b = in(c, 1);
    wk_matmul_sizes z =
        wk_matmul_measure(a, b, c->attrs->matmul.transpose_a, c->attrs->matmul.transpose_b);
    bool flat = c->attrs->matmul.reduce || (a.rank == 2 && b.rank == 2);
    give(c, 0, flat ? WK_SHAPE(z.m, z.n) : WK_SHAPE(z.stack, z.m, z.n));
    assert((!present(c, 2) || wk_shape_equal(in(c, 2), c->out[0].shape)) && "matmul: wrong sum");
}

static void shape_bias_act(const call *c)
{
    if (present(c, 1)) check_row(in(c, 0), in(c, 1));
    same(c);
}

#define shape_act_grad same_pair

static wk_shape row_shape(wk_shape x, int stack)
{
    int length = x.dim[x.rank - 1];
    return stack > 1 ? WK_SHAPE(stack, length) : WK_SHAPE(length);
}

static void shape_bias_act_grad(const call *c)
{
    same_pair(c);
    give(c, 1, row_shape(in(c, 0), c->attrs->bias_act.stack));
}

static void shape_column_sum(const call *c)
{
    give(c, 0, row_shape(in(c, 0), c->attrs->stack));
}

// Both kinds of convolution: images [B,H,H,C] and weights [K,K,..], each with a stack before it.
static void conv_result(const call *c, int channels, int channels_out, bool transposed)
{
    wk_shape x = in(c, 0), w = in(c, 1);
    assert((x.rank == 4 || x.rank == 5) && x.rank == w.rank && "conv: ranks");
    assert((x.rank == 4 || x.dim[0] == w.dim[0]) && "conv: stacks differ");
    int *image = x.dim + x.rank - 4, *weights = w.dim + w.rank - 4;
    assert(image[1] == image[2] && weights[0] == weights[1] && "conv: squares only");
    assert(image[3] == weights[channels] && "conv: channels differ");
    int kernel = weights[0], stride = c->attrs->conv.stride;
    assert(stride >= 1 && (transposed || image[1] >= kernel) && "conv: image below the kernel");
    image[1] = transposed ? (image[1] - 1) * stride + kernel : (image[1] - kernel) / stride + 1;
    image[2] = image[1];
    image[3] = weights[channels_out];
    if (present(c, 2)) check_row(x, in(c, 2));
    give(c, 0, x);
    (void)channels;
}

static void shape_conv(const call *c)
{
    conv_result(c, 2, 3, false);
}

static void shape_deconv(const call *c)
{
    conv_result(c, 3, 2, true);
}

static void shape_conv_dx(const call *c)
{
    give(c, 0, c->attrs->conv.shape);
}

#define shape_deconv_dx shape_conv_dx
#define shape_conv_dw shape_conv_dx

// Mean and reciprocal deviation of every row, kept for the gradient.
static wk_shape norm_stats(wk_shape x)
{
    return WK_SHAPE(2, (int)(wk_shape_count(x) / (size_t)x.dim[x.rank - 1]));
}

static void shape_gru(const call *c)
{
    wk_shape pre = in(c, 0), h = in(c, 4);
    for (size_t i = 1; i <= 3; i++) {
        check_row(pre, in(c, i));
        assert(wk_shape_equal(in(c, i), in(c, 1)) && "gru: parameters differ in shape");
    }
    assert(wk_shape_equal(with_last(h, 3 * h.dim[h.rank - 1]), pre) && "gru: state and parts");
    give(c, 0, h);
    give(c, 1, norm_stats(pre));
}

static void shape_gru_grad(const call *c)
{
    give(c, 0, in(c, 0));
    give(c, 1, in(c, 4));
    for (int i = 2; i < 5; i++)
        give(c, i, in(c, 1));
}

static void shape_image(const call *c)
{
    assert(is(c, 0, WK_U8) && "image: u8 expected");
    give(c, 0, in(c, 0));
}

static void check_counter(const call *c, size_t i)
{
    assert(is(c, i, WK_U64) && wk_shape_count(in(c, i)) == 1 && "a counter is u64 [1]");
    (void)c, (void)i;
}

static void shape_uniform(const call *c)
{
    check_counter(c, 0);
    give(c, 0, c->attrs->random.shape);
}

#define shape_softmax same
#define shape_softmax_grad same_pair
#define shape_mode_onehot same

static void shape_sample_onehot(const call *c)
{
    check_counter(c, 1);
    same(c);
    give(c, 1, in(c, 0));
}

// [..,V,C] gives [..].
static void shape_entropy(const call *c)
{
    wk_shape x = in(c, 0);
    assert(x.rank >= 2 && "logits are [..,V,C]");
    give(c, 0, without_axes(x, x.rank - 2, 2));
}

static void shape_kl(const call *c)
{
    assert(wk_shape_equal(in(c, 0), in(c, 1)) && "kl: shapes differ");
    shape_entropy(c);
}

#define shape_kl_dp same
#define shape_kl_dq same

static wk_shape action_shape(wk_shape raw)
{
    int width = raw.dim[raw.rank - 1];
    assert(width % 2 == 0 && "truncated normal: raw is [..,2A]");
    return with_last(raw, width / 2);
}

static void shape_truncated_normal_sample(const call *c)
{
    check_counter(c, 1);
    give(c, 0, action_shape(in(c, 0)));
}

static void shape_truncated_normal_mode(const call *c)
{
    give(c, 0, action_shape(in(c, 0)));
}

static void shape_truncated_normal_entropy(const call *c)
{
    wk_shape raw = action_shape(in(c, 0));
    give(c, 0, without_axes(raw, raw.rank - 1, 1));
}

#define shape_truncated_normal_sample_grad same
#define shape_truncated_normal_entropy_grad same

static void shape_half_squared_error(const call *c)
{
    wk_shape x = in(c, 0), target = in(c, 1);
    int axes = c->attrs->axes;
    assert(axes >= 1 && axes <= x.rank && "half_squared_error: axes");
    if (!wk_shape_equal(x, target)) {
        assert(axes < x.rank && "half_squared_error: shapes differ");
        wk_shape shared = without_axes(x, 0, 1);
        if (target.rank == x.rank) shared = wk_shape_with(shared, 0, 1);
        assert(wk_shape_equal(target, shared) && "half_squared_error: shapes differ");
        (void)shared;
    }
    give(c, 0, without_axes(x, x.rank - axes, axes));
}

#define shape_half_squared_error_grad same

static void shape_lambda_return(const call *c)
{
    wk_shape reward = in(c, 0), longer = reward;
    assert((reward.rank == 2 || reward.rank == 3) && "lambda_return: reward is [H,N] or [S,H,N]");
    longer.dim[reward.rank - 2]++;
    assert(wk_shape_equal(longer, in(c, 1)) && "lambda_return: value has one step more");
    same(c);
    (void)longer;
}

static void shape_lambda_return_grad(const call *c)
{
    wk_shape reward = in(c, 0);
    give(c, 0, reward);
    reward.dim[reward.rank - 2]++;
    give(c, 1, reward);
}

static void shape_disagreement(const call *c)
{
    wk_shape x = in(c, 0);
    assert(x.rank >= 2 && "disagreement: x is [S,..,F]");
    x = without_axes(x, x.rank - 1, 1);
    give(c, 0, without_axes(x, 0, 1));
}

#define shape_disagreement_grad same

static void shape_global_norm(const call *c)
{
    int stack = c->attrs->stack;
    for (size_t i = 0; i < c->count; i++)
        assert((stack == 1 || in(c, i).dim[0] == stack) && "global_norm: a tensor lacks the stack");
    give(c, 0, WK_SHAPE(stack));
}

static void shape_adam_begin(const call *c)
{
    wk_shape norm = in(c, 0), state = in(c, 2);
    assert(norm.rank == 1 && wk_shape_count(in(c, 1)) == 1 && "adam: norm [S] and rate [1]");
    assert(is(c, 2, WK_U64) && wk_shape_equal(state, WK_SHAPE(norm.dim[0], 2)) &&
           "adam: the state is u64 [S,2]");
    for (size_t i = 3; i < 5; i++)
        if (present(c, i)) check_counter(c, i);
    give(c, 0, WK_SHAPE(norm.dim[0], 4));
    (void)state;
}

static void shape_adam(const call *c)
{
    for (size_t i = 1; i < 4; i++)
        assert(wk_shape_equal(in(c, 0), in(c, i)) && "adam: shapes differ");
    assert((in(c, 4).dim[0] == 1 || in(c, 4).dim[0] == in(c, 0).dim[0]) && "adam: stack");
    (void)c;
}

static void shape_check_finite(const call *c)
{
    check_counter(c, 1);
}

static void shape_store(const call *c)
{
    wk_type a = wk_info(c->g, c->inputs[0].id)->type, b = wk_info(c->g, c->inputs[1].id)->type;
    assert(a.dtype == b.dtype && wk_shape_equal(a.shape, b.shape) && "store: types differ");
    (void)a, (void)b;
}

static void shape_store_every(const call *c)
{
    check_counter(c, 2);
    if (present(c, 3)) check_counter(c, 3);
    shape_store(c);
}

static void shape_count(const call *c)
{
    check_counter(c, 0);
    if (present(c, 1)) check_counter(c, 1);
}

static void shape_mark(const call *c)
{
    for (size_t i = 0; i < c->count; i++)
        assert(wk_info(c->g, c->inputs[i].id)->kind == WK_PERSISTENT && "mark: not persistent");
    (void)c;
}

typedef void rule(const call *c);

static rule *const rules[WK_OP_COUNT] = {
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits) [WK_OP_##name] = shape_##name,
#include "tensor/ops.def"
#undef OP
};

void wk_shape_infer(const wk_graph *g, wk_op op, const wk_attrs *attrs, const wk_tensor *inputs,
                    size_t count, wk_type out[WK_OUTPUTS_MAX])
{
    rules[op](&(call){g, inputs, count, attrs, out});
}
