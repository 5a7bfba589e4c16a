// All kernels of one instruction set: included by one file per set, which gets its own static copy.
#ifndef WK_ENV_RENDER_KERNELS_BODY_H
#define WK_ENV_RENDER_KERNELS_BODY_H

#include "env/render/ground_body.h"

static void clear_tile(wk_tile *tile)
{
    tile->drawn = 0;
    for (int s = 0; s < tile->samples; s++)
        for (int y = 0; y < WK_TILE_HEIGHT; y++)
            for (int x = 0; x < WK_TILE_STRIDE; x += 8) {
                f8_store(&tile->depth[s][y][x], f8_all(INFINITY));
                i8_store(&tile->id[s][y][x], i8_all(0));
            }
}

static void fill_tile(wk_tile *tile, const wk_backdrop *back, const wk_backdrop *front)
{
    for (uint64_t left = tile->drawn; left; left &= left - 1) {
        int bit = __builtin_ctzll(left), y = bit / 8, x = bit % 8 * 8;
        wk_f8 back_share = share_of(tile, y, x, 0), front_share = share_of(tile, y, x, WK_ID_FRONT);
        for (int i = 0; i < 3; i++) {
            wk_f8 rgb = f8_all(0);
            if (back) rgb = back_share * f8_load(&back->rgb[i][y][x]);
            if (front) rgb += front_share * f8_load(&front->rgb[i][y][x]);
            f8_store(&tile->rgb[i][y][x], rgb);
        }
    }
}

static void quantise_tile(const float rgb[3][WK_TILE_HEIGHT][WK_TILE_STRIDE], uint64_t blocks,
                          uint8_t bytes[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH])
{
    for (uint64_t left = blocks; left; left &= left - 1) {
        int bit = __builtin_ctzll(left), y = bit / 8, x = bit % 8 * 8;
        uint8_t *out = &bytes[y][3 * x];
        for (int i = 0; i < 3; i++) {
            wk_f8 value = f8_clamp(f8_load(&rgb[i][y][x]), f8_all(0), f8_all(1));
            wk_i8 level = f8_to_i8(value * 255.0f + 0.5f);
            for (int k = 0; k < 8; k++)
                out[3 * k + i] = (uint8_t)level[k];
        }
    }
}

#define WK_KERNELS_BODY(set)                                                                       \
    {                                                                                              \
        .name = set, .clear = clear_tile, .cast = cast_shape, .shade = shade_shape,                \
        .blend = blend_shape, .cast_profile = cast_profile, .shade_profile = shade_profile,        \
        .shade_front = shade_front, .light_floor = light_floor, .shade_floor = shade_floor,        \
        .open = open_samples, .keep_behind = keep_behind, .fill = fill_tile,                       \
        .quantise = quantise_tile,                                                                 \
    }

#endif
