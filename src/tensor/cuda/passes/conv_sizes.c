#include "tensor/cuda/passes/conv_sizes.h"
#include "tensor/cuda/passes/fusion.h"
#include "tensor/cuda/passes/thresholds.h"

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

wk_conv_sizes wk_conv_measure(const wk_graph *g, const wk_node *node)
{
    const int *inputs = wk_node_inputs(g, node);
    bool dw = node->op == WK_OP_conv_dw;
    wk_shape w = wk_info(g, dw ? node->outputs : inputs[1])->type.shape;
    wk_shape large =
        wk_info(g, wk_conv_is_transposed(node->op) ? node->outputs : inputs[0])->type.shape;
    const int *image = large.dim + large.rank - 4, *weights = w.dim + w.rank - 4;
    wk_conv_sizes z = {.batch = (unsigned)image[0],
                       .large = (unsigned)image[1],
                       .small_c = (unsigned)weights[3],
                       .kernel = (unsigned)weights[0],
                       .stride = (unsigned)node->attrs.conv.stride};
    z.small = (z.large - z.kernel) / z.stride + 1;
    z.pixels = z.small * z.small;
    z.small_count = (size_t)z.pixels * z.small_c;
    return with_channels(&z, (unsigned)weights[2]);
}

wk_conv_sizes wk_conv_as_read(const wk_conv_sizes *z)
{
    bool rgb = z->large_c == WK_CONV_RGB;
    return rgb ? with_channels(z, WK_CONV_RGB + 1) : *z;
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

// Planes of places.

enum { CHUNK_BYTES = 16 };

static bool is_rgb(const wk_conv_sizes *z)
{
    return z->large_c == WK_CONV_RGB && z->large % 2 == 0 && z->kernel % 2 == 0;
}

bool wk_conv_suits_rgb(const wk_conv_sizes *z, bool transposed)
{
    enum { SIDE = 64, ENCODER = 4, DECODER = 6 };
    return z->large_c == WK_CONV_RGB && z->large == SIDE &&
           (z->kernel == DECODER || (z->kernel == ENCODER && !transposed)) &&
           (z->small_c == 12 || z->small_c == 24 || z->small_c == 48);
}

// The taps of a class of large pixels along an axis.
static unsigned taps_of(const wk_conv_sizes *z, unsigned residue)
{
    return (z->kernel - residue + 1) / 2;
}

static wk_conv_planes forward_planes(const wk_conv_sizes *z)
{
    bool rgb = is_rgb(z);
    wk_conv_planes p = {.rgb = rgb, .classes = 1, .columns = z->small_c};
    p.width = (z->large + 1) / 2;
    p.split = rgb ? 1 : 2;
    p.chunks = rgb ? 2 : wk_conv_chunks(z->large_c);
    p.taps[0] = rgb ? z->kernel / 2 : z->kernel;
    return p;
}

// The places of the small image, with zeros after every line and image for the taps that reach
// beyond.
static wk_conv_planes transposed_planes(const wk_conv_sizes *z)
{
    wk_conv_planes p = {.rgb = is_rgb(z), .split = 1, .joined = z->kernel % 2 == 0};
    unsigned reach = z->small + taps_of(z, 0) - 1, length = (z->large + 1) / 2;
    p.width = reach > length ? reach : length;
    p.chunks = wk_conv_chunks(z->small_c);
    p.taps[0] = taps_of(z, 0), p.taps[1] = taps_of(z, 1);
    p.classes = p.joined ? 1 : 4;
    p.columns = p.joined ? 4 * z->large_c : z->large_c;
    return p;
}

wk_conv_planes wk_conv_planes_of(const wk_conv_sizes *z, bool transposed)
{
    wk_conv_planes p = transposed ? transposed_planes(z) : forward_planes(z);
    p.copied = WK_PLANES_ROWS + (taps_of(z, 0) - 1) * (p.width + 1);
    p.pitch = (p.copied | 1) * CHUNK_BYTES;
    p.copied_bytes = p.split * p.split * p.chunks * p.pitch;
    return p;
}

static const char *refuse_places(const wk_conv_sizes *z)
{
    enum { TAPS_MAX = 64 };
    const wk_conv_sizes y = wk_conv_as_read(z);
    if (z->stride != 2) return "its stride is not 2";
    if (z->large <= z->kernel) return "its images are no larger than its kernel";
    if (z->kernel < 2 || z->kernel * z->kernel > TAPS_MAX) return "its kernel has other sizes";
    if (y.batch * y.large_count >= (size_t)1 << 31 || z->batch * z->small_count >= (size_t)1 << 31)
        return "its images are too large";
    if (z->small_c % WK_CONV_QUAD || (!is_rgb(z) && z->large_c % WK_CONV_QUAD))
        return "its channels are no multiple of 4";
    return NULL;
}

static const char *refuse_images(const wk_conv_sizes *z, bool transposed, size_t shared_memory)
{
    enum { STAGES_BYTES = 4 * 13 << 10 }; // more than the kernels' weights take
    const wk_conv_planes p = wk_conv_planes_of(z, transposed);
    if (p.chunks % 2 && !transposed && z->kernel % 2)
        return "its kernel is odd and its channels are no multiple of 16";
    if (p.copied_bytes + STAGES_BYTES > shared_memory ||
        p.copied > WK_PLANES_ROWS + WK_PLANES_HALO ||
        WK_PLANES_TERMS_OF(p.taps[0] * p.taps[0], p.chunks) > WK_PLANES_TERMS - 64)
        return "a tile's part of the images does not fit into shared memory";
    if (!transposed && 5 * z->pixels < 3 * p.width * p.width)
        return "too many places are beyond the small image's edge";
    return NULL;
}

wk_conv_weights wk_conv_weights_of(const wk_conv_sizes *z, const wk_conv_planes *p)
{
    wk_conv_weights w = {.columns = z->small_c <= 24 ? 24 : 48};
    w.small_pitch = (WK_PLANES_ROWS | 1) * CHUNK_BYTES;
    w.small_bytes = w.columns / WK_CONV_CHUNK * w.small_pitch;
    w.stage = p->copied_bytes + w.small_bytes;
    w.tables = (2 * WK_PLANES_ROWS + WK_PLANES_HALO) * sizeof(unsigned);
    return w;
}

static const char *refuse_weights(const wk_conv_sizes *z, size_t shared_memory)
{
    if (z->small_c > WK_CONV_WEIGHTS_CHANNELS_MAX)
        return "its small image has more than 48 channels";
    const wk_conv_planes p = wk_conv_planes_of(z, false);
    const wk_conv_weights w = wk_conv_weights_of(z, &p);
    if (p.copied > WK_PLANES_ROWS + WK_PLANES_HALO || w.tables + 2 * w.stage > shared_memory)
        return "two tiles' parts of the images do not fit into shared memory";
    return NULL;
}

// Whether a benchmark switched off every kernel by planes that there is for a convolution: RGB
// images of a preset's sizes have one more.
static bool planes_are_off(const wk_conv_sizes *z, wk_op op, const wk_cuda_limits *limits)
{
    bool dw = op == WK_OP_conv_dw, rgb = wk_conv_suits_rgb(z, wk_conv_is_transposed(op));
    return wk_is_off(limits, dw ? WK_KERNEL_CONV_WEIGHTS : WK_KERNEL_CONV_PLANES) &&
           (!rgb || wk_is_off(limits, dw ? WK_KERNEL_RGB_WEIGHTS : WK_KERNEL_CONV_RGB));
}

const char *wk_conv_refuse_planes(const wk_graph *g, const wk_node *node,
                                  const wk_cuda_limits *limits)
{
    const wk_conv_sizes z = wk_conv_measure(g, node);
    bool transposed = wk_conv_is_transposed(node->op);
    wk_activation act = node->attrs.conv.activation;
    if (limits->capability != 90) return "the device has no wgmma";
    if (planes_are_off(&z, node->op, limits)) return "its kernels are switched off";
    if (wk_info(g, wk_node_inputs(g, node)[0])->type.shape.rank != 4)
        return "it is a stack of images";
    const char *why = refuse_places(&z);
    if (why) return why;
    if (node->op == WK_OP_conv_dw) return refuse_weights(&z, limits->shared_memory);
    if (act != WK_IDENTITY && (act != WK_ELU || (transposed && z.large_c == WK_CONV_RGB)))
        return "its activation is not ELU, or its result is RGB";
    return refuse_images(&z, transposed, limits->shared_memory);
}

bool wk_conv_is_bf16(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    const wk_conv_sizes z = wk_conv_measure(g, node);
    bool alone = wk_info(g, wk_node_inputs(g, node)[0])->type.shape.rank == 4;
    bool direct = alone && !wk_is_off(limits, WK_KERNEL_CONV_DIRECT);
    return (direct && wk_conv_suits(&z, wk_conv_is_transposed(node->op))) ||
           !wk_conv_refuse_planes(g, node, limits);
}
