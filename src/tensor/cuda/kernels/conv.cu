// Convolutions as matrix products over patches (im2col), for what no other kernel does. Images are
// taken a block at a time, small enough that a block's patches stay in the second-level cache
// between the kernel that collects them and the product that reads them. In bf16, patches are
// rounded as they are collected.
//
// Collecting copies runs: with NHWC a patch is `kernel` contiguous runs of kernel * large_c
// numbers. Its adjoint (col2im) is written as a gather: every number of the large image adds its
// terms in a fixed order. Weight gradients are split over the images (split-K) for more parallel
// work, and the sums added.
#include "tensor/cuda/kernels/conv.cuh"
#include "tensor/cuda/runtime/stream_context.cuh"

// Products of weight gradients that run at once on a multiprocessor, in tiles of 128 by 128, and
// splits at most.
enum { TILES = 2, K_SPLITS_MAX = 128 };

// A small image of one pixel has one patch, the whole large image: a product without copying.
static bool is_plain(const wk_cuda_call *c)
{
    return c->kernel == WK_KERNEL_CONV_PRODUCT;
}

static unsigned divide_up(unsigned a, unsigned b)
{
    return (a + b - 1) / b;
}

// Images in one block when a number of a patch has `bytes` bytes: their patches take four fifths of
// the cache, 48 of 60 MiB on an H200. Blocks are about equal.
static unsigned block_images(const wk_cuda_call *c, const wk_conv_sizes *z, size_t bytes)
{
    size_t fit = c->cache / 5 * 4 / ((size_t)z->pixels * z->patch * bytes);
    unsigned blocks = divide_up(z->batch, fit > 1 ? (unsigned)fit : 1);
    return divide_up(z->batch, blocks);
}

static bool in_bf16(const wk_cuda_call *c)
{
    return c->precision == WK_CUDA_BF16;
}

// N numbers that are loaded and stored together.
template <int N, class T> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) pack {
    T v[N];
};

static __device__ inline void convert(float x, float *y)
{
    *y = x;
}

static __device__ inline void convert(float x, __nv_bfloat16 *y)
{
    *y = __float2bfloat16(x);
}

template <int N, class T> static __device__ void copy_pack(const float *x, T *y)
{
    pack<N, float> from = *(const pack<N, float> *)x;
    pack<N, T> to;
#pragma unroll
    for (int i = 0; i < N; i++)
        convert(from.v[i], &to.v[i]);
    *(pack<N, T> *)y = to;
}

// patches [images * pixels, patch] of images, N numbers a thread; N divides a run and every place
// where one begins.
template <int N, class T>
static void collect_by(const wk_cuda_call *c, const wk_conv_sizes *z, unsigned images,
                       wk_ptr<const float> x, wk_ptr<T> patches)
{
    unsigned line = z->large * z->large_c, step = z->stride * z->large_c, down = z->stride * line;
    unsigned run = z->run / N;
    size_t image = z->large_count;
    wk_divisor by_run = wk_divisor_of(run), by_kernel = wk_divisor_of(z->kernel);
    wk_divisor by_width = wk_divisor_of(z->small), by_height = by_width;
    wk_cuda_each(c, (size_t)images * z->pixels * z->kernel * run, [=] __device__(unsigned i) {
        unsigned k = wk_quotient(i, by_run), at = i - k * by_run.value;
        unsigned column = wk_quotient(k, by_kernel), row, b;
        k -= column * by_kernel.value; // the kernel's row
        row = wk_quotient(column, by_width), column -= row * by_width.value;
        b = wk_quotient(row, by_height), row -= b * by_height.value;
        const float *from = x + b * image + row * down + k * line + column * step;
        copy_pack<N>(from + at * N, patches.at() + (size_t)i * N);
    });
}

template <class T>
static void collect(const wk_cuda_call *c, const wk_conv_sizes *z, unsigned images,
                    wk_ptr<const float> x, wk_ptr<T> patches)
{
    unsigned line = z->large * z->large_c, step = z->stride * z->large_c;
    unsigned places = line | step | z->run; // its low bits say what divides all of them
    unsigned long long address = (uintptr_t)x / sizeof(float);
    if ((places | address) % 8 == 0)
        collect_by<8>(c, z, images, x, patches);
    else if ((places | address) % 4 == 0)
        collect_by<4>(c, z, images, x, patches);
    else if ((places | address) % 2 == 0)
        collect_by<2>(c, z, images, x, patches);
    else
        collect_by<1>(c, z, images, x, patches);
}

