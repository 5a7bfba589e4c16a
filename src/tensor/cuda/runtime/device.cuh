// How the CUDA backend runs a node, and what its kernels share: a function for each op reads the
// sizes from the node, as on the CPU, and launches kernels on the call's stream. The functions run
// only while a graph is captured, so they need not be fast, but they must not synchronise,
// allocate, or read device memory.
//
// Sums have a fixed order: no atomics on floats. The files are compiled with --fmad=false, so that
// what is written as separate operations rounds as on the CPU; write fmaf where it may not matter.
#ifndef WK_TENSOR_CUDA_RUNTIME_DEVICE_CUH
#define WK_TENSOR_CUDA_RUNTIME_DEVICE_CUH

extern "C" {
#include "base/random.h"
#include "tensor/cuda/passes/fusion.h"
#include "tensor/cuda/passes/lazy.h"
#include "tensor/node.h"
#include "tensor/shape.h"
}
#include "tensor/cuda/cuda.h"
#include "tensor/cuda/runtime/member_ptr.cuh"

#include <assert.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

typedef struct wk_cuda_stream_context wk_cuda_stream_context;
typedef struct wk_recurrence wk_recurrence;

/// One node about to be captured. Absent inputs are NULL.
typedef struct wk_cuda_call wk_cuda_call;
struct wk_cuda_call {
    const wk_graph *g;
    const wk_node *node;
    const wk_ptr<void> *in, *out; // device addresses; NULL for what exists in bf16 alone
    const wk_ptr<__nv_bfloat16> *in_bf16, *out_bf16; // of bf16; NULL without room for them
    wk_ptr<const uint64_t> key;                      // of a random node
    int members;                                     // of the population: blocks along z
    cudaStream_t stream;
    wk_cuda_precision precision;
    wk_cuda_stream_context *context; // cuBLAS and scratch memory of the stream
    bool programmatic;               // programmatic dependent launch is allowed
    int processors;                  // multiprocessors of the device
    size_t cache;                    // bytes of its second-level cache
    unsigned bf16_outputs;           // a bit for each output that exists in bf16
    unsigned f32_outputs;            // and in float32
    unsigned bf16_inputs;            // a bit for each input that exists in bf16 alone
    wk_kernel kernel;                // what runs it, and with which others: fusion.h
    wk_gemm_tile tile;
    wk_product_form form;
    unsigned fused_next;
    const wk_cuda_call *addend, *epilogue;
    const wk_recurrence *recurrence; // of WK_KERNEL_OBSERVE
};

typedef void wk_cuda_fn(const wk_cuda_call *c);

// ops.def names the functions of the table.
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits) wk_cuda_fn wk_cuda_call_##name;
#include "tensor/ops.def"
#undef OP

static inline wk_shape wk_call_input_shape(const wk_cuda_call *c, int i)
{
    return wk_info(c->g, wk_node_inputs(c->g, c->node)[i])->type.shape;
}

static inline wk_shape wk_call_output_shape(const wk_cuda_call *c, int i)
{
    return wk_info(c->g, c->node->outputs + i)->type.shape;
}

static inline size_t wk_call_count(const wk_cuda_call *c)
{
    return wk_shape_count(wk_call_output_shape(c, 0));
}

/// Input i, of any type.
template <class T> static inline wk_ptr<T> wk_call_at(const wk_cuda_call *c, int i)
{
    return i < c->node->input_count ? c->in[i].template as<T>() : NULL;
}

/// Input or output i as floats.
static inline wk_ptr<const float> wk_call_in(const wk_cuda_call *c, int i)
{
    return wk_call_at<const float>(c, i);
}

static inline wk_ptr<float> wk_call_out(const wk_cuda_call *c, int i)
{
    return c->out[i].as<float>();
}

/// Eight neighbouring elements.
struct wk_eight {
    float4 a, b;
};

/// Two bf16 numbers in a word, the first in its low half.
static __device__ inline float2 wk_unpack_bf16(unsigned v)
{
    return make_float2(__uint_as_float(v << 16), __uint_as_float(v & 0xffff0000u));
}

static __device__ inline unsigned wk_pack_bf16(float x, float y)
{
    __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
    return *(unsigned *)&v;
}

// An element of an output that is being written.
struct wk_out_element {
    float *x;
    __nv_bfloat16 *bf16;

    __device__ void operator=(float value) const
    {
        if (x) *x = value;
        if (bf16) *bf16 = __float2bfloat16_rn(value);
    }
};

