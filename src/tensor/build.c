// The builders of graph.h: each puts attributes and inputs together and records a node.
#include "tensor/graph.h"
#include "tensor/node.h"
#include "tensor/shape.h"

#include <assert.h>

// wk_graph_NAME of the ops that have no attributes, of one and of two tensors.
#define UNARY(name)                                                                                \
    wk_tensor wk_graph_##name(wk_graph *g, wk_tensor x)                                            \
    {                                                                                              \
        return WK_EMIT(g, name, (wk_attrs){0}, x);                                                 \
    }
#define BINARY(name)                                                                               \
    wk_tensor wk_graph_##name(wk_graph *g, wk_tensor a, wk_tensor b)                               \
    {                                                                                              \
        return WK_EMIT(g, name, (wk_attrs){0}, a, b);                                              \
    }

BINARY(add)
BINARY(mul)
BINARY(scale_rows)
BINARY(kl)
UNARY(image)
UNARY(softmax)
UNARY(mode_onehot)
UNARY(entropy)
UNARY(truncated_normal_mode)
UNARY(truncated_normal_entropy)

wk_tensor wk_graph_stop_gradient(wk_graph *g, wk_tensor x)
{
    return wk_graph_emit_view(g, WK_OP_stop_gradient, (wk_attrs){0}, x, wk_graph_shape(g, x), 0);
}

wk_tensor wk_graph_reshape(wk_graph *g, wk_tensor x, wk_shape shape)
{
    if (wk_shape_equal(wk_graph_shape(g, x), shape)) return x;
    return wk_graph_emit_view(g, WK_OP_reshape, (wk_attrs){.shape = shape}, x, shape, 0);
}

wk_tensor wk_graph_slice(wk_graph *g, wk_tensor x, int axis, int start, int count)
{
    if (g->failed) return (wk_tensor){0};
    wk_shape shape = wk_graph_shape(g, x);
    assert(axis >= 0 && axis < shape.rank && "slice: no such axis");
    if (start == 0 && count == shape.dim[axis]) return x;
    wk_attrs attrs = {.slice = {.axis = axis, .start = start, .count = count}};
    wk_split split = wk_shape_split(shape, axis, 1);
    if (split.outer > 1) {
        assert(wk_graph_dtype(g, x) == WK_F32 && "slice: only f32 can be copied");
        return WK_EMIT(g, slice, attrs, x);
    }
    shape.dim[axis] = count;
    return wk_graph_emit_view(g, WK_OP_slice, attrs, x, shape, (size_t)start * split.inner);
}

wk_tensor wk_graph_assemble(wk_graph *g, const wk_tensor *x, const int *starts, size_t count,
                            int axis, int length, bool gaps)
{
    if (g->failed || !wk_array_reserve(&g->extents, count)) {
        g->failed = true;
        return (wk_tensor){0};
    }
    wk_attrs attrs = {
        .concat = {.axis = axis, .length = length, .starts = (int)g->extents.count, .gaps = gaps}};
    for (size_t i = 0; i < count; i++)
        g->extents.items[g->extents.count++] = starts[i];
    return wk_graph_emit(g, WK_OP_concat, attrs, x, count);
}

wk_tensor wk_graph_concat(wk_graph *g, const wk_tensor *x, size_t count, int axis)
{
    if (count == 1) return x[0];
    if (g->failed || !wk_array_reserve(&g->extents, count)) {
        g->failed = true;
        return (wk_tensor){0};
    }
    // The starts go where assemble will put them: it writes each place after reading it.
    int *starts = g->extents.items + g->extents.count, length = 0;
    for (size_t i = 0; i < count; i++) {
        wk_shape shape = wk_graph_shape(g, x[i]);
        assert(axis >= 0 && axis < shape.rank && "concat: no such axis");
        starts[i] = length;
        length += shape.dim[axis];
    }
    return wk_graph_assemble(g, x, starts, count, axis, length, false);
}

wk_tensor wk_graph_stack(wk_graph *g, const wk_tensor *x, size_t count)
{
    if (g->failed) return (wk_tensor){0};
    wk_shape shape = wk_graph_shape(g, x[0]);
    for (size_t i = 1; i < count; i++)
        assert(wk_shape_equal(shape, wk_graph_shape(g, x[i])) && "stack: shapes differ");
    wk_shape result = wk_shape_with(shape, 0, (int)count);
    wk_shape flat = shape;
    flat.dim[0] *= (int)count;
    wk_tensor joined = wk_graph_concat(g, x, count, 0);
    assert(g->failed || wk_shape_equal(flat, wk_graph_shape(g, joined)));
    return g->failed ? joined : wk_graph_reshape(g, joined, result);
}