// Patches of a block, in the precision of the call's products.
static void collect_block(const wk_cuda_call *c, const wk_conv_sizes *z, unsigned images,
                          wk_ptr<const float> x, wk_ptr<void> patches)
{
    if (in_bf16(c))
        collect(c, z, images, x, patches.as<__nv_bfloat16>());
    else
        collect(c, z, images, x, patches.as<float>());
}

// Patches as an operand.
static wk_in collected(const wk_cuda_call *c, wk_ptr<const void> patches)
{
    return in_bf16(c) ? wk_in{NULL, patches.as<const __nv_bfloat16>()}
                      : wk_in{patches.as<const float>(), NULL};
}

// Bytes of a collected number.
static size_t patch_width(const wk_cuda_call *c)
{
    return in_bf16(c) ? sizeof(__nv_bfloat16) : sizeof(float);
}

static wk_cuda_product product_of(size_t m, size_t n, size_t k)
{
    wk_cuda_product p = {};
    p.stacks = 1;
    p.m = m, p.n = n, p.k = k;
    return p;
}

// y = act(y + bias) in place.
static void finish(const wk_cuda_call *c, size_t n, unsigned channels, wk_ptr<const float> bias,
                   wk_ptr<float> y)
{
    wk_activation act = c->node->attrs.conv.activation;
    if (!bias && act == WK_IDENTITY) return;
    if (channels % 4 == 0 && (uintptr_t)y % 16 == 0 && (uintptr_t)bias % 16 == 0) {
        wk_divisor by_quads = wk_divisor_of(channels / 4);
        wk_cuda_each(c, n / 4, [=] __device__(unsigned i) {
            unsigned at = i - wk_quotient(i, by_quads) * by_quads.value;
            float4 v = y.at<float4>()[i], b = make_float4(0, 0, 0, 0);
            if (bias) b = bias.at<const float4>()[at];
            y.at<float4>()[i] =
                make_float4(wk_activate(act, v.x + b.x), wk_activate(act, v.y + b.y),
                            wk_activate(act, v.z + b.z), wk_activate(act, v.w + b.w));
        });
        return;
    }
    wk_divisor by_channels = wk_divisor_of(channels);
    wk_cuda_each(c, n, [=] __device__(unsigned i) {
        unsigned at = i - wk_quotient(i, by_channels) * by_channels.value;
        y[i] = wk_activate(act, y[i] + (bias ? bias[at] : 0.0f));
    });
}

// y = act(conv(x, w) + bias): large to small, one stack member.
static void convolve(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in w,
                     wk_ptr<const float> bias, wk_ptr<float> y)
{
    if (is_plain(c)) {
        wk_cuda_product p = product_of(z->batch, z->small_c, z->patch);
        (void)wk_cuda_gemm(c, &p, x, w, y);
        finish(c, z->batch * z->small_count, z->small_c, bias, y);
        return;
    }
    unsigned block = block_images(c, z, patch_width(c));
    wk_ptr<void> patches =
        wk_cuda_scratch(c, (size_t)block * z->pixels * z->patch * patch_width(c));
    for (unsigned first = 0; first < z->batch; first += block) {
        unsigned images = z->batch - first < block ? z->batch - first : block;
        wk_ptr<float> out = y + first * z->small_count;
        collect_block(c, z, images, x.x + first * z->large_count, patches);
        wk_cuda_product p = product_of((size_t)images * z->pixels, z->small_c, z->patch);
        p.bf16_a = in_bf16(c);
        (void)wk_cuda_gemm(c, &p, collected(c, patches), w, out);
        finish(c, images * z->small_count, z->small_c, bias, out);
    }
}

// The terms of a place on the large side: kernel rows (or columns) k = first, first + stride, ...
// below `end` whose small row (or column) (place - k) / stride exists.
typedef struct taps {
    unsigned first, end, small; // small: the index at `first`; it falls by one from tap to tap
} taps;

