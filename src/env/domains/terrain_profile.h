// The shape of a terrain: heights in [0,1] along the columns of a height field, from one octave of
// cosine-interpolated lattice noise, or a staircase. Column i of `count` lies at noise coordinate
// X = 100 i / (count - 1); the start of every episode is at X = 50.
#ifndef WK_ENV_DOMAINS_TERRAIN_PROFILE_H
#define WK_ENV_DOMAINS_TERRAIN_PROFILE_H

#include "base/random.h"

enum {
    WK_TERRAIN_COLUMNS = 2000,
    WK_TERRAIN_LATTICE = 1002, // lattice points that the smallest length scale, 0.1, needs
};

/// The fixed lattice: v(k) in (-1,1) is the first number of a Mersenne Twister seeded with k. It is
/// the same in every process, so one θ is one terrain. Fills `count` values from k = 0.
void wk_terrain_lattice_fixed(double *values, int count);

/// A lattice of independent uniform draws on [-1,1).
void wk_terrain_lattice_fresh(wk_rng *rng, double *values, int count);

/// Lattice points that `length` >= 0.1 needs, at most WK_TERRAIN_LATTICE.
int wk_terrain_lattice_count(double length);

/// Heights 0.5 + 0.5 amplitude n(X / length), n the noise between lattice points.
void wk_terrain_noise(const double *lattice, double amplitude, double length,
                      float heights[WK_TERRAIN_COLUMNS]);

/// A staircase of half-height steps: 1, 1, 1, 1/2, 0, 0, 0, 1/2, each about 8 columns long,
/// repeated.
void wk_terrain_stairs(float heights[WK_TERRAIN_COLUMNS]);

#endif