wk_tensor wk_graph_repeat(wk_graph *g, wk_tensor x, int axis, int copies)
{
    wk_attrs attrs = {.repeat = {.axis = axis, .copies = copies, .scale = 1}};
    return WK_EMIT(g, repeat, attrs, x);
}

wk_tensor wk_graph_add_n(wk_graph *g, const wk_tensor *x, size_t count)
{
    return count == 1 ? x[0] : wk_graph_emit(g, WK_OP_add_n, (wk_attrs){0}, x, count);
}

wk_tensor wk_graph_affine(wk_graph *g, wk_tensor x, float scale, float offset)
{
    wk_attrs attrs = {.affine = {.scale = scale, .offset = offset}};
    return WK_EMIT(g, affine, attrs, x);
}

wk_tensor wk_graph_activate(wk_graph *g, wk_tensor x, wk_activation activation)
{
    wk_attrs attrs = {.bias_act = {.activation = activation, .stack = 1}};
    return activation == WK_IDENTITY ? x : WK_EMIT(g, bias_act, attrs, x);
}

wk_tensor wk_graph_clamp_min(wk_graph *g, wk_tensor x, float floor)
{
    return WK_EMIT(g, clamp_min, (wk_attrs){.floor = floor}, x);
}

static wk_tensor reduce(wk_graph *g, wk_tensor x, int axis, int axes, bool mean)
{
    if (g->failed) return (wk_tensor){0};
    size_t length = wk_shape_split(wk_graph_shape(g, x), axis, axes).length;
    wk_attrs attrs = {
        .reduce = {.axis = axis, .axes = axes, .scale = mean ? 1.0f / (float)length : 1.0f}};
    return WK_EMIT(g, reduce, attrs, x);
}

wk_tensor wk_graph_mean(wk_graph *g, wk_tensor x, int axis)
{
    return reduce(g, x, axis, 1, true);
}

wk_tensor wk_graph_sum_all(wk_graph *g, wk_tensor x)
{
    return reduce(g, x, 0, wk_graph_shape(g, x).rank, false);
}

wk_tensor wk_graph_mean_all(wk_graph *g, wk_tensor x)
{
    return reduce(g, x, 0, wk_graph_shape(g, x).rank, true);
}

wk_tensor wk_graph_matmul_general(wk_graph *g, wk_tensor a, wk_tensor b, bool transpose_a,
                                  bool transpose_b, bool reduce_stack, wk_tensor sum)
{
    wk_attrs attrs = {.matmul = {transpose_a, transpose_b, reduce_stack}};
    if (wk_tensor_exists(sum)) return WK_EMIT(g, matmul, attrs, a, b, sum);
    return WK_EMIT(g, matmul, attrs, a, b);
}

wk_tensor wk_graph_matmul(wk_graph *g, wk_tensor a, wk_tensor b)
{
    return wk_graph_matmul_general(g, a, b, false, false, false, (wk_tensor){0});
}

wk_tensor wk_graph_matmul_add(wk_graph *g, wk_tensor a, wk_tensor b, wk_tensor sum)
{
    return wk_graph_matmul_general(g, a, b, false, false, false, sum);
}

wk_tensor wk_graph_bias_act(wk_graph *g, wk_tensor x, wk_tensor bias, wk_activation activation)
{
    wk_attrs attrs = {
        .bias_act = {.activation = activation, .stack = wk_row_stack(wk_graph_shape(g, bias))}};
    return WK_EMIT(g, bias_act, attrs, x, bias);
}

wk_tensor wk_graph_conv(wk_graph *g, wk_tensor x, wk_tensor w, wk_tensor bias, int stride,
                        wk_activation activation)
{
    wk_attrs attrs = {.conv = {.stride = stride, .activation = activation}};
    return WK_EMIT(g, conv, attrs, x, w, bias);
}