/// An output in float32, in bf16 for the matrix products that read it, or in both. Kernels index it
/// like a pointer; every element must be written.
struct wk_out {
    wk_ptr<float> x;            // NULL where only matrix products read it
    wk_ptr<__nv_bfloat16> bf16; // NULL where none does

    __device__ wk_out_element operator[](size_t i) const
    {
        return {x ? x.at() + i : NULL, bf16 ? bf16.at() + i : NULL};
    }

    __device__ wk_out operator+(size_t i) const
    {
        return {x ? x + i : NULL, bf16 ? bf16 + i : NULL};
    }

    /// Elements 4i ... 4i+3 at once.
    __device__ void put4(size_t i, float4 v) const
    {
        if (x) x.at<float4>()[i] = v;
        if (bf16) bf16.at<uint2>()[i] = make_uint2(wk_pack_bf16(v.x, v.y), wk_pack_bf16(v.z, v.w));
    }

    /// Elements 8i ... 8i+7 at once.
    __device__ void put8(size_t i, wk_eight v) const
    {
        if (x) {
            x.at<float4>()[2 * i] = v.a;
            x.at<float4>()[2 * i + 1] = v.b;
        }
        if (bf16)
            bf16.at<uint4>()[i] =
                make_uint4(wk_pack_bf16(v.a.x, v.a.y), wk_pack_bf16(v.a.z, v.a.w),
                           wk_pack_bf16(v.b.x, v.b.y), wk_pack_bf16(v.b.z, v.b.w));
    }

    bool aligned8() const
    {
        return ((uintptr_t)x | (uintptr_t)bf16) % 16 == 0;
    }

    /// Whether put4 is allowed.
    bool aligned4() const
    {
        return (uintptr_t)x % 16 == 0 && (uintptr_t)bf16 % 8 == 0;
    }
};

/// An input in the format that exists. Kernels index it like a pointer.
struct wk_in {
    wk_ptr<const float> x;
    wk_ptr<const __nv_bfloat16> bf16;

    __device__ float operator[](size_t i) const
    {
        return bf16 ? __bfloat162float(bf16[i]) : x[i];
    }

    __host__ __device__ wk_in operator+(size_t i) const
    {
        return {x ? x + i : NULL, bf16 ? bf16 + i : NULL};
    }

    /// Elements 4i ... 4i+3 at once.
    __device__ float4 get4(size_t i) const
    {
        if (!bf16) return x.at<const float4>()[i];
        uint2 v = bf16.at<const uint2>()[i];
        float2 low = wk_unpack_bf16(v.x), high = wk_unpack_bf16(v.y);
        return make_float4(low.x, low.y, high.x, high.y);
    }

    /// Elements 8i ... 8i+7 at once; as get4, and bf16 numbers begin at 16 bytes.
    __device__ wk_eight get8(size_t i) const
    {
        if (!bf16) return {x.at<const float4>()[2 * i], x.at<const float4>()[2 * i + 1]};
        uint4 v = bf16.at<const uint4>()[i];
        float2 a = wk_unpack_bf16(v.x), b = wk_unpack_bf16(v.y);
        float2 c = wk_unpack_bf16(v.z), d = wk_unpack_bf16(v.w);
        return {make_float4(a.x, a.y, b.x, b.y), make_float4(c.x, c.y, d.x, d.y)};
    }

    bool aligned8() const
    {
        return ((uintptr_t)x | (uintptr_t)bf16) % 16 == 0;
    }

    /// Whether get4 is allowed.
    bool aligned4() const
    {
        return (uintptr_t)x % 16 == 0 && (uintptr_t)bf16 % 8 == 0;
    }
};

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

/// Input i for a kernel that can read both formats; op_formats.c lists those inputs.
wk_in wk_call_load(const wk_cuda_call *c, int i);
/// Input i as the operand of a product: floats, NULL if there are none, and their bf16 copy, which
/// may not be up to date.
wk_in wk_call_operand(const wk_cuda_call *c, int i);

/// One of the tensors that an input is the sum of: rows of numbers somewhere in it, zeros
/// elsewhere.
struct wk_term {
    wk_in x;                 // at its row 0
    wk_divisor by_rows;      // the input's rows come in stacks of these,
    unsigned stack, first;   // which are so many rows of x apart, and begin here
    unsigned before, height; // rows of zeros before those of x, and those of x
    size_t row;              // from row to row of x
    unsigned unit;           // 1, 2 or 4 numbers may be read at once

