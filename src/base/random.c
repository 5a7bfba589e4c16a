#include "base/random.h"

#include "base/hash.h"
#include <assert.h>
#include <string.h>

// The finaliser of splitmix64: a bijection that spreads every input bit over the word.
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint64_t wk_rng_key(uint64_t seed, const char *name)
{
    return mix(mix(seed + 0x9E3779B97F4A7C15u) ^ wk_fnv1a(WK_FNV1A_START, name, strlen(name)));
}

wk_rng wk_rng_stream(uint64_t seed, const char *name, uint64_t substream)
{
    return (wk_rng){.key = wk_rng_key(seed, name), .substream = substream};
}

uint32_t wk_rng_u32(wk_rng *rng)
{
    wk_u32x4 words = wk_philox_at(rng->key, rng->substream, rng->drawn / 4);
    return words.v[rng->drawn++ % 4];
}

uint64_t wk_rng_u64(wk_rng *rng)
{
    unsigned at = (unsigned)(rng->drawn % 4);
    if (at == 3) { // the words are in two blocks
        uint64_t low = wk_rng_u32(rng);
        return low | (uint64_t)wk_rng_u32(rng) << 32;
    }
    wk_u32x4 words = wk_philox_at(rng->key, rng->substream, rng->drawn / 4);
    rng->drawn += 2;
    return words.v[at] | (uint64_t)words.v[at + 1] << 32;
}

double wk_rng_unit(wk_rng *rng)
{
    return (double)(wk_rng_u64(rng) >> 11) * 0x1p-53;
}

double wk_rng_uniform(wk_rng *rng, double low, double high)
{
    return low + (high - low) * wk_rng_unit(rng);
}

uint64_t wk_rng_below(wk_rng *rng, uint64_t count)
{
    assert(count > 0);
    // Draws in the incomplete last group of `count` values would favour the small ones: draw again.
    uint64_t limit = UINT64_MAX - UINT64_MAX % count;
    uint64_t draw;
    do
        draw = wk_rng_u64(rng);
    while (draw >= limit);
    return draw % count;
}

enum { BITS = 32, DEGREE_MAX = 5 };

// A primitive polynomial (degree, inner coefficients) and the first direction numbers, of the
// dimensions after the first.
static const struct {
    int degree;
    uint32_t inner, first[DEGREE_MAX];
} sobol_rows[WK_SOBOL_DIMS - 1] = {
    {1, 0, {1}},          {2, 1, {1, 3}},        {3, 1, {1, 3, 1}},        {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}}, {4, 4, {1, 3, 5, 13}}, {5, 2, {1, 1, 5, 5, 17}},
};

// Direction numbers as fractions of 2^32.
static void sobol_directions(int dim, uint32_t v[BITS])
{
    for (int k = 0; k < BITS; k++) {
        int degree = dim == 0 ? 0 : sobol_rows[dim - 1].degree;
        if (dim == 0 || k < degree) {
            v[k] = (dim == 0 ? 1 : sobol_rows[dim - 1].first[k]) << (BITS - 1 - k);
            continue;
        }
        v[k] = v[k - degree] ^ (v[k - degree] >> degree);
        for (int i = 1; i < degree; i++)
            if (sobol_rows[dim - 1].inner >> (degree - 1 - i) & 1) v[k] ^= v[k - i];
    }
}

void wk_sobol_point(uint32_t index, int dims, double *out)
{
    assert(dims >= 1 && dims <= WK_SOBOL_DIMS);
    for (int d = 0; d < dims; d++) {
        uint32_t v[BITS], x = 0;
        sobol_directions(d, v);
        for (int k = 0; k < BITS; k++)
            if (index >> k & 1) x ^= v[k];
        out[d] = x * 0x1p-32;
    }
}
