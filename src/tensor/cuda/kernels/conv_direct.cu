// Convolutions in bf16 as matrix products that never write their patches: a block of threads copies
// the tiles it multiplies straight from the images (implicit GEMM), four tiles deep, and multiplies
// them with tensor cores. One kernel serves three products:
//
//   FORWARD     small pixels by small_c, over a patch of the large image
//   TRANSPOSED  large pixels by large_c, over the small pixels that reach them: every class of
//               large pixels (their coordinates modulo the stride) is a product of its own, with
//               only the kernel's taps of that class. Where all classes have as many taps they
//               read the same small pixels, and are the columns of one product
//   WEIGHTS     patch by small_c, over all small pixels, split into parts that are summed apart
//               (split-K), whose sums are added in order
//
// All sums are in float32 and in a fixed order.
#include "tensor/cuda/kernels/conv_tiles.cuh"

template <int MODE, int COLS>
static void launch(const wk_cuda_call *c, conv_job j, unsigned rows, unsigned slices)
{
    const int bytes = tile_sizes<MODE, COLS>::bytes;
    unsigned blocks = (j.columns + COLS - 1) / COLS;
    j.by_blocks = wk_divisor_of(blocks);
    // An error stays for cudaGetLastError.
    (void)cudaFuncSetAttribute(conv_kernel<MODE, COLS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               bytes);
    dim3 grid((rows + ROWS - 1) / ROWS, slices * blocks, (unsigned)c->members);
    conv_kernel<MODE, COLS><<<grid, THREADS, bytes, c->stream>>>(j);
}

template <int MODE>
static void launch_for(const wk_cuda_call *c, const conv_job &j, unsigned rows, unsigned slices)
{
    if (j.columns <= 16)
        launch<MODE, 16>(c, j, rows, slices);
    else if (j.columns <= 48)
        launch<MODE, 48>(c, j, rows, slices);
    else
        launch<MODE, 96>(c, j, rows, slices);
}

static bool aligned(wk_ptr<const void> x)
{
    return (uintptr_t)x % 16 == 0;
}

wk_ptr<const __nv_bfloat16> wk_cuda_pad_rgb(const wk_cuda_call *c, size_t pixels, wk_in x)
{
    wk_ptr<__nv_bfloat16> y = wk_cuda_scratch_of<__nv_bfloat16>(c, pixels * 4);
    wk_cuda_each(c, pixels, [=] __device__(unsigned i) {
        size_t at = (size_t)i * 3;
        y.at<uint2>()[i] =
            make_uint2(wk_pack_bf16(x[at], x[at + 1]), wk_pack_bf16(x[at + 2], 0.0f));
    });
    return y;
}

// The weights of three colours as of four, the last zero.
static wk_ptr<const __nv_bfloat16> four_weights(const wk_cuda_call *c, const wk_conv_sizes *z,
                                                wk_ptr<const float> w)
{
    unsigned width = z->small_c;
    size_t count = (size_t)z->kernel * z->kernel * width * 4;
    wk_ptr<__nv_bfloat16> y = wk_cuda_scratch_of<__nv_bfloat16>(c, count);
    wk_cuda_each(c, count, [=] __device__(unsigned i) {
        unsigned row = i / width, pixel = row / 4, colour = row % 4;
        float v = colour < 3 ? w[(size_t)(pixel * 3 + colour) * width + (i - row * width)] : 0.0f;
        y[i] = __float2bfloat16_rn(v);
    });
    return y;
}

static wk_ptr<const __nv_bfloat16> large_side(const wk_cuda_call *c, const wk_conv_sizes *z,
                                              wk_in x)
{
    if (z->large_c != WK_CONV_RGB) return wk_cuda_bf16_copy(c, x, z->batch * z->large_count);
    return wk_cuda_pad_rgb(c, (size_t)z->batch * z->large * z->large, {x.x, NULL});
}

static conv_job job_of(const wk_cuda_call *c, const wk_conv_sizes *z, wk_ptr<const float> bias,
                       wk_ptr<float> y)
{
    conv_job j = {};
    j.z = *z;
    j.bias = bias;
    j.y = y;
    j.act = c->node->attrs.conv.activation;
    j.pixels = z->batch * z->pixels;
    j.line = z->large * z->large_c;
    j.step = z->stride * z->large_c;
    j.columns = z->small_c;
    j.by_run = wk_divisor_of(z->run);
    j.by_large_c = wk_divisor_of(z->large_c);
    j.by_small = wk_divisor_of(z->small);
    j.by_small_c = wk_divisor_of(z->small_c);
    for (unsigned i = 0; i < z->stride; i++) {
        j.by_class[i] = wk_divisor_of(class_of(z, i).length);
    }
    return j;
}

// Whether whole chunks of `channels` can be stored at once.
static void choose_store(conv_job *j, unsigned channels)
{
    bool quick = j->act == WK_IDENTITY || (j->act == WK_ELU && !j->y);
    j->chunks = quick && channels % CHUNK == 0 && aligned(j->y) && aligned(j->y_bf16);
}

