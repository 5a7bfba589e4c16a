// Random streams on the host. A stream is a pure function of (seed, name, substream): no state but
// a counter, so saving a stream means saving one number, and no draw depends on threads or on what
// other streams did. Give every purpose its own name ("layout", "replay", "init/actor/0").
#ifndef WK_BASE_RNG_H
#define WK_BASE_RNG_H

#include "base/philox.h"

/// A position in a stream. Plain data; copying it forks the sequence.
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

#endif
