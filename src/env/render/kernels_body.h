// All kernels of one instruction set: included by one file per set, which gets its own static copy.
#ifndef WK_ENV_RENDER_KERNELS_BODY_H
#define WK_ENV_RENDER_KERNELS_BODY_H

#include "env/render/cast_body.h"
#include "env/render/fill_body.h"
#include "env/render/floor_body.h"
#include "env/render/profile_body.h"
#include "env/render/shade_body.h"

#define WK_KERNELS_BODY(set)                                                                       \
    {                                                                                              \
        .name = set, .clear = clear_tile, .cast = cast_shape, .shade = shade_shape,                \
        .blend = blend_shape, .cast_profile = cast_profile, .shade_profile = shade_profile,        \
        .shade_front = shade_front, .light_floor = light_floor, .shade_floor = shade_floor,        \
        .open = open_samples, .keep_behind = keep_behind, .fill = fill_tile,                       \
        .quantise = quantise_tile,                                                                 \
    }

#endif
