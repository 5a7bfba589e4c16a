// Calls of the layers.
#include "tensor/cpu/calls.h"
#include "tensor/cpu/kernels.h"

void wk_cpu_call_matmul(const wk_cpu_call *c)
{
    bool transpose_a = c->node->attrs.matmul.transpose_a;
    bool transpose_b = c->node->attrs.matmul.transpose_b;
    bool reduce = c->node->attrs.matmul.reduce;
    wk_matmul_sizes z = wk_matmul_measure(wk_call_input_shape(c, 0), wk_call_input_shape(c, 1),
                                          transpose_a, transpose_b);
    size_t m = (size_t)z.m, n = (size_t)z.n, k = (size_t)z.k, stacks = (size_t)z.stack;
    // A stack that shares its right matrix is one taller product.
    if (z.shared_b && !z.shared_a && !transpose_a && !reduce) {
        m *= stacks;
        stacks = 1;
    }
    const wk_matmul p = {.stacks = stacks,
                         .m = m,
                         .n = n,
                         .k = k,
                         .transpose_a = transpose_a,
                         .transpose_b = transpose_b,
                         .stride_a = z.shared_a ? 0 : m * k,
                         .stride_b = z.shared_b ? 0 : k * n,
                         .stride_c = reduce ? 0 : m * n,
                         .accumulate = c->node->input_count > 2};
    if (p.accumulate && c->in[2] != c->out[0])
        wk_cpu_copy(wk_call_count(c), c->in[2], c->out[0], c->pool);
    wk_cpu_matmul(&p, c->in[0], c->in[1], c->out[0], c->pool);
}

static wk_bias_act bias_act(const wk_cpu_call *c)
{
    wk_rows r = wk_rows_of(wk_call_output_shape(c, 0), c->node->attrs.bias_act.stack);
    return (wk_bias_act){.stacks = r.stacks,
                         .rows = r.rows,
                         .cols = r.cols,
                         .bias_stride = r.stacks > 1 ? r.cols : 0,
                         .act = c->node->attrs.bias_act.activation};
}

void wk_cpu_call_bias_act(const wk_cpu_call *c)
{
    const wk_bias_act p = bias_act(c);
    const float *bias = c->node->input_count > 1 ? c->in[1] : NULL;
    wk_cpu_bias_act(&p, c->in[0], bias, c->out[0], c->pool);
}

void wk_cpu_call_act_grad(const wk_cpu_call *c)
{
    const wk_bias_act p = bias_act(c);
    wk_cpu_bias_act_backward(&p, c->in[1], c->in[0], c->out[0], NULL, c->pool);
}

void wk_cpu_call_bias_act_grad(const wk_cpu_call *c)
{
    const wk_bias_act p = bias_act(c);
    wk_cpu_bias_act_backward(&p, c->in[1], c->in[0], c->out[0], c->out[1], c->pool);
}

void wk_cpu_call_column_sum(const wk_cpu_call *c)
{
    wk_rows r = wk_rows_of(wk_call_input_shape(c, 0), c->node->attrs.stack);
    const float *x = c->in[0];
    float *y = c->out[0];
    for (size_t s = 0; s < r.stacks; s++)
        wk_cpu_column_sums(r.rows, r.cols, 1, x + s * r.rows * r.cols, y + s * r.cols, c->pool);
}

// A convolution from its larger image [S,B,H,H,C] and its weights [S,K,K,C,D].
static wk_conv conv_of(wk_shape large, wk_shape w, int stride)
{
    const int *image = large.dim + large.rank - 4, *weights = w.dim + w.rank - 4;
    return (wk_conv){.batch = (size_t)image[0],
                     .large = (size_t)image[1],
                     .large_c = (size_t)weights[2],
                     .small_c = (size_t)weights[3],
                     .kernel = (size_t)weights[0],
                     .stride = (size_t)stride};
}

typedef void conv_kernel(const wk_conv *p, const float *x, const float *w, const float *bias,
                         wk_activation act, float *y, void *workspace, wk_pool *pool);

// Runs one of the two directions for every stack member.
static void each_conv(const wk_cpu_call *c, conv_kernel *kernel, wk_shape large)
{
    wk_shape x = wk_call_input_shape(c, 0), w = wk_call_input_shape(c, 1);
    wk_shape y = wk_call_output_shape(c, 0);
    const wk_conv p = conv_of(large, w, c->node->attrs.conv.stride);
    size_t stacks = x.rank == 5 ? (size_t)x.dim[0] : 1;
    size_t dx = wk_shape_count(x) / stacks, dw = wk_shape_count(w) / stacks;
    size_t dy = wk_shape_count(y) / stacks, channels = (size_t)y.dim[y.rank - 1];
    const float *bias = c->node->input_count > 2 ? c->in[2] : NULL;
    for (size_t s = 0; s < stacks; s++)
        kernel(&p, (const float *)c->in[0] + s * dx, (const float *)c->in[1] + s * dw,
               bias ? bias + s * channels : NULL, c->node->attrs.conv.activation,
               (float *)c->out[0] + s * dy, c->workspace, c->pool);
}

