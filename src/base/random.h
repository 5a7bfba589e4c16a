// Randomness. Philox 4x32 with 10 rounds, a keyed bijection on 128-bit counters (Salmon et al.,
// SC'11), is the only source of it in waker; it is all in this header so that CPU and GPU code
// compile the same function and draw the same bits. Sobol's sequence fills a cube evenly.
#ifndef WK_BASE_RANDOM_H
#define WK_BASE_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__
#define WK_HOST_DEVICE __host__ __device__
#else
#define WK_HOST_DEVICE
#endif

/// Four random words.
typedef struct wk_u32x4 {
    uint32_t v[4];
} wk_u32x4;

/// The words at `counter` under `key`.
WK_HOST_DEVICE static inline wk_u32x4 wk_philox(uint64_t key, wk_u32x4 counter)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * counter.v[0];
        uint64_t p1 = (uint64_t)0xCD9E8D57u * counter.v[2];
        wk_u32x4 next = {{(uint32_t)(p1 >> 32) ^ counter.v[1] ^ k0, (uint32_t)p1,
                          (uint32_t)(p0 >> 32) ^ counter.v[3] ^ k1, (uint32_t)p0}};
        counter = next;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return counter;
}

/// The words at block `block` of substream `substream`.
WK_HOST_DEVICE static inline wk_u32x4 wk_philox_at(uint64_t key, uint64_t substream, uint64_t block)
{
    wk_u32x4 counter = {{(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)substream,
                         (uint32_t)(substream >> 32)}};
    return wk_philox(key, counter);
}

/// A float strictly inside (0, 1), exactly representable: (top 23 bits + 1/2) / 2^23.
WK_HOST_DEVICE static inline float wk_unit_float(uint32_t bits)
{
    return ((float)(bits >> 9) + 0.5f) * (1.0f / 8388608.0f);
}

/// A position in a random stream of the host. A stream is a pure function of (seed, name,
/// substream): saving it means saving one number, and no draw depends on threads or on what other
/// streams did. Give every purpose its own name ("layout", "replay", "init/actor/0"). Plain data;
/// copying it forks the sequence.
typedef struct wk_rng {
    uint64_t key;
    uint64_t substream;
    uint64_t drawn; // 32-bit words drawn so far
} wk_rng;

/// The key that (seed, name) stand for; the one place where names become numbers.
uint64_t wk_rng_key(uint64_t seed, const char *name);

/// The stream of (seed, name, substream) at its beginning.
wk_rng wk_rng_stream(uint64_t seed, const char *name, uint64_t substream);

uint32_t wk_rng_u32(wk_rng *rng);
uint64_t wk_rng_u64(wk_rng *rng);

/// Uniform on [0, 1) with 53 bits.
double wk_rng_unit(wk_rng *rng);

/// Uniform on [low, high).
double wk_rng_uniform(wk_rng *rng, double low, double high);

/// Uniform on 0 ... count-1 without bias; count > 0.
uint64_t wk_rng_below(wk_rng *rng, uint64_t count);

enum { WK_SOBOL_DIMS = 8 };

/// Point number `index` in [0, 1), `dims` numbers, of Sobol's low-discrepancy sequence with the
/// direction numbers of Joe and Kuo (2008): the first 2^m points fill the unit cube evenly.
void wk_sobol_point(uint32_t index, int dims, double *out);

#endif
