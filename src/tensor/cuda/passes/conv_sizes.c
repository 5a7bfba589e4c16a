#include "tensor/cuda/passes/conv_sizes.h"

static wk_conv_sizes with_channels(const wk_conv_sizes *given, unsigned channels)
{
    wk_conv_sizes z = *given;
    z.large_c = channels;
    z.run = z.kernel * channels;
    z.patch = z.kernel * z.run;
    z.large_count = (size_t)z.large * z.large * channels;
    z.weights = (size_t)z.patch * z.small_c;
    return z;
}

wk_conv_sizes wk_conv_measure(wk_shape large, wk_shape w, int stride)
{
    const int *image = large.dim + large.rank - 4, *weights = w.dim + w.rank - 4;
    wk_conv_sizes z = {.batch = (unsigned)image[0],
                       .large = (unsigned)image[1],
                       .small_c = (unsigned)weights[3],
                       .kernel = (unsigned)weights[0],
                       .stride = (unsigned)stride};
    z.small = (z.large - z.kernel) / z.stride + 1;
    z.pixels = z.small * z.small;
    z.small_count = (size_t)z.pixels * z.small_c;
    return with_channels(&z, (unsigned)weights[2]);
}

wk_conv_sizes wk_conv_as_read(const wk_conv_sizes *z)
{
    bool coloured = z->large_c == WK_CONV_RGB;
    return coloured ? with_channels(z, WK_CONV_RGB + 1) : *z;
}

// Chunks must not leave a run or a pixel, and a 1x1 small side is a plain product.
bool wk_conv_suits(const wk_conv_sizes *z, bool transposed)
{
    enum { TAPS_MAX = 32 }; // a bit for each
    if (z->large <= z->kernel || z->small_c % WK_CONV_CHUNK || z->stride > 2 ||
        z->kernel < z->stride || z->batch * z->large_count >= (size_t)1 << 31)
        return false;
    unsigned taps = (z->kernel + z->stride - 1) / z->stride;
    if (taps * taps > TAPS_MAX) return false;
    wk_conv_sizes y = wk_conv_as_read(z);
    return transposed || (y.run % WK_CONV_CHUNK == 0 && y.stride * y.large_c % WK_CONV_CHUNK == 0 &&
                          y.large * y.large_c % WK_CONV_CHUNK == 0);
}

bool wk_conv_is_half(const wk_graph *g, const wk_node *node)
{
    const int *inputs = wk_node_inputs(g, node);
    wk_shape x = wk_info(g, inputs[0])->type.shape, w = wk_info(g, inputs[1])->type.shape;
    wk_shape y = wk_info(g, node->outputs)->type.shape;
    bool transposed = node->op == WK_OP_deconv || node->op == WK_OP_conv_dx;
    if (node->op == WK_OP_conv_dw) w = y;
    const wk_conv_sizes z = wk_conv_measure(transposed ? y : x, w, node->attrs.conv.stride);
    return x.rank == 4 && wk_conv_suits(&z, transposed);
}
