// What the convolutions of capability 9.0 do with their results.
#ifndef WK_TENSOR_CUDA_HOPPER_CONV_COLUMNS_CUH
#define WK_TENSOR_CUDA_HOPPER_CONV_COLUMNS_CUH

#include "tensor/cuda/hopper/conv.cuh"

/// W columns, 4 or 8, of a row of results.
template <int W> struct wk_columns {
    float v[W];
};

template <int W> static __device__ wk_columns<W> wk_columns_of(const float4 (&part)[W / 4])
{
    wk_columns<W> c;
#pragma unroll
    for (int i = 0; i < W / 4; i++)
        c.v[4 * i] = part[i].x, c.v[4 * i + 1] = part[i].y, c.v[4 * i + 2] = part[i].z,
                c.v[4 * i + 3] = part[i].w;
    return c;
}

/// From the results in shared memory.
template <int W> static __device__ wk_columns<W> wk_load_columns(const float *x)
{
    float4 part[W / 4];
#pragma unroll
    for (int i = 0; i < W / 4; i++)
        part[i] = ((const float4 *)x)[i];
    return wk_columns_of<W>(part);
}

/// From, or to, a multiple of W.
template <int W> static __device__ wk_columns<W> wk_get_columns(const wk_in &x, unsigned at)
{
    if constexpr (W == 4) {
        const float4 part[] = {x.get4(at / 4)};
        return wk_columns_of<W>(part);
    } else {
        wk_eight v = x.get8(at / 8);
        const float4 part[] = {v.a, v.b};
        return wk_columns_of<W>(part);
    }
}

template <int W>
static __device__ void wk_put_columns(const wk_out &y, unsigned at, const wk_columns<W> &c)
{
    if constexpr (W == 4)
        y.put4(at / 4, make_float4(c.v[0], c.v[1], c.v[2], c.v[3]));
    else
        y.put8(at / 8, {make_float4(c.v[0], c.v[1], c.v[2], c.v[3]),
                        make_float4(c.v[4], c.v[5], c.v[6], c.v[7])});
}

/// act(x + bias), or x times the slope at `y` where there is a slope to take.
template <int W>
static __device__ void wk_finish_columns(const wk_planes &j, const wk_columns<W> &y,
                                         const wk_columns<W> &bias, wk_columns<W> &x)
{
#pragma unroll
    for (int i = 0; i < W; i++)
        x.v[i] += bias.v[i];
    if (j.sloped) {
#pragma unroll
        for (int i = 0; i < W; i++)
            x.v[i] *= wk_activate_slope(WK_ELU, y.v[i]);
    } else if (j.elu && !j.out.x) {
#pragma unroll
        for (int i = 0; i < W; i++)
            x.v[i] = wk_activate_bf16(WK_ELU, x.v[i]);
    } else if (j.elu) {
#pragma unroll
        for (int i = 0; i < W; i++)
            x.v[i] = wk_activate(WK_ELU, x.v[i]);
    }
}

#endif