    // Where row r begins; false if it is zero.
    __device__ bool find(unsigned r, size_t *at) const
    {
        unsigned s = wk_quotient(r, by_rows);
        unsigned mine = s * stack + first + (r - s * by_rows.value) - before;
        *at = mine * row;
        return mine < height;
    }

    __device__ float get(unsigned r, unsigned col) const
    {
        size_t at;
        return find(r, &at) ? x[at + col] : 0.0f;
    }

    // Four numbers as stored; converting them is another step, so that loads overlap.
    __device__ uint4 load4(unsigned r, unsigned col) const
    {
        size_t at;
        if (!find(r, &at)) return make_uint4(0, 0, 0, 0);
        at += col;
        if (unit == 4 && !x.bf16) return *(x.x + at).at<const uint4>();
        if (unit == 4) {
            uint2 v = *(x.bf16 + at).at<const uint2>();
            return make_uint4(v.x, v.y, 0, 0);
        }
        if (unit == 2) {
            const float *from = x.x.at() + at;
            uint2 low = *(const uint2 *)from, high = *(const uint2 *)(from + 2);
            return make_uint4(low.x, low.y, high.x, high.y);
        }
        return make_uint4(__float_as_uint(x[at]), __float_as_uint(x[at + 1]),
                          __float_as_uint(x[at + 2]), __float_as_uint(x[at + 3]));
    }

    __device__ float4 value4(uint4 v) const
    {
        if (!x.bf16 || unit != 4)
            return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z),
                               __uint_as_float(v.w));
        float2 low = wk_unpack_bf16(v.x), high = wk_unpack_bf16(v.y);
        return make_float4(low.x, low.y, high.x, high.y);
    }
};

/// An input of rows of `width` numbers as a sum of tensors. Kernels index it like a pointer.
struct wk_terms {
    unsigned count, width;
    wk_divisor by_width;
    wk_term item[WK_TERMS_MAX];

    __device__ float operator[](unsigned i) const
    {
        unsigned r = wk_quotient(i, by_width), col = i - r * width;
        float sum = item[0].get(r, col);
        for (unsigned k = 1; k < count; k++)
            sum += item[k].get(r, col);
        return sum;
    }

    /// Columns col ... col+3 of a row.
    __device__ float4 at4(unsigned r, unsigned col) const
    {
        uint4 v[WK_TERMS_MAX];
#pragma unroll
        for (unsigned k = 0; k < WK_TERMS_MAX; k++)
            if (k < count) v[k] = item[k].load4(r, col);
        float4 sum = item[0].value4(v[0]);
#pragma unroll
        for (unsigned k = 1; k < WK_TERMS_MAX; k++) {
            if (k >= count) break;
            float4 more = item[k].value4(v[k]);
            sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
        }
        return sum;
    }

    /// Elements 4i ... 4i+3, where the width is a multiple of 4.
    __device__ float4 get4(unsigned i) const
    {
        unsigned r = wk_quotient(4 * i, by_width);
        return at4(r, 4 * i - r * width);
    }
};

/// Input i for a kernel that takes it as a sum; op_formats.c lists those inputs.
wk_terms wk_call_terms(const wk_cuda_call *c, int i);

/// The bytes that a lazy image, input i, is read as; NULL where it is none. op_formats.c lists
/// those inputs.
wk_ptr<const uint8_t> wk_call_bytes(const wk_cuda_call *c, int i);

/// The number that a byte of an image stands for, x / 255 - 1/2: the quotient is rounded exactly
/// for all 256, as a division's.
static __device__ inline float wk_pixel(unsigned x)
{
    const float whole = 0x1.010102p-8f, rest = -0x1.fdfdfep-33f;
    return fmaf((float)x, whole, (float)x * rest) - 0.5f;
}

/// Whether input i lies where element `at` of output 0 does: it was produced in its place.
static inline bool wk_call_lies_at(const wk_cuda_call *c, int i, size_t at)
{
    const float *y = wk_call_out(c, 0).base;
    return y ? c->in[i].base == y + at : c->in_bf16[i].base == c->out_bf16[0].base + at;
}

/// Output i for a kernel that writes all of it exactly once.
wk_out wk_call_store(const wk_cuda_call *c, int i);

/// A tensor [S,..,N] as S stacks of rows of N.
typedef struct wk_rows {
    size_t stacks, rows, cols;
} wk_rows;

