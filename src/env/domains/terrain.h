// The terrain domains: a planar robot on uneven ground, θ = (amplitude, length scale) of the
// ground's profile. θ = (-1, 0) is the staircase.
#ifndef WK_ENV_DOMAINS_TERRAIN_H
#define WK_ENV_DOMAINS_TERRAIN_H

#include "waker/env.h"

extern const wk_domain wk_terrain_walker;
/// The walker with gravity, friction, motor strength and limb length in θ too: six parameters.
extern const wk_domain wk_terrain_body;
extern const wk_domain wk_terrain_hopper;

#endif
