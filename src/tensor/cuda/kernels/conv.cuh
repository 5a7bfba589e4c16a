// What the convolution kernels share.
#ifndef WK_TENSOR_CUDA_KERNELS_CONV_CUH
#define WK_TENSOR_CUDA_KERNELS_CONV_CUH

#include "tensor/cuda/runtime/device.cuh"

extern "C" {
#include "tensor/cuda/passes/conv_sizes.h"
}

/// RGB pixels in bf16 padded to four channels, the last zero.
wk_ptr<const __nv_bfloat16> wk_cuda_pad_rgb(const wk_cuda_call *c, size_t pixels,
                                            wk_ptr<const float> x);
/// Operands are as wk_call_operand gives them.
///
/// y = act(conv(x, w) + bias), large to small, by tensor cores that read bf16 images in place.
/// False, having done nothing, for unsupported sizes, alignment or precision.
bool wk_cuda_conv_direct(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in w,
                         wk_ptr<const float> bias, wk_ptr<float> y);
/// The same for y = act(transposed conv(x, w) + bias), small to large.
bool wk_cuda_deconv_direct(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in w,
                           wk_ptr<const float> bias, wk_ptr<float> y);
/// The same for the weights' gradient from the large side and the small side.
bool wk_cuda_conv_weights_direct(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in large,
                                 wk_in small, wk_ptr<float> dw);

/// The first two on devices of capability 9.0, for the call's weights and whole first output; a
/// fused call's slope and column sums are included. False for unsupported sizes.
bool wk_cuda_conv_planes(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x,
                         wk_ptr<const float> bias);
bool wk_cuda_deconv_planes(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x,
                           wk_ptr<const float> bias);
/// The third there, for large RGB images.
bool wk_cuda_rgb_weights_planes(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in large,
                                wk_in small, wk_ptr<float> dw);

#endif
