// The sizes of a convolution, and which kernels can do it in bf16 on tensor cores: what the choice
// of formats (formats.h), the fusion table (fusion.h) and the kernels must agree on.
#ifndef WK_TENSOR_CUDA_PASSES_CONV_SIZES_H
#define WK_TENSOR_CUDA_PASSES_CONV_SIZES_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/node.h"

/// bf16 numbers in 16 bytes, and in 8; RGB images are padded to four channels, the last zero.
enum { WK_CONV_CHUNK = 8, WK_CONV_QUAD = 4, WK_CONV_RGB = 3 };

/// Chunks of a pixel's channels; the last may be half a chunk.
static inline unsigned wk_conv_chunks(unsigned channels)
{
    return (channels + WK_CONV_CHUNK - 1) / WK_CONV_CHUNK;
}

/// One stack member's sizes, named as on the CPU: the large image and the small one.
typedef struct wk_conv_sizes {
    unsigned batch, large, large_c, small, small_c, kernel, stride;
    unsigned pixels, run, patch; // small^2, kernel * large_c, kernel * run
    size_t large_count, small_count, weights;
} wk_conv_sizes;

/// Whether an op goes from the small image to the large one.
static inline bool wk_conv_is_transposed(wk_op op)
{
    return op == WK_OP_deconv || op == WK_OP_conv_dx;
}

/// The sizes that a node of any direction asks for.
wk_conv_sizes wk_conv_measure(const wk_graph *g, const wk_node *node);
/// As wk_conv_measure gives them, with large RGB images padded.
wk_conv_sizes wk_conv_as_read(const wk_conv_sizes *z);
/// Whether tensor cores can do products of these sizes in bf16; addresses must also be 16-byte
/// aligned.
bool wk_conv_suits(const wk_conv_sizes *z, bool transposed);
/// Whether a convolution reads images in bf16 alone on a device, and can give its result so: of
/// whole chunks, or by planes.
bool wk_conv_is_bf16(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits);

/// Whether one that these kernels can do has RGB images of the sizes of hopper/conv_rgb.cu, which
/// also reads them as bytes.
bool wk_conv_suits_rgb(const wk_conv_sizes *z, bool transposed);

/// A convolution in either direction as hopper/conv.cu does it, which explains planes and places.
typedef struct wk_conv_planes {
    bool rgb;                  // RGB images, padded: a chunk is two pixels
    unsigned width;            // of the places of an image
    unsigned split, chunks;    // planes along each axis, and chunks of 8 channels in a plane
    unsigned taps[2];          // taps along an axis, by class
    bool joined;               // transposed: the classes are columns
    unsigned classes, columns; // else their number; of the product
    unsigned copied, pitch, copied_bytes; // places in shared memory, from chunk to chunk, in all
} wk_conv_planes;

/// Rows of a tile, maximum halo of places that it copies besides them, and maximum terms.
enum { WK_PLANES_ROWS = 128, WK_PLANES_HALO = 128, WK_PLANES_TERMS = 4096 };

/// Terms of so many taps, in steps of two chunks. Where a tap's chunks are odd in number, the last
/// ones of two taps make a step.
#define WK_PLANES_TERMS_OF(taps, chunks) (((taps) * (chunks) + 1) / 2 * 2 * WK_CONV_CHUNK)

wk_conv_planes wk_conv_planes_of(const wk_conv_sizes *z, bool transposed);

/// The weights' gradient as hopper/conv_weights.cu does it: columns of a tile, at least small_c,
/// and bytes of shared memory.
typedef struct wk_conv_weights {
    unsigned columns, small_pitch, small_bytes; // the small image's chunks: from one to the next
    unsigned stage, tables;                     // bytes of a tile's images, and of its places
} wk_conv_weights;

wk_conv_weights wk_conv_weights_of(const wk_conv_sizes *z, const wk_conv_planes *p);

/// Why these kernels cannot do a convolution in its direction, wherever its tensors lie; NULL where
/// they can. They read images of channels in fours in bf16 alone, and can give their result so.
const char *wk_conv_refuse_planes(const wk_graph *g, const wk_node *node,
                                  const wk_cuda_limits *limits);

#endif
