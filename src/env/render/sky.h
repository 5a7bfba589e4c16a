// The sky behind a terrain: MuJoCo's gradient skybox without its random stars, as a function of the
// elevation of the ray.
#ifndef WK_ENV_RENDER_SKY_H
#define WK_ENV_RENDER_SKY_H

#include "env/render/kernels.h"

typedef struct wk_sky {
    double up[3], down[3]; // colours straight up and straight down
} wk_sky;

/// The model's custom numbers "sky_up" and "sky_down" (three each); black where they are missing.
wk_sky wk_sky_make(const mjModel *model);

/// Colours of the sky over the whole tile.
void wk_sky_shade(const wk_sky *sky, const wk_view *view, const wk_tile *tile, wk_backdrop *out);

#endif
