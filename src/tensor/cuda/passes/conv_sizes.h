// The sizes of a convolution, and whether tensor cores can do it in bf16: what the choice of
// formats (formats.h) and the kernels must agree on.
#ifndef WK_TENSOR_CUDA_PASSES_CONV_SIZES_H
#define WK_TENSOR_CUDA_PASSES_CONV_SIZES_H

#include "tensor/node.h"

/// bf16 numbers in 16 bytes; RGB images are padded to four channels, the last zero.
enum { WK_CONV_CHUNK = 8, WK_CONV_RGB = 3 };

/// One stack member's sizes, named as on the CPU: the large image and the small one.
typedef struct wk_conv_sizes {
    unsigned batch, large, large_c, small, small_c, kernel, stride;
    unsigned pixels, run, patch; // small^2, kernel * large_c, kernel * run
    size_t large_count, small_count, weights;
} wk_conv_sizes;

/// The sizes for the large image, the weights and the stride.
wk_conv_sizes wk_conv_measure(wk_shape large, wk_shape w, int stride);
/// The same with large RGB images padded.
wk_conv_sizes wk_conv_as_read(const wk_conv_sizes *z);
/// Whether tensor cores can do products of these sizes in bf16; addresses must also be 16-byte
/// aligned.
bool wk_conv_suits(const wk_conv_sizes *z, bool transposed);
/// Whether a node is a convolution that reads images of whole chunks in bf16 alone, and can give
/// its result so.
bool wk_conv_is_half(const wk_graph *g, const wk_node *node);

#endif