static inline wk_rows wk_rows_of(wk_shape shape, int stacks)
{
    size_t cols = (size_t)shape.dim[shape.rank - 1];
    wk_rows rows = {(size_t)stacks, wk_shape_count(shape) / cols / (size_t)stacks, cols};
    return rows;
}

/// Scratch device memory until the end of this call, 256-byte aligned, not initialised. May be
/// called several times.
wk_ptr<void> wk_cuda_scratch(const wk_cuda_call *c, size_t bytes);
/// As wk_cuda_scratch, for `count` numbers.
template <class T> static wk_ptr<T> wk_cuda_scratch_of(const wk_cuda_call *c, size_t count)
{
    return wk_cuda_scratch(c, count * sizeof(T)).template as<T>();
}

/// A product by cuBLAS in the call's form. With WK_CUDA_BF16, float operands are rounded to bf16
/// first. False where the library has no product with a bias of these sizes; without bias it is
/// always true.
bool wk_cuda_gemm(const wk_cuda_call *c, const wk_cuda_product *p, wk_in a, wk_in b,
                  wk_ptr<void> out);

/// The kernels of fusion.h that are not an op's own. What a call's pointers must be aligned to is
/// what its guard there asks of the plan: buffers begin at 256 bytes.
wk_cuda_fn wk_cuda_gemm_fused, wk_cuda_gemm_biased;
wk_cuda_fn wk_cuda_skinny_n, wk_cuda_skinny_k, wk_cuda_skinny_dw;
wk_cuda_fn wk_cuda_conv_planes, wk_cuda_conv_weights, wk_cuda_conv_direct;
wk_cuda_fn wk_cuda_gru_cell, wk_cuda_class_quads, wk_cuda_sample_many;

/// Copies the sum that a product is added to, unless it lies in the result's place.
void wk_cuda_begin_sum(const wk_cuda_call *c);

/// The bf16 copy of rows of an operand, with the distance from row to row: that of whole 16 bytes.
wk_ptr<const __nv_bfloat16> wk_cuda_bf16_rows(const wk_cuda_call *c, wk_in x, size_t rows,
                                              size_t cols, size_t *row);
/// The bf16 copy of n numbers, a multiple of 8, made now or up to date already.
wk_ptr<const __nv_bfloat16> wk_cuda_bf16_copy(const wk_cuda_call *c, wk_in x, size_t n);

/// y = x; any count.
void wk_cuda_copy(const wk_cuda_call *c, size_t n, wk_ptr<const float> x, wk_ptr<float> y);
/// y[i] = scale * sum over rows of x [rows,cols] for each of `outer` matrices.
void wk_cuda_column_sums(const wk_cuda_call *c, size_t outer, size_t rows, size_t cols, float scale,
                         wk_ptr<const float> x, wk_ptr<float> y);
/// y[i] = scale * sum over cols of x [rows,cols].
void wk_cuda_row_sums(const wk_cuda_call *c, size_t rows, size_t cols, float scale,
                      wk_ptr<const float> x, wk_ptr<float> y);

// Launching.

enum { WK_CUDA_THREADS = 256 };

/// So many blocks for each member, at most `each` of all members for every multiprocessor.
static inline unsigned wk_cuda_grid(const wk_cuda_call *c, size_t blocks, size_t each)
{
    size_t members = (size_t)c->members;
    size_t max = (each * (size_t)c->processors + members - 1) / members;
    return (unsigned)(blocks < max ? blocks : max);
}

/// Launches a kernel with so many bytes of shared memory, on a grid of two dimensions for each
/// member. The kernel begins with wk_begin. Errors are left for cudaGetLastError.
template <class... P, class... A>
static void wk_launch_shared(const wk_cuda_call *c, void (*kernel)(P...), dim3 grid, dim3 block,
                             unsigned bytes, A... args)
{
    enum { ALWAYS_ALLOWED = 48 << 10 };
    static_assert((!std::is_pointer_v<P> && ...), "pointers of kernels are wk_ptr");
    assert(grid.z == 1);
    grid.z = (unsigned)c->members;
    if (bytes > ALWAYS_ALLOWED)
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = bytes;
    config.stream = c->stream;
    config.attrs = &attribute;
    config.numAttrs = c->programmatic ? 1 : 0;
    (void)cudaLaunchKernelEx(&config, kernel, P(args)...);
}

/// As wk_launch_shared, without shared memory beyond the kernel's own.
template <class... P, class... A>
static void wk_launch(const wk_cuda_call *c, void (*kernel)(P...), dim3 grid, dim3 block, A... args)
{
    wk_launch_shared(c, kernel, grid, block, 0, args...);
}

