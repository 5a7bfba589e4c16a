// The terrain domains: a planar robot on uneven ground, θ = (amplitude, length scale) of the
// ground's profile. θ = (-1, 0) is the staircase.
#ifndef WK_ENV_TERRAIN_H
#define WK_ENV_TERRAIN_H

#include "waker/env.h"

extern const wk_domain wk_terrain_walker;
extern const wk_domain wk_terrain_hopper;

#endif
