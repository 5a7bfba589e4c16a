// What the convolution kernels share.
#ifndef WK_TENSOR_CUDA_KERNELS_CONV_CUH
#define WK_TENSOR_CUDA_KERNELS_CONV_CUH

#include "tensor/cuda/runtime/device.cuh"

extern "C" {
#include "tensor/cuda/passes/conv_sizes.h"
}

/// A convolution of one stack member in any direction. x and w are operands as wk_call_operand
/// gives them, for the weights' gradient the large and the small image.
typedef void wk_conv_function(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in w,
                              wk_ptr<const float> bias, wk_ptr<float> y);
/// Calls it for every member.
void wk_cuda_conv_members(const wk_cuda_call *c, wk_conv_function *f);

/// RGB pixels, as wk_call_load gives them, in bf16 padded to four channels, the last zero.
wk_ptr<const __nv_bfloat16> wk_cuda_pad_rgb(const wk_cuda_call *c, size_t pixels, wk_in x);

#endif
