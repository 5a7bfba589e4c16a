// The kernels that move and make data: copies of rows and columns; sums, products and scalings of
// whole arrays, and images to floats; uniform numbers by position.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include <string.h>

typedef struct copy_job {
    size_t cols, src_row, dst_row;
    const float *src;
    float *dst;
} copy_job;

static void copy_rows(const void *context, size_t begin, size_t end)
{
    const copy_job *j = context;
    for (size_t r = begin; r < end; r++)
        memcpy(j->dst + r * j->dst_row, j->src + r * j->src_row, j->cols * sizeof *j->dst);
}

void wk_cpu_copy_columns(size_t rows, size_t cols, const float *src, size_t src_row, float *dst,
                         size_t dst_row, wk_pool *pool)
{
    if (cols == 0) return;
    copy_job j = {.cols = cols, .src = src, .src_row = src_row, .dst = dst, .dst_row = dst_row};
    wk_cpu_for(rows, wk_row_grain(cols), copy_rows, &j, pool);
}

static void copy_range(const void *context, size_t begin, size_t end)
{
    const copy_job *j = context;
    memcpy(j->dst + begin, j->src + begin, (end - begin) * sizeof *j->dst);
}

void wk_cpu_copy(size_t n, const float *x, float *y, wk_pool *pool)
{
    copy_job j = {.src = x, .dst = y};
    wk_cpu_for(n, 4 * WK_GRAIN, copy_range, &j, pool);
}

typedef struct elements {
    const float *a, *b;
    const uint8_t *bytes;
    float *y;
    float scale, shift; // numbers of the call: a factor or a limit, an offset
    size_t cols;
} elements;

// A function over ranges that computes y[i] = `value` from a[i], b[i], bytes[i], scale and shift.
#define ELEMENTWISE(name, value)                                                                   \
    WK_MULTI static void name(const void *context, size_t begin, size_t end)                       \
    {                                                                                              \
        const elements *j = context;                                                               \
        const float *a = j->a, *b = j->b;                                                          \
        const uint8_t *bytes = j->bytes;                                                           \
        const float scale = j->scale, shift = j->shift;                                            \
        float *y = j->y;                                                                           \
        (void)a, (void)b, (void)bytes, (void)scale, (void)shift;                                   \
        _Pragma("GCC ivdep") for (size_t i = begin; i < end; i++) y[i] = value;                    \
    }

ELEMENTWISE(fill, scale)
ELEMENTWISE(add, a[i] + b[i])
ELEMENTWISE(mul, a[i] * b[i])
ELEMENTWISE(affine, scale *a[i] + shift)
ELEMENTWISE(max_floor, a[i] < scale ? scale : a[i]) // this way round a NaN stays
ELEMENTWISE(max_floor_backward, a[i] < scale ? 0.0f : b[i])
ELEMENTWISE(normalise, (float)bytes[i] / 255.0f - 0.5f)

void wk_cpu_fill(size_t n, float value, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, fill, &(elements){.y = y, .scale = value}, pool);
}

void wk_cpu_add(size_t n, const float *a, const float *b, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, add, &(elements){.a = a, .b = b, .y = y}, pool);
}

void wk_cpu_mul(size_t n, const float *a, const float *b, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, mul, &(elements){.a = a, .b = b, .y = y}, pool);
}

void wk_cpu_affine(size_t n, float scale, float shift, const float *x, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, affine, &(elements){.a = x, .y = y, .scale = scale, .shift = shift},
               pool);
}

void wk_cpu_clamp_min(size_t n, float floor, const float *x, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, max_floor, &(elements){.a = x, .y = y, .scale = floor}, pool);
}

void wk_cpu_clamp_min_backward(size_t n, float floor, const float *x, const float *dy, float *dx,
                               wk_pool *pool)
{
    elements j = {.a = x, .b = dy, .y = dx, .scale = floor};
    wk_cpu_for(n, WK_GRAIN, max_floor_backward, &j, pool);
}

void wk_cpu_image_normalise(size_t n, const uint8_t *x, float *y, wk_pool *pool)
{
    wk_cpu_for(n, WK_GRAIN, normalise, &(elements){.bytes = x, .y = y}, pool);
}

WK_MULTI
static void scale_rows(const void *context, size_t begin, size_t end)
{
    const elements *j = context;
    const float *a = j->a;
    float *y = j->y;
    for (size_t i = begin; i < end;) { // a range may begin and end inside a row
        size_t r = i / j->cols, stop = wk_min_size(end, (r + 1) * j->cols);
        float factor = j->b[r];
#pragma GCC ivdep
        for (; i < stop; i++)
            y[i] = factor * a[i];
    }
}

void wk_cpu_scale_rows(size_t rows, size_t cols, const float *weight, const float *x, float *y,
                       wk_pool *pool)
{
    elements j = {.a = x, .b = weight, .y = y, .cols = cols};
    wk_cpu_for(rows * cols, WK_GRAIN, scale_rows, &j, pool);
}

