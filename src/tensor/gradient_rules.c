// The gradient rule of every differentiable op of ops.def.
#include "tensor/gradient.h"
#include "tensor/shape.h"

#include <assert.h>

static wk_tensor input(const wk_backward *b, int i)
{
    return wk_backward_input(b, i);
}

static wk_shape input_shape(const wk_backward *b, int i)
{
    return wk_graph_shape(b->g, input(b, i));
}

static bool wants(const wk_backward *b, int i)
{
    return wk_backward_wants(b, i);
}

void wk_gradient_reshape(wk_backward *b)
{
    wk_backward_add(b, 0, b->dy);
}

void wk_gradient_slice(wk_backward *b)
{
    wk_backward_add_part(b, 0, b->dy, b->node.attrs.slice.axis, b->node.attrs.slice.start);
}

void wk_gradient_concat(wk_backward *b)
{
    int axis = b->node.attrs.concat.axis;
    for (int i = 0; i < b->node.input_count; i++) {
        if (!wants(b, i)) continue;
        int start = b->g->extents.items[b->node.attrs.concat.starts + i];
        wk_backward_add(b, i,
                        wk_graph_slice(b->g, b->dy, axis, start, input_shape(b, i).dim[axis]));
    }
}

void wk_gradient_repeat(wk_backward *b)
{
    wk_attrs attrs = {.reduce = {.axis = b->node.attrs.repeat.axis,
                                 .axes = 1,
                                 .scale = b->node.attrs.repeat.scale}};
    wk_backward_add(b, 0, WK_EMIT(b->g, reduce, attrs, b->dy));
}

void wk_gradient_add(wk_backward *b)
{
    wk_backward_add(b, 0, b->dy);
    wk_backward_add(b, 1, b->dy);
}

void wk_gradient_mul(wk_backward *b)
{
    if (wants(b, 0)) wk_backward_add(b, 0, wk_graph_mul(b->g, b->dy, input(b, 1)));
    if (wants(b, 1)) wk_backward_add(b, 1, wk_graph_mul(b->g, b->dy, input(b, 0)));
}

void wk_gradient_add_n(wk_backward *b)
{
    for (int i = 0; i < b->node.input_count; i++)
        wk_backward_add(b, i, b->dy);
}

void wk_gradient_affine(wk_backward *b)
{
    wk_backward_add(b, 0, wk_graph_affine(b->g, b->dy, b->node.attrs.affine.scale, 0));
}

void wk_gradient_clamp_min(wk_backward *b)
{
    wk_backward_add(b, 0, WK_EMIT(b->g, clamp_min_grad, b->node.attrs, b->dy, input(b, 0)));
}

void wk_gradient_scale_rows(wk_backward *b)
{
    assert(!wants(b, 1) && "scale_rows: weights have no gradient");
    wk_backward_add(b, 0, wk_graph_scale_rows(b->g, b->dy, input(b, 1)));
}

void wk_gradient_reduce(wk_backward *b)
{
    wk_split split =
        wk_shape_split(input_shape(b, 0), b->node.attrs.reduce.axis, b->node.attrs.reduce.axes);
    wk_attrs attrs = {
        .repeat = {.axis = 1, .copies = (int)split.length, .scale = b->node.attrs.reduce.scale}};
    wk_tensor dy = wk_graph_reshape(b->g, b->dy, WK_SHAPE((int)split.outer, (int)split.inner));
    wk_backward_add(b, 0, WK_EMIT(b->g, repeat, attrs, dy));
}

// A stack of matrices [S,M,N] as one [S*M,N].
static wk_tensor flat_rows(wk_graph *g, wk_tensor x)
{
    wk_shape shape = wk_graph_shape(g, x);
    if (shape.rank == 2) return x;
    int columns = shape.dim[shape.rank - 1];
    return wk_graph_reshape(g, x,
                            WK_SHAPE((int)(wk_shape_count(shape) / (size_t)columns), columns));
}

void wk_gradient_matmul(wk_backward *b)
{
    wk_tensor x = input(b, 0), w = input(b, 1);
    assert(!b->node.attrs.matmul.transpose_a && !b->node.attrs.matmul.transpose_b &&
           !b->node.attrs.matmul.reduce && "only the plain product is differentiable");
    if (wants(b, 2)) wk_backward_add(b, 2, b->dy);
    wk_matmul_sizes z = wk_matmul_measure(input_shape(b, 0), input_shape(b, 1), false, false);
    if (wants(b, 0)) {
        bool reduce = z.shared_a && z.stack > 1;
        wk_backward_add(
            b, 0, wk_graph_matmul_general(b->g, b->dy, w, false, true, reduce, (wk_tensor){0}));
    }
    if (!wants(b, 1)) return;
    if (z.shared_b)
        wk_backward_add_product(b, 1, flat_rows(b->g, x), flat_rows(b->g, b->dy));
    else
        wk_backward_add_product(b, 1, x, b->dy);
}