wk_tensor wk_graph_deconv(wk_graph *g, wk_tensor x, wk_tensor w, wk_tensor bias, int stride,
                          wk_activation activation)
{
    wk_attrs attrs = {.conv = {.stride = stride, .activation = activation}};
    return WK_EMIT(g, deconv, attrs, x, w, bias);
}

wk_tensor wk_graph_gru(wk_graph *g, wk_tensor pre, wk_tensor gate_bias, wk_tensor gain,
                       wk_tensor bias, wk_tensor h, float epsilon)
{
    wk_attrs attrs = {.norm = {.epsilon = epsilon}};
    return WK_EMIT(g, gru, attrs, pre, gate_bias, gain, bias, h);
}

wk_tensor wk_graph_uniform(wk_graph *g, wk_shape shape, wk_random random, float low, float high)
{
    wk_attrs attrs = {.random = {.key = random.key, .low = low, .high = high, .shape = shape}};
    return WK_EMIT(g, uniform, attrs, random.counter);
}

wk_tensor wk_graph_sample_onehot(wk_graph *g, wk_tensor logits, wk_random random)
{
    wk_attrs attrs = {.random = {.key = random.key}};
    return WK_EMIT(g, sample_onehot, attrs, logits, random.counter);
}

wk_tensor wk_graph_truncated_normal_sample(wk_graph *g, wk_tensor raw, wk_random random,
                                           wk_sample_gradient gradient)
{
    wk_attrs attrs = {.random = {.key = random.key, .gradient = gradient}};
    return WK_EMIT(g, truncated_normal_sample, attrs, raw, random.counter);
}

wk_tensor wk_graph_half_squared_error(wk_graph *g, wk_tensor x, wk_tensor target, int axes)
{
    return WK_EMIT(g, half_squared_error, (wk_attrs){.axes = axes}, x, target);
}

wk_tensor wk_graph_lambda_return(wk_graph *g, wk_tensor reward, wk_tensor value, float discount,
                                 float lambda)
{
    wk_attrs attrs = {.lambda_return = {.discount = discount, .lambda = lambda}};
    return WK_EMIT(g, lambda_return, attrs, reward, value);
}

wk_tensor wk_graph_disagreement(wk_graph *g, wk_tensor x, wk_disagreement kind, float scale)
{
    wk_attrs attrs = {.disagreement = {.kind = kind, .scale = scale}};
    return WK_EMIT(g, disagreement, attrs, x);
}

wk_tensor wk_graph_global_norm(wk_graph *g, const wk_tensor *x, size_t count, int stack)
{
    return wk_graph_emit(g, WK_OP_global_norm, (wk_attrs){.stack = stack}, x, count);
}

wk_adam_config wk_adam_config_default(void)
{
    return (wk_adam_config){
        .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-5f, .clip = 100, .decay = 1e-6f};
}

void wk_graph_set_idle(wk_graph *g, wk_tensor idle)
{
    g->idle = idle;
}

wk_tensor wk_graph_adam_begin(wk_graph *g, wk_tensor norm, wk_tensor rate, wk_tensor state,
                              wk_tensor flag, wk_adam_config config)
{
    return WK_EMIT(g, adam_begin, (wk_attrs){.adam = config}, norm, rate, state, flag, g->idle);
}

void wk_graph_adam(wk_graph *g, wk_tensor weight, wk_tensor m, wk_tensor v, wk_tensor gradient,
                   wk_tensor step, wk_adam_config config)
{
    WK_EMIT(g, adam, (wk_attrs){.adam = config}, weight, m, v, gradient, step);
}

void wk_graph_check_finite(wk_graph *g, wk_tensor x, wk_tensor flag)
{
    WK_EMIT(g, check_finite, (wk_attrs){0}, x, flag);
}

void wk_graph_store(wk_graph *g, wk_tensor destination, wk_tensor x)
{
    WK_EMIT(g, store, (wk_attrs){0}, destination, x);
}

void wk_graph_store_every(wk_graph *g, wk_tensor destination, wk_tensor x, wk_tensor counter,
                          uint64_t period)
{
    assert(period > 0);
    WK_EMIT(g, store_every, (wk_attrs){.period = period}, destination, x, counter, g->idle);
}

void wk_graph_count(wk_graph *g, wk_tensor counter, uint64_t step)
{
    WK_EMIT(g, count, (wk_attrs){.period = step}, counter, g->idle);
}
