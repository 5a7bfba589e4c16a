#include "env/domains/terrain_profile.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

// The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998), as far as its first 53-bit number
// needs it.
enum { MT_WORDS = 624, MT_SHIFT = 397 };

static void mt_fill(uint32_t state[MT_WORDS], uint32_t seed)
{
    state[0] = seed;
    for (uint32_t i = 1; i < MT_WORDS; i++)
        state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
}

// Seeding by the array {key}: two passes over the filled state `base`, which does not depend on it.
static void mt_seed(uint32_t state[MT_WORDS], const uint32_t base[MT_WORDS], uint32_t key)
{
    memcpy(state, base, MT_WORDS * sizeof *state);
    int i = 1;
    for (int k = 0; k < MT_WORDS; k++) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525u)) + key;
        if (++i == MT_WORDS) {
            state[0] = state[MT_WORDS - 1];
            i = 1;
        }
    }
    for (int k = 0; k < MT_WORDS - 1; k++) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941u)) - (uint32_t)i;
        if (++i == MT_WORDS) {
            state[0] = state[MT_WORDS - 1];
            i = 1;
        }
    }
    state[0] = 0x80000000u;
}

// Output word i < MT_WORDS - MT_SHIFT of a seeded generator: one step of the recurrence, tempered.
static uint32_t mt_word(const uint32_t state[MT_WORDS], int i)
{
    uint32_t y = (state[i] & 0x80000000u) | (state[i + 1] & 0x7fffffffu);
    uint32_t x = state[i + MT_SHIFT] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    x ^= x >> 11;
    x ^= (x << 7) & 0x9d2c5680u;
    x ^= (x << 15) & 0xefc60000u;
    return x ^ (x >> 18);
}

void wk_terrain_lattice_fixed(double *values, int count)
{
    uint32_t base[MT_WORDS], state[MT_WORDS];
    mt_fill(base, 19650218u);
    for (int k = 0; k < count; k++) {
        mt_seed(state, base, (uint32_t)k);
        double high = mt_word(state, 0) >> 5, low = mt_word(state, 1) >> 6;
        values[k] = -1 + 2 * ((high * 0x1p26 + low) * 0x1p-53);
    }
}

void wk_terrain_lattice_fresh(wk_rng *rng, double *values, int count)
{
    for (int k = 0; k < count; k++)
        values[k] = wk_rng_uniform(rng, -1, 1);
}

int wk_terrain_lattice_count(double length)
{
    int count = (int)floor(100 / length) + 2;
    assert(count <= WK_TERRAIN_LATTICE);
    return count;
}

void wk_terrain_noise(const double *lattice, double amplitude, double length,
                      float heights[WK_TERRAIN_COLUMNS])
{
    for (int i = 0; i < WK_TERRAIN_COLUMNS; i++) {
        double q = 100.0 * i / (WK_TERRAIN_COLUMNS - 1) / length, cell = floor(q);
        double a = lattice[(int)cell], b = lattice[(int)cell + 1];
        double w = (1 - cos(M_PI * (q - cell))) / 2;
        heights[i] = (float)(0.5 + 0.5 * amplitude * (a * (1 - w) + b * w));
    }
}

void wk_terrain_stairs(float heights[WK_TERRAIN_COLUMNS])
{
    // The published terrains come from this loop; a few treads have 7 or 9 columns because the sum
    // of 0.05s rounds, and so must ours.
    double x = 0, level = 0.5, rise = 0.5;
    int treads = 0;
    for (int i = 0; i < WK_TERRAIN_COLUMNS; i++) {
        x += 0.05;
        if (x / 0.4 > treads) {
            treads++;
            if (level < 0 || level > 1) rise = -rise;
            level += rise;
        }
        heights[i] = (float)fmin(fmax(level, 0), 1);
    }
}
