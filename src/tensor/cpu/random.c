// Uniform numbers by position. Philox is ten rounds of two 32 x 32 -> 64 bit products: what the
// compiler makes of them in vectors is mostly shuffling, so on x86 with AVX2 they are written out.
// Integers: every version gives the same bits.
#include "tensor/cpu/kernels.h"

#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include <string.h>

static void plain_words(const wk_draws *d, uint64_t first, size_t blocks, uint32_t *words)
{
    for (size_t b = 0; b < blocks; b++) {
        wk_u32x4 block = wk_philox_at(d->key, d->substream, first + b);
        memcpy(words + 4 * b, &block, sizeof block);
    }
}

#if defined(__x86_64__) && !defined(WK_NO_MULTI)
#include <immintrin.h>

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

typedef struct job {
    const wk_draws *draws;
    float low, width, *y;
} job;

WK_MULTI
static void uniform_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    float *y = j->y;
    wk_draw_units(j->draws, begin, end - begin, y + begin);
    if (j->low == 0.0f && j->width == 1.0f) return;
    for (size_t i = begin; i < end; i++)
        y[i] = j->low + j->width * y[i];
}

void wk_cpu_uniform(size_t n, const wk_draws *draws, float low, float high, float *y, wk_pool *pool)
{
    job j = {.draws = draws, .low = low, .width = high - low, .y = y};
    wk_cpu_for(n, WK_GRAIN / 4, uniform_range, &j, pool);
}