// Lets the kernel write the bf16 copy too, or alone, where it writes all of the output.
static void store_both(const wk_cuda_call *c, size_t count, conv_job *j)
{
    if (count != wk_call_count(c)) return;
    wk_out out = wk_call_store(c, 0);
    j->y = out.x;
    j->y_bf16 = out.bf16;
}

// y = act(conv(x, w) + bias), large to small.
static void convolve(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in w,
                     wk_ptr<const float> bias, wk_ptr<float> y)
{
    wk_conv_sizes read = wk_conv_as_read(z);
    conv_job j = job_of(c, &read, bias, y);
    j.left = large_side(c, z, x);
    j.right =
        z->large_c == WK_CONV_RGB ? four_weights(c, z, w.x) : wk_cuda_bf16_copy(c, w, z->weights);
    store_both(c, z->batch * z->small_count, &j);
    choose_store(&j, z->small_c);
    launch_for<FORWARD>(c, j, j.pixels, 1);
}

// y = act(transposed conv(x, w) + bias), small to large.
static void convolve_transposed(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x, wk_in w,
                                wk_ptr<const float> bias, wk_ptr<float> y)
{
    conv_job j = job_of(c, z, bias, y);
    j.left = wk_cuda_bf16_copy(c, x, z->batch * z->small_count);
    j.right = wk_cuda_bf16_copy(c, w, z->weights);
    store_both(c, z->batch * z->large_count, &j);
    choose_store(&j, z->large_c);
    unsigned length = class_of(z, 0).length; // the first class is the largest
    unsigned classes = z->stride * z->stride;
    j.joined = z->stride == 2 && z->kernel % 2 == 0;
    j.columns = j.joined ? classes * z->large_c : z->large_c;
    launch_for<TRANSPOSED>(c, j, z->batch * length * length, j.joined ? 1 : classes);
}

// Adds the sums [split][patch][small_c], where there are several, and leaves out the fourth colour.
static void finish_weights(const wk_cuda_call *c, const wk_conv_sizes *z, const wk_conv_sizes *read,
                           unsigned k_splits, wk_ptr<const float> sums, wk_ptr<float> dw)
{
    if (z->large_c != WK_CONV_RGB) {
        if (k_splits > 1) wk_cuda_column_sums(c, 1, k_splits, z->weights, 1, sums, dw);
        return;
    }
    wk_ptr<float> four = wk_cuda_scratch_of<float>(c, read->weights);
    wk_cuda_column_sums(c, 1, k_splits, read->weights, 1, sums, four);
    unsigned width = z->small_c;
    wk_cuda_each(c, z->weights, [=] __device__(unsigned i) {
        unsigned row = i / width, pixel = row / 3;
        dw[i] = four[(size_t)(row + pixel) * width + (i - row * width)];
    });
}

// Into how many parts the sum is split, so that one run fills the device. A population fills it
// with fewer, whose sums take less time to write and add: as many as make the rounds of blocks
// shortest.
static unsigned choose_k_splits(const wk_cuda_call *c, unsigned tiles, unsigned steps)
{
    enum { AROUND = 8 }; // steps that a block's beginning and end, and its sums, take as long as
    const unsigned blocks = 4 * (unsigned)c->processors, at_once = 3 * (unsigned)c->processors;
    unsigned max_splits = tiles < blocks ? blocks / tiles : 1, best = 1, min_time = 0xffffffffu;
    if (c->members == 1) return max_splits;
    for (unsigned k_splits = 1; k_splits <= max_splits; k_splits++) {
        unsigned rounds = (tiles * (unsigned)c->members * k_splits + at_once - 1) / at_once;
        unsigned time = rounds * ((steps + k_splits - 1) / k_splits + AROUND);
        if (time < min_time) min_time = time, best = k_splits;
    }
    return best;
}

static void convolve_weights(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in large,
                             wk_in small, wk_ptr<const float>, wk_ptr<float> dw)
{
    wk_conv_sizes read = wk_conv_as_read(z);
    conv_job j = job_of(c, &read, NULL, dw);
    j.act = WK_IDENTITY;
    j.left = large_side(c, z, large);
    j.right = wk_cuda_bf16_copy(c, small, z->batch * z->small_count);
    unsigned tiles = (read.patch + ROWS - 1) / ROWS * ((z->small_c + 95) / 96);
    unsigned steps = (j.pixels + DEPTH - 1) / DEPTH, k_splits = choose_k_splits(c, tiles, steps);
    unsigned split_steps = (steps + k_splits - 1) / k_splits;
    j.split_pixels = split_steps * DEPTH;
    k_splits = (steps + split_steps - 1) / split_steps;
    if (k_splits > 1 || z->large_c == WK_CONV_RGB)
        j.y = wk_cuda_scratch_of<float>(c, k_splits * read.weights);
    choose_store(&j, z->small_c);
    launch_for<WEIGHTS>(c, j, read.patch, k_splits);
    finish_weights(c, z, &read, k_splits, j.y, dw);
}

void wk_cuda_conv_direct(const wk_cuda_call *c)
{
    if (c->node->op == WK_OP_conv_dw)
        wk_cuda_conv_members(c, convolve_weights);
    else
        wk_cuda_conv_members(c,
                             wk_conv_is_transposed(c->node->op) ? convolve_transposed : convolve);
}