static void plain_words(const wk_draws *d, uint64_t first, size_t blocks, uint32_t *words)
{
    for (size_t b = 0; b < blocks; b++) {
        wk_u32x4 block = wk_philox_at(d->key, d->substream, first + b);
        memcpy(words + 4 * b, &block, sizeof block);
    }
}

#if defined(__x86_64__) && !defined(WK_NO_MULTI)
#include <immintrin.h>

// Philox is ten rounds of two 32 x 32 -> 64 bit products: what the compiler makes of them in
// vectors is mostly shuffling, so on x86 with AVX2 they are written out. Integers: every version
// gives the same bits.
enum { BLOCKS = 8 }; // in two registers for each word: two chains keep the multipliers busy

// Four counters, each word in the low half of a 64-bit lane; what stands in the high halves does
// not matter to a product.
typedef struct counters {
    __m256i v[4];
} counters;

#define WK_AVX2 __attribute__((target("avx2")))

WK_AVX2 static inline __attribute__((always_inline)) void philox_round(counters *c, __m256i k0,
                                                                       __m256i k1)
{
    __m256i p0 = _mm256_mul_epu32(c->v[0], _mm256_set1_epi64x(0xD2511F53));
    __m256i p1 = _mm256_mul_epu32(c->v[2], _mm256_set1_epi64x(0xCD9E8D57));
    c->v[0] = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c->v[1], k0));
    c->v[1] = p1;
    c->v[2] = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c->v[3], k1));
    c->v[3] = p0;
}

WK_AVX2 static inline __attribute__((always_inline)) void store_counters(const counters *c,
                                                                         uint32_t *words)
{
    // Words 0 and 1 of a block side by side in one register, 2 and 3 in the other.
    __m256i low = _mm256_blend_epi32(c->v[0], _mm256_slli_epi64(c->v[1], 32), 0xAA);
    __m256i high = _mm256_blend_epi32(c->v[2], _mm256_slli_epi64(c->v[3], 32), 0xAA);
    __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    _mm256_storeu_si256((__m256i *)words, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(words + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}

// Eight blocks from `first` on.
WK_AVX2 static void eight_blocks(const wk_draws *d, uint64_t first, uint32_t *words)
{
    counters c[2];
    for (int k = 0; k < 2; k++) {
        __m256i block = _mm256_add_epi64(_mm256_set1_epi64x((long long)(first + 4 * (uint64_t)k)),
                                         _mm256_set_epi64x(3, 2, 1, 0));
        c[k] = (counters){{block, _mm256_srli_epi64(block, 32),
                           _mm256_set1_epi64x((long long)d->substream),
                           _mm256_set1_epi64x((long long)(d->substream >> 32))}};
    }
    __m256i k0 = _mm256_set1_epi64x((uint32_t)d->key), k1 = _mm256_set1_epi64x(d->key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        philox_round(&c[0], k0, k1);
        philox_round(&c[1], k0, k1);
        k0 = _mm256_add_epi32(k0, _mm256_set1_epi64x(0x9E3779B9));
        k1 = _mm256_add_epi32(k1, _mm256_set1_epi64x(0xBB67AE85));
    }
    store_counters(&c[0], words);
    store_counters(&c[1], words + 16);
}

static void draw_words(const wk_draws *d, uint64_t first, size_t blocks, uint32_t *words)
{
    size_t b = 0;
    if (__builtin_cpu_supports("avx2"))
        for (; b + BLOCKS <= blocks; b += BLOCKS)
            eight_blocks(d, first + b, words + 4 * b);
    plain_words(d, first + b, blocks - b, words + 4 * b);
}
#else
static void draw_words(const wk_draws *d, uint64_t first, size_t blocks, uint32_t *words)
{
    plain_words(d, first, blocks, words);
}
#endif

WK_MULTI
static void units_of_words(size_t n, const uint32_t *words, float *u)
{
    for (size_t i = 0; i < n; i++)
        u[i] = wk_unit_float(words[i]);
}

void wk_draw_units(const wk_draws *draws, size_t begin, size_t count, float *u)
{
    enum { TILE = 512 };
    uint32_t words[TILE];
    for (size_t at = begin, end = begin + count; at < end;) {
        size_t skip = at % 4, n = wk_min_size(TILE - skip, end - at);
        draw_words(draws, draws->block + at / 4, wk_ceil_div(skip + n, 4), words);
        units_of_words(n, words + skip, u + (at - begin));
        at += n;
    }
}

typedef struct uniform_job {
    const wk_draws *draws;
    float low, width, *y;
} uniform_job;

WK_MULTI
static void uniform_range(const void *context, size_t begin, size_t end)
{
    const uniform_job *j = context;
    float *y = j->y;
    wk_draw_units(j->draws, begin, end - begin, y + begin);
    if (j->low == 0.0f && j->width == 1.0f) return;
    for (size_t i = begin; i < end; i++)
        y[i] = j->low + j->width * y[i];
}

void wk_cpu_uniform(size_t n, const wk_draws *draws, float low, float high, float *y, wk_pool *pool)
{
    uniform_job j = {.draws = draws, .low = low, .width = high - low, .y = y};
    wk_cpu_for(n, WK_GRAIN / 4, uniform_range, &j, pool);
}