static __device__ taps taps_at(unsigned place, wk_divisor stride, unsigned kernel, unsigned small)
{
    unsigned top = wk_quotient(place, stride), past = top < small ? 0 : top - (small - 1);
    taps t;
    t.first = place - top * stride.value + past * stride.value;
    t.end = kernel < place + 1 ? kernel : place + 1;
    t.small = top - past;
    return t;
}

// y = act(sum of the patches' numbers at each place of the large image + bias), N channels a
// thread.
template <int N>
static void gather_by(const wk_cuda_call *c, const wk_conv_sizes *sizes, unsigned images,
                      wk_ptr<const float> patches, wk_ptr<const float> bias, wk_ptr<float> y)
{
    const wk_conv_sizes z = *sizes;
    wk_activation act = c->node->attrs.conv.activation;
    wk_divisor by_channels = wk_divisor_of(z.large_c / N), by_width = wk_divisor_of(z.large);
    wk_divisor by_stride = wk_divisor_of(z.stride);
    wk_cuda_each(c, images * z.large_count / N, [=] __device__(unsigned i) {
        unsigned column = wk_quotient(i, by_channels),
                 channel = (i - column * by_channels.value) * N;
        unsigned row = wk_quotient(column, by_width), b;
        column -= row * by_width.value;
        b = wk_quotient(row, by_width), row -= b * by_width.value;
        taps v = taps_at(row, by_stride, z.kernel, z.small);
        taps h = taps_at(column, by_stride, z.kernel, z.small);
        pack<N, float> sum;
#pragma unroll
        for (int k = 0; k < N; k++)
            sum.v[k] = bias ? bias[channel + k] : 0.0f;
        const float *from = patches + (size_t)b * z.pixels * z.patch + channel;
        for (unsigned ky = v.first, sy = v.small; ky < v.end; ky += z.stride, sy--)
            for (unsigned kx = h.first, sx = h.small; kx < h.end; kx += z.stride, sx--) {
                size_t at =
                    (size_t)(sy * z.small + sx) * z.patch + (ky * z.kernel + kx) * z.large_c;
                pack<N, float> term = *(const pack<N, float> *)(from + at);
#pragma unroll
                for (int k = 0; k < N; k++)
                    sum.v[k] += term.v[k];
            }
#pragma unroll
        for (int k = 0; k < N; k++)
            sum.v[k] = wk_activate(act, sum.v[k]);
        *(pack<N, float> *)(y.at() + (size_t)i * N) = sum;
    });
}

// y = act(transposed conv(x, w) + bias): small to large, one stack member.
static void convolve_transposed(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in w,
                                wk_ptr<const float> bias, wk_ptr<float> y)
{
    unsigned block = is_plain(c) ? z->batch : block_images(c, z, sizeof(float));
    size_t numbers = (size_t)block * z->pixels * z->patch;
    wk_ptr<float> patches = is_plain(c) ? y : wk_cuda_scratch_of<float>(c, numbers);
    for (unsigned first = 0; first < z->batch; first += block) {
        unsigned images = z->batch - first < block ? z->batch - first : block;
        wk_ptr<float> out = y + first * z->large_count;
        wk_cuda_product p = product_of((size_t)images * z->pixels, z->patch, z->small_c);
        p.transpose_b = true;
        (void)wk_cuda_gemm(c, &p, x + first * z->small_count, w, patches);
        if (is_plain(c))
            finish(c, images * z->large_count, z->large_c, bias, out);
        else if (z->large_c % 4 == 0 && (uintptr_t)y % 16 == 0)
            gather_by<4>(c, z, images, patches, bias, out);
        else
            gather_by<1>(c, z, images, patches, bias, out);
    }
}

// How the sum of a weight gradient is split: into `k_splits` sums, each over `images` images of a
// block.
typedef struct weight_cut {
    unsigned k_splits, images;
} weight_cut;

static weight_cut cut_weights(const wk_cuda_call *c, const wk_conv_sizes *z, unsigned block)
{
    unsigned tiles = divide_up(z->patch, 128) * divide_up(z->small_c, 128);
    unsigned k_splits = TILES * (unsigned)c->processors / tiles;
    k_splits = k_splits < 1 ? 1 : k_splits > K_SPLITS_MAX ? K_SPLITS_MAX : k_splits;
    if (k_splits > block) k_splits = block;
    weight_cut cut = {k_splits, block / k_splits};
    return cut;
}

