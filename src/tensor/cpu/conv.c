// Convolutions as matrix products over patches, a block of images at a time so that the patches
// stay in cache. With NHWC a patch is `kernel` contiguous runs of kernel * large_c numbers, so
// collecting patches (im2col) is copying runs and spreading them (col2im) is adding runs.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include <assert.h>

// Rows of patches in one product: enough to pay for packing the weights in every call.
enum { BLOCK_ROWS = 256, NARROW_RUN = 128, SPLITS_MAX = 8, SPLIT_WEIGHTS_MAX = 1 << 19 };

typedef struct job {
    const wk_conv *p;
    size_t small, pixels; // small side's extent and area
    size_t run;           // kernel * large_c: contiguous numbers of one kernel row
    size_t patch;         // kernel * run
    size_t block;         // images in one product
    size_t splits;        // of the images: each sums its own weight gradient (split-K)
    size_t rows_at_once;  // kernel rows in one product when spreading
    const float *large, *small_in, *w, *bias;
    float *out, *scratch, *partial;
    wk_activation act;
} job;

size_t wk_conv_small(const wk_conv *p)
{
    assert(p->large >= p->kernel && p->kernel > 0 && p->stride > 0);
    return (p->large - p->kernel) / p->stride + 1;
}

static size_t weight_count(const wk_conv *p)
{
    return p->kernel * p->kernel * p->large_c * p->small_c;
}

// A 1x1 small side has one patch, the whole image: a plain product without copying.
static bool is_plain(const wk_conv *p)
{
    return p->large == p->kernel;
}

static job plan(const wk_conv *p)
{
    job j = {.p = p, .small = wk_conv_small(p)};
    j.pixels = j.small * j.small;
    j.run = p->kernel * p->large_c;
    j.patch = p->kernel * j.run;
    j.block = wk_min_size(wk_ceil_div(BLOCK_ROWS, j.pixels), p->batch ? p->batch : 1);
    j.rows_at_once = j.run < NARROW_RUN ? p->kernel : 1;
    // Small weight arrays are summed over parts of the images, which are then added; large ones are
    // cut by kernel row, which needs no second pass.
    bool split = weight_count(p) <= SPLIT_WEIGHTS_MAX;
    j.splits = split ? wk_min_size(SPLITS_MAX, wk_ceil_div(p->batch, j.block)) : 1;
    return j;
}

static size_t scratch_floats(const job *j)
{
    return wk_ceil_div(j->block * j->pixels * j->patch, 16) * 16;
}

size_t wk_cpu_conv_workspace(const wk_conv *p, int threads)
{
    if (is_plain(p)) return 0;
    job j = plan(p);
    size_t partial = j.splits > 1 ? j.splits * weight_count(p) : 0;
    return ((size_t)threads * scratch_floats(&j) + partial) * sizeof(float);
}

// Runs are short, as few as 12 numbers: a call to memcpy would cost more than the copy.
WK_INLINE void copy_run(float *restrict dst, const float *restrict src, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        memcpy(dst + i, src + i, 8 * sizeof *dst);
    for (; i + 2 <= n; i += 2)
        memcpy(dst + i, src + i, 2 * sizeof *dst);
    if (i < n) dst[i] = src[i];
}

WK_INLINE void add_run(float *restrict dst, const float *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] += src[i];
}

// Walks an image's patches [pixels, rows, run], kernel rows first ... first+rows-1: copies the
// image into them, or adds them to the image.
WK_INLINE void walk_patches(const job *j, size_t run, bool spread, size_t first, size_t rows,
                            float *image, float *patches)
{
    size_t line = j->p->large * j->p->large_c, step = j->p->stride * j->p->large_c;
    for (size_t y = 0; y < j->small; y++)
        for (size_t x = 0; x < j->small; x++)
            for (size_t k = first; k < first + rows; k++) {
                float *at = image + (y * j->p->stride + k) * line + x * step;
                if (spread)
                    add_run(at, patches, run);
                else
                    copy_run(patches, at, run);
                patches += run;
            }
}

// Three colours under kernels of 4 and 6 make runs of 12 and 18: with the length known the compiler
// leaves no loop.
WK_MULTI
static void collect_patches(const job *j, const float *image, size_t first, size_t rows,
                            float *patches)
{
    float *from = (float *)image; // only read
    if (j->run == 12)
        walk_patches(j, 12, false, first, rows, from, patches);
    else if (j->run == 18)
        walk_patches(j, 18, false, first, rows, from, patches);
    else
        walk_patches(j, j->run, false, first, rows, from, patches);
}

WK_MULTI
static void spread_patches(const job *j, float *patches, size_t first, size_t rows, float *image)
{
    if (j->run == 18)
        walk_patches(j, 18, true, first, rows, image, patches);
    else
        walk_patches(j, j->run, true, first, rows, image, patches);
}

static size_t large_count(const job *j)
{
    return j->p->large * j->p->large * j->p->large_c;
}

static size_t small_count(const job *j)
{
    return j->pixels * j->p->small_c;
}

static void conv_block(void *context, size_t piece, int thread)
{
    const job *j = context;
    size_t first = piece * j->block, images = wk_min_size(j->block, j->p->batch - first);
    float *patches = j->scratch + (size_t)thread * scratch_floats(j);
    for (size_t i = 0; i < images; i++)
        collect_patches(j, j->large + (first + i) * large_count(j), 0, j->p->kernel,
                        patches + i * j->pixels * j->patch);
    size_t rows = images * j->pixels;
    float *y = j->out + first * small_count(j);
    wk_gemm(false, false, rows, j->p->small_c, j->patch, patches, j->patch, j->w, j->p->small_c,
            false, y, j->p->small_c);
    wk_bias_act_rows(j->act, rows, j->p->small_c, y, j->bias, y);
}