/// Programmatic dependent launch: waits for the previous kernel, then lets the next one launch, so
/// that short kernels follow each other without gaps.
static __device__ inline void wk_begin(void)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

template <class F> __global__ void wk_each_kernel(unsigned n, F f)
{
    wk_begin();
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        f(i);
}

/// f(i) for i < n, each in its own thread: elementwise work. f is a __device__ lambda.
template <class F> static void wk_cuda_each(const wk_cuda_call *c, size_t n, F f)
{
    assert(n < (size_t)1 << 31);
    if (n == 0) return;
    size_t blocks = (n + WK_CUDA_THREADS - 1) / WK_CUDA_THREADS;
    wk_launch(c, wk_each_kernel<F>, wk_cuda_grid(c, blocks, 32), WK_CUDA_THREADS, (unsigned)n, f);
}

enum { WK_CUDA_WARPS = 4 };

template <class F> __global__ void wk_warps_kernel(unsigned n, F f)
{
    wk_begin();
    unsigned step = gridDim.x * WK_CUDA_WARPS;
    for (unsigned i = blockIdx.x * WK_CUDA_WARPS + threadIdx.x / 32; i < n; i += step)
        f(i, threadIdx.x % 32);
}

/// f(i, lane) for i < n, each by a whole warp: short rows.
template <class F> static void wk_cuda_warps(const wk_cuda_call *c, size_t n, F f)
{
    assert(n < (size_t)1 << 31);
    if (n == 0) return;
    size_t blocks = (n + WK_CUDA_WARPS - 1) / WK_CUDA_WARPS;
    wk_launch(c, wk_warps_kernel<F>, wk_cuda_grid(c, blocks, 64), WK_CUDA_WARPS * 32, (unsigned)n,
              f);
}

template <class F> __global__ void wk_blocks_kernel(unsigned n, F f)
{
    wk_begin();
    for (unsigned i = blockIdx.x; i < n; i += gridDim.x) {
        f(i);
        __syncthreads();
    }
}

/// f(i) for i < n, each by a whole block of WK_CUDA_THREADS: long rows.
template <class F> static void wk_cuda_blocks(const wk_cuda_call *c, size_t n, F f)
{
    assert(n < (size_t)1 << 31);
    if (n == 0) return;
    wk_launch(c, wk_blocks_kernel<F>, wk_cuda_grid(c, n, 64), WK_CUDA_THREADS, (unsigned)n, f);
}

// Inside kernels.

/// The sum over the warp, the same in every lane.
static __device__ inline float wk_warp_sum(float x)
{
    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

static __device__ inline float wk_warp_max(float x)
{
    for (int offset = 16; offset > 0; offset /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
    return x;
}

/// The sum over a block of WK_CUDA_THREADS, the same in every thread. All threads call it.
static __device__ inline float wk_block_sum(float x)
{
    __shared__ float part[WK_CUDA_THREADS / 32];
    x = wk_warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    x = part[0];
    for (int i = 1; i < WK_CUDA_THREADS / 32; i++)
        x += part[i];
    return x;
}

/// The random word of element i of a random node: word i % 4 of block i / 4.
static __device__ inline uint32_t wk_random_word(uint64_t key, uint64_t substream, unsigned i)
{
    return wk_philox_at(key, substream, i / 4).v[i % 4];
}

static __device__ inline float wk_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static __device__ inline float wk_activate(wk_activation act, float x)
{
    switch (act) {
    case WK_ELU:
        return x > 0.0f ? x : expm1f(x);
    case WK_TANH:
        return tanhf(x);
    case WK_SIGMOID:
        return wk_sigmoid(x);
    default:
        return x;
    }
}

/// As wk_activate, for a result that is rounded to bf16, with a relative error of 5e-4: near zero
/// ELU is x, and below that the exponential's last bit is small enough.
static __device__ inline float wk_activate_bf16(wk_activation act, float x)
{
    if (act != WK_ELU) return wk_activate(act, x);
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
    return x > -0x1p-11f ? x : power - 1.0f;
}

/// The derivative of an activation from its output.
static __device__ inline float wk_activate_slope(wk_activation act, float y)
{
    switch (act) {
    case WK_ELU:
        return y > 0.0f ? 1.0f : y + 1.0f;
    case WK_TANH:
        return 1.0f - y * y;
    case WK_SIGMOID:
        return y * (1.0f - y);
    default:
        return 1.0f;
    }
}

#endif