void wk_cpu_call_conv(const wk_cpu_call *c)
{
    each_conv(c, wk_cpu_conv, wk_call_input_shape(c, 0));
}

void wk_cpu_call_deconv_dx(const wk_cpu_call *c)
{
    each_conv(c, wk_cpu_conv, wk_call_input_shape(c, 0));
}

void wk_cpu_call_deconv(const wk_cpu_call *c)
{
    each_conv(c, wk_cpu_conv_transposed, wk_call_output_shape(c, 0));
}

void wk_cpu_call_conv_dx(const wk_cpu_call *c)
{
    each_conv(c, wk_cpu_conv_transposed, wk_call_output_shape(c, 0));
}

void wk_cpu_call_conv_dw(const wk_cpu_call *c)
{
    wk_shape large = wk_call_input_shape(c, 0), w = wk_call_output_shape(c, 0);
    const wk_conv p = conv_of(large, w, c->node->attrs.conv.stride);
    size_t stacks = large.rank == 5 ? (size_t)large.dim[0] : 1;
    size_t dl = wk_shape_count(large) / stacks, dw = wk_shape_count(w) / stacks;
    size_t ds = wk_shape_count(wk_call_input_shape(c, 1)) / stacks;
    for (size_t s = 0; s < stacks; s++)
        wk_cpu_conv_weights(&p, (const float *)c->in[0] + s * dl, (const float *)c->in[1] + s * ds,
                            (float *)c->out[0] + s * dw, c->workspace, c->pool);
}

static wk_gru gru(const wk_graph *g, const wk_node *node)
{
    const int *inputs = wk_node_inputs(g, node);
    int stack = wk_row_stack(wk_info(g, inputs[1])->type.shape);
    wk_rows r = wk_rows_of(wk_info(g, inputs[4])->type.shape, stack);
    return (wk_gru){.stacks = r.stacks,
                    .rows = r.rows,
                    .hidden = r.cols,
                    .param_stride = r.stacks > 1 ? 3 * r.cols : 0,
                    .eps = node->attrs.norm.epsilon,
                    .update_bias = -1};
}

void wk_cpu_call_gru(const wk_cpu_call *c)
{
    const wk_gru p = gru(c->g, c->node);
    const wk_gru_params params = {c->in[1], c->in[2], c->in[3]};
    float *mean = c->out[1], *rstd = mean + p.stacks * p.rows;
    wk_cpu_gru(&p, c->in[0], &params, c->in[4], c->out[0], mean, rstd, c->pool);
}

void wk_cpu_call_gru_grad(const wk_cpu_call *c)
{
    const wk_gru p = gru(c->g, c->node);
    const wk_gru_params params = {c->in[1], c->in[2], c->in[3]};
    const wk_gru_grads grads = c->node->attrs.norm.params
                                   ? (wk_gru_grads){c->out[2], c->out[3], c->out[4]}
                                   : (wk_gru_grads){0};
    const float *mean = c->in[5], *rstd = mean + p.stacks * p.rows;
    wk_cpu_gru_backward(&p, c->in[0], &params, c->in[4], mean, rstd, c->in[6], c->out[0], c->out[1],
                        &grads, c->workspace, c->pool);
}

void wk_cpu_call_image(const wk_cpu_call *c)
{
    wk_cpu_image_normalise(wk_call_count(c), c->in[0], c->out[0], c->pool);
}

static wk_shape type_shape(const wk_graph *g, int tensor)
{
    return wk_info(g, tensor)->type.shape;
}

size_t wk_cpu_workspace(const wk_graph *g, const wk_node *node, int threads)
{
    const int *inputs = wk_node_inputs(g, node);
    wk_shape large, w;
    wk_conv conv;
    wk_gru cell;
    switch (node->op) {
    case WK_OP_conv:
    case WK_OP_deconv_dx:
    case WK_OP_deconv:
    case WK_OP_conv_dx:
    case WK_OP_conv_dw:
        large = type_shape(g, node->op == WK_OP_deconv || node->op == WK_OP_conv_dx ? node->outputs
                                                                                    : inputs[0]);
        w = type_shape(g, node->op == WK_OP_conv_dw ? node->outputs : inputs[1]);
        conv = conv_of(large, w, node->attrs.conv.stride);
        return wk_cpu_conv_workspace(&conv, threads);
    case WK_OP_gru_grad:
        cell = gru(g, node);
        return wk_cpu_gru_backward_workspace(&cell);
    case WK_OP_global_norm:
        return (size_t)node->input_count * sizeof(wk_span);
    default:
        return 0;
    }
}