// Through act(x + bias): adds the gradient of the bias and returns that of x.
static wk_tensor through_bias_act(wk_backward *b, int bias, wk_activation activation)
{
    int stack = wants(b, bias) ? wk_row_stack(input_shape(b, bias)) : 1;
    wk_attrs attrs = {.bias_act = {.activation = activation, .stack = stack}};
    wk_tensor y = wk_backward_output(b, 0), dx = b->dy;
    wk_shape shape = wk_graph_shape(b->g, y);
    size_t rows = wk_shape_count(shape) / (size_t)shape.dim[shape.rank - 1];
    bool fused =
        activation != WK_IDENTITY && wants(b, bias) && (rows > WK_JOINED_ROWS || stack > 1);
    if (fused) {
        dx = WK_EMIT(b->g, bias_act_grad, attrs, b->dy, y);
        wk_backward_add(b, bias, wk_graph_sibling(b->g, dx, 1));
        return dx;
    }
    if (activation != WK_IDENTITY) dx = WK_EMIT(b->g, act_grad, attrs, b->dy, y);
    if (wants(b, bias)) wk_backward_add_column_sum(b, bias, stack == 1 ? flat_rows(b->g, dx) : dx);
    return dx;
}

void wk_gradient_bias_act(wk_backward *b)
{
    wk_backward_add(b, 0, through_bias_act(b, 1, b->node.attrs.bias_act.activation));
}

// Of both kinds of convolution; `transposed`: x is the small image. The image's gradient comes
// last, next to the layer before, which may multiply it by its slope.
static void add_conv_gradients(wk_backward *b, bool transposed)
{
    wk_tensor x = input(b, 0), w = input(b, 1);
    wk_attrs attrs = {.conv = {.stride = b->node.attrs.conv.stride}};
    wk_tensor dy = through_bias_act(b, 2, b->node.attrs.conv.activation);
    wk_tensor large = transposed ? dy : x, small = transposed ? x : dy;
    attrs.conv.shape = input_shape(b, 1);
    if (wants(b, 1)) wk_backward_add(b, 1, WK_EMIT(b->g, conv_dw, attrs, large, small));
    attrs.conv.shape = input_shape(b, 0);
    if (wants(b, 0))
        wk_backward_add(b, 0,
                        transposed ? WK_EMIT(b->g, deconv_dx, attrs, dy, w)
                                   : WK_EMIT(b->g, conv_dx, attrs, dy, w));
}

void wk_gradient_conv(wk_backward *b)
{
    add_conv_gradients(b, false);
}

void wk_gradient_deconv(wk_backward *b)
{
    add_conv_gradients(b, true);
}

void wk_gradient_gru(wk_backward *b)
{
    wk_attrs attrs = b->node.attrs;
    attrs.norm.params = wants(b, 1) || wants(b, 2) || wants(b, 3);
    wk_tensor dpre = WK_EMIT(b->g, gru_grad, attrs, input(b, 0), input(b, 1), input(b, 2),
                             input(b, 3), input(b, 4), wk_backward_output(b, 1), b->dy);
    static const int input_of[] = {0, 4, 1, 2, 3}; // of each output
    for (int i = 0; i < 5; i++)
        wk_backward_add(b, input_of[i], wk_graph_sibling(b->g, dpre, i));
}

void wk_gradient_softmax(wk_backward *b)
{
    wk_tensor y = wk_backward_output(b, 0);
    wk_backward_add(b, 0, WK_EMIT(b->g, softmax_grad, (wk_attrs){0}, y, b->dy));
}

void wk_gradient_sample_onehot(wk_backward *b)
{
    wk_tensor probabilities = wk_backward_output(b, 1);
    wk_backward_add(b, 0, WK_EMIT(b->g, softmax_grad, (wk_attrs){0}, probabilities, b->dy));
}

void wk_gradient_kl(wk_backward *b)
{
    wk_tensor p = input(b, 0), q = input(b, 1);
    if (wants(b, 0)) wk_backward_add(b, 0, WK_EMIT(b->g, kl_dp, (wk_attrs){0}, p, q, b->dy));
    if (wants(b, 1)) wk_backward_add(b, 1, WK_EMIT(b->g, kl_dq, (wk_attrs){0}, p, q, b->dy));
}

void wk_gradient_truncated_normal_sample(wk_backward *b)
{
    wk_backward_add(b, 0,
                    WK_EMIT(b->g, truncated_normal_sample_grad, b->node.attrs, input(b, 0),
                            input(b, 1), b->dy));
}

void wk_gradient_truncated_normal_entropy(wk_backward *b)
{
    wk_backward_add(
        b, 0, WK_EMIT(b->g, truncated_normal_entropy_grad, (wk_attrs){0}, input(b, 0), b->dy));
}

void wk_gradient_half_squared_error(wk_backward *b)
{
    if (!wants(b, 0)) return;
    wk_backward_add(
        b, 0,
        WK_EMIT(b->g, half_squared_error_grad, b->node.attrs, input(b, 0), input(b, 1), b->dy));
}

void wk_gradient_lambda_return(wk_backward *b)
{
    wk_tensor dreward = WK_EMIT(b->g, lambda_return_grad, b->node.attrs, b->dy);
    wk_backward_add(b, 0, dreward);
    wk_backward_add(b, 1, wk_graph_sibling(b->g, dreward, 1));
}

void wk_gradient_disagreement(wk_backward *b)
{
    wk_backward_add(b, 0, WK_EMIT(b->g, disagreement_grad, b->node.attrs, input(b, 0), b->dy));
}