// Adds (or begins) `k_splits` sums over `images` images each.
static void sum_weights(const wk_cuda_call *c, const wk_conv_sizes *z, unsigned k_splits,
                        unsigned images, wk_ptr<const void> patches, wk_in small, bool accumulate,
                        wk_ptr<float> sums)
{
    if (k_splits == 0 || images == 0) return;
    wk_cuda_product p = product_of(z->patch, z->small_c, (size_t)images * z->pixels);
    p.stacks = k_splits;
    p.transpose_a = true;
    p.bf16_a = in_bf16(c);
    p.stride_a = p.k * z->patch;
    p.stride_b = p.k * z->small_c;
    p.stride_c = z->weights;
    p.accumulate = accumulate;
    (void)wk_cuda_gemm(c, &p, collected(c, patches), small, sums);
}

// dw from the large side and the small side, one stack member.
static void convolve_weights(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in y,
                             wk_ptr<const float>, wk_ptr<float> dw)
{
    if (is_plain(c)) {
        wk_cuda_product p = product_of(z->patch, z->small_c, z->batch);
        p.transpose_a = true;
        (void)wk_cuda_gemm(c, &p, x, y, dw);
        return;
    }
    size_t image = (size_t)z->pixels * z->patch; // numbers of an image's patches
    weight_cut cut = cut_weights(c, z, block_images(c, z, patch_width(c)));
    unsigned block = cut.k_splits * cut.images;
    wk_ptr<void> patches = wk_cuda_scratch(c, block * image * patch_width(c));
    wk_ptr<float> sums =
        cut.k_splits == 1 ? dw : wk_cuda_scratch_of<float>(c, cut.k_splits * z->weights);
    for (unsigned first = 0; first < z->batch; first += block) {
        unsigned images = z->batch - first < block ? z->batch - first : block;
        unsigned k_splits = images / cut.images, done = k_splits * cut.images;
        wk_in small = y + first * z->small_count;
        collect_block(c, z, images, x.x + first * z->large_count, patches);
        sum_weights(c, z, k_splits, cut.images, patches, small, first > 0, sums);
        // What is left of the last block is less than a split; it goes to the first sum.
        sum_weights(c, z, 1, images - done, patches.as<char>() + done * image * patch_width(c),
                    small + done * z->small_count, true, sums);
    }
    if (cut.k_splits > 1) wk_cuda_column_sums(c, 1, cut.k_splits, z->weights, 1, sums, dw);
}

void wk_cuda_conv_members(const wk_cuda_call *c, wk_conv_function *f)
{
    wk_shape x = wk_call_input_shape(c, 0), w = wk_call_input_shape(c, 1);
    wk_shape y = wk_call_output_shape(c, 0);
    const wk_conv_sizes z = wk_conv_measure(c->g, c->node);
    wk_ptr<const float> bias = wk_call_in(c, 2);
    assert(!wk_call_bytes(c, 0));
    size_t stacks = x.rank == 5 ? (size_t)x.dim[0] : 1;
    for (size_t s = 0; s < stacks; s++)
        f(c, &z, wk_call_operand(c, 0) + s * (wk_shape_count(x) / stacks),
          wk_call_operand(c, 1) + s * (wk_shape_count(w) / stacks),
          bias ? bias + s * (size_t)y.dim[y.rank - 1] : NULL,
          wk_call_out(c, 0) + s * (wk_shape_count(y) / stacks));
}

void wk_cuda_call_conv(const wk_cuda_call *c)
{
    wk_cuda_conv_members(c, convolve);
}

void wk_cuda_call_deconv_dx(const wk_cuda_call *c)
{
    wk_cuda_conv_members(c, convolve);
}

void wk_cuda_call_deconv(const wk_cuda_call *c)
{
    wk_cuda_conv_members(c, convolve_transposed);
}

void wk_cuda_call_conv_dx(const wk_cuda_call *c)
{
    wk_cuda_conv_members(c, convolve_transposed);
}

void wk_cuda_call_conv_dw(const wk_cuda_call *c)
{
    wk_cuda_conv_members(c, convolve_weights);
}