static void transposed_block(void *context, size_t piece, int thread)
{
    const job *j = context;
    const wk_conv *p = j->p;
    size_t first = piece * j->block, images = wk_min_size(j->block, p->batch - first);
    float *patches = j->scratch + (size_t)thread * scratch_floats(j);
    float *y = j->out + first * large_count(j);
    memset(y, 0, images * large_count(j) * sizeof *y);
    size_t width = j->rows_at_once * j->run;
    for (size_t k = 0; k < p->kernel; k += j->rows_at_once) {
        wk_gemm(false, true, images * j->pixels, width, p->small_c,
                j->small_in + first * small_count(j), p->small_c, j->w + k * j->run * p->small_c,
                p->small_c, false, patches, width);
        for (size_t i = 0; i < images; i++)
            spread_patches(j, patches + i * j->pixels * width, k, j->rows_at_once,
                           y + i * large_count(j));
    }
    wk_bias_act_rows(j->act, images * p->large * p->large, p->large_c, y, j->bias, y);
}

// dw rows [first_row, first_row + rows) of the kernel, over the blocks begin ... end-1.
static void sum_weights(const job *j, size_t begin, size_t end, size_t first_row, size_t rows,
                        float *dw, float *patches)
{
    size_t width = rows * j->run, n = j->p->small_c;
    for (size_t b = begin; b < end; b++) {
        size_t first = b * j->block, images = wk_min_size(j->block, j->p->batch - first);
        for (size_t i = 0; i < images; i++)
            collect_patches(j, j->large + (first + i) * large_count(j), first_row, rows,
                            patches + i * j->pixels * width);
        wk_gemm(true, false, width, n, images * j->pixels, patches, width,
                j->small_in + first * small_count(j), n, b > begin, dw, n);
    }
}

static void weights_of_split(void *context, size_t piece, int thread)
{
    const job *j = context;
    size_t blocks = wk_ceil_div(j->p->batch, j->block);
    float *patches = j->scratch + (size_t)thread * scratch_floats(j);
    bool direct = j->splits == 1;
    sum_weights(j, piece * blocks / j->splits, (piece + 1) * blocks / j->splits, 0, j->p->kernel,
                direct ? j->out : j->partial + piece * weight_count(j->p), patches);
}

static void weights_of_kernel_row(void *context, size_t piece, int thread)
{
    const job *j = context;
    float *patches = j->scratch + (size_t)thread * scratch_floats(j);
    sum_weights(j, 0, wk_ceil_div(j->p->batch, j->block), piece, 1,
                j->out + piece * j->run * j->p->small_c, patches);
}

void wk_cpu_conv(const wk_conv *p, const float *x, const float *w, const float *bias,
                 wk_activation act, float *y, void *workspace, wk_pool *pool)
{
    if (p->batch == 0) return;
    if (is_plain(p)) {
        wk_matmul product = {
            .stacks = 1, .m = p->batch, .n = p->small_c, .k = p->kernel * p->kernel * p->large_c};
        wk_cpu_matmul(&product, x, w, y, pool);
        wk_bias_act shape = {1, p->batch, p->small_c, 0, act};
        wk_cpu_bias_act(&shape, y, bias, y, pool);
        return;
    }
    wk_gemm_init();
    job j = plan(p);
    j.large = x, j.w = w, j.bias = bias, j.act = act, j.out = y, j.scratch = workspace;
    wk_pool_run(pool, wk_ceil_div(p->batch, j.block), conv_block, &j);
}

void wk_cpu_conv_transposed(const wk_conv *p, const float *x, const float *w, const float *bias,
                            wk_activation act, float *y, void *workspace, wk_pool *pool)
{
    if (p->batch == 0) return;
    if (is_plain(p)) {
        size_t area = p->kernel * p->kernel;
        wk_matmul product = {.stacks = 1,
                             .m = p->batch,
                             .n = area * p->large_c,
                             .k = p->small_c,
                             .transpose_b = true};
        wk_cpu_matmul(&product, x, w, y, pool);
        wk_bias_act shape = {1, p->batch * area, p->large_c, 0, act};
        wk_cpu_bias_act(&shape, y, bias, y, pool);
        return;
    }
    wk_gemm_init();
    job j = plan(p);
    j.small_in = x, j.w = w, j.bias = bias, j.act = act, j.out = y, j.scratch = workspace;
    wk_pool_run(pool, wk_ceil_div(p->batch, j.block), transposed_block, &j);
}

void wk_cpu_conv_weights(const wk_conv *p, const float *large, const float *small, float *dw,
                         void *workspace, wk_pool *pool)
{
    if (p->batch == 0) {
        wk_cpu_fill(weight_count(p), 0, dw, pool);
        return;
    }
    if (is_plain(p)) {
        wk_matmul product = {.stacks = 1,
                             .m = p->kernel * p->kernel * p->large_c,
                             .n = p->small_c,
                             .k = p->batch,
                             .transpose_a = true};
        wk_cpu_matmul(&product, large, small, dw, pool);
        return;
    }
    wk_gemm_init();
    job j = plan(p);
    j.large = large, j.small_in = small, j.out = dw, j.scratch = workspace;
    j.partial = j.scratch + (size_t)wk_pool_threads(pool) * scratch_floats(&j);
    if (weight_count(p) > SPLIT_WEIGHTS_MAX) {
        wk_pool_run(pool, p->kernel, weights_of_kernel_row, &j);
        return;
    }
    wk_pool_run(pool, j.splits, weights_of_split, &j);
    if (j.splits > 1) wk_cpu_stack_sum(j.splits, weight_count(p), j.partial, dw, pool);
}
