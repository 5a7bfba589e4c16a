// What the two ways to run a convolution share: its sizes and fast division.
#ifndef WK_TENSOR_CUDA_CONV_CUH
#define WK_TENSOR_CUDA_CONV_CUH

#include "tensor/cuda/device.cuh"

/// Division of numbers below 2^31 by a constant: a multiplication and a shift.
typedef struct wk_divisor {
    unsigned value, factor, shift;
} wk_divisor;

static inline wk_divisor wk_divisor_of(unsigned value)
{
    wk_divisor d = {value, 0, 0};
    while ((1ull << d.shift) < value)
        d.shift++;
    d.factor = (unsigned)(((1ull << 32) * ((1ull << d.shift) - value)) / value + 1);
    return d;
}

static __device__ inline unsigned wk_quotient(unsigned x, wk_divisor d)
{
    return (__umulhi(x, d.factor) + x) >> d.shift;
}

/// One stack member's sizes, named as on the CPU: the large image and the small one.
typedef struct wk_conv_sizes {
    unsigned batch, large, large_c, small, small_c, kernel, stride;
    unsigned pixels, run, patch; // small^2, kernel * large_c, kernel * run
    size_t large_count, small_count, weights;
} wk_conv_sizes;

/// y = act(conv(x, w) + bias), large to small, by tensor cores that read bf16 images in place.
/// False, and nothing is done, for sizes, addresses or a precision that this does not suit.
bool wk_cuda_conv_direct(const wk_cuda_call *c, const wk_conv_sizes *z, const float *x,
                         const float *w, const float *bias, float *y);
/// The same for y = act(transposed conv(x, w) + bias), small to large.
bool wk_cuda_deconv_direct(const wk_cuda_call *c, const wk_conv_sizes *z, const float *x,
                           const float *w, const float *bias, float *y);
/// The same for the weights' gradient from the large side and the small side.
bool wk_cuda_conv_weights_direct(const wk_cuda_call *c, const wk_conv_sizes *z, const float *large,
                                 const float *small, float *dw);

#endif
