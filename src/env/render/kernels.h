// The inner loops of the renderer, compiled once for any machine and once for AVX2. Both give the
// same bits; only the time differs.
#ifndef WK_ENV_RENDER_KERNELS_H
#define WK_ENV_RENDER_KERNELS_H

#include "env/render/ground.h"

/// What is behind everything in a tile, as colours and as finished pixels.
typedef struct wk_backdrop {
    float rgb[3][WK_TILE_HEIGHT][WK_TILE_STRIDE];
    uint8_t bytes[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH];
} wk_backdrop;

typedef struct wk_kernels {
    const char *name;

    /// Empties the tile: nothing seen anywhere.
    void (*clear)(wk_tile *tile);

    /// Marks the samples where solid `index` is nearest so far.
    void (*cast)(wk_tile *tile, wk_lit_scene *scene, int index);

    /// Begins the colours of the drawn blocks, once everything is cast: samples where nothing was
    /// seen show `back`, those marked WK_ID_FRONT show `front` (both may be NULL: black).
    void (*fill)(wk_tile *tile, const wk_backdrop *back, const wk_backdrop *front);

    /// Adds the colour of solid `index` where it is seen, in proportion to its samples.
    void (*shade)(wk_tile *tile, const wk_lit_scene *scene, int index);

    /// Lays the colour of a translucent solid over the tile's final colours, twice, as MuJoCo does.
    void (*blend)(wk_tile *tile, const wk_lit_scene *scene, int index);

    /// Casting and shading for a profile traced for the tile's columns; returns the blocks that
    /// show nothing but its front.
    uint64_t (*cast_profile)(wk_tile *tile, wk_profile *profile);
    void (*shade_profile)(wk_tile *tile, const wk_lit_scene *scene, const wk_profile *profile);

    /// Colours of the profile's front in the whole tile.
    void (*shade_front)(const wk_tile *tile, const wk_lit_scene *scene, const wk_profile *profile,
                        wk_backdrop *out);

    /// Lights the corners of a floor's mesh; adds the colour of a floor, solid `index`, where it is
    /// seen.
    void (*light_floor)(const wk_lit_scene *scene, int index, wk_floor *floor);
    void (*shade_floor)(wk_tile *tile, const wk_lit_scene *scene, int index, const wk_floor *floor);

    /// Leaves only the samples marked `id` open to what is cast next, at any depth; and forgets
    /// what was then cast before the plane of solid `index`, where that had been seen.
    void (*open)(wk_tile *tile, int id);
    void (*keep_behind)(wk_tile *tile, const wk_lit_scene *scene, int index);

    /// Rounds colours in [0,1] to bytes.
    void (*quantise)(const float rgb[3][WK_TILE_HEIGHT][WK_TILE_STRIDE], uint64_t blocks,
                     uint8_t bytes[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH]);
} wk_kernels;

/// For any machine; for machines with AVX2 (NULL in a build for others); the best this one can run.
const wk_kernels *wk_kernels_portable(void);
const wk_kernels *wk_kernels_avx2(void);
const wk_kernels *wk_kernels_best(void);

#endif
