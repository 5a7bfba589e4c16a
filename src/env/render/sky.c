#include "env/render/sky.h"
#include <math.h>

static void read_colour(const mjModel *model, const char *name, double out[3])
{
    int id = mj_name2id(model, mjOBJ_NUMERIC, name);
    bool found = id >= 0 && model->numeric_size[id] >= 3;
    for (int i = 0; i < 3; i++)
        out[i] = found ? model->numeric_data[model->numeric_adr[id] + i] : 0;
}

wk_sky wk_sky_make(const mjModel *model)
{
    wk_sky sky = {0};
    read_colour(model, "sky_up", sky.up);
    read_colour(model, "sky_down", sky.down);
    return sky;
}

// Arc tangent from basic operations only, the same on every machine: three halvings of the angle
// bring it below pi/16, where the series converges fast.
static double arctangent(double x)
{
    for (int i = 0; i < 3; i++)
        x = x / (1 + sqrt(1 + x * x));
    double q = x * x;
    return 8 * x * (1 - q * (1.0 / 3 - q * (1.0 / 5 - q * (1.0 / 7 - q * (1.0 / 9 - q / 11)))));
}

// Share of the upper colour at the slope `rise` (height over distance): a smooth step in the
// elevation, measured in right angles.
static double upper_share(double rise)
{
    double p = arctangent(rise) / 1.57079632679489661923;
    double share = 0.5 * (1 + 1.41421356237309504880 * p / sqrt(1 + p * p));
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

void wk_sky_shade(const wk_sky *sky, const wk_view *view, const wk_tile *tile, wk_backdrop *out)
{
    for (int y = 0; y < WK_TILE_HEIGHT; y++)
        for (int x = 0; x < WK_TILE_WIDTH; x++) {
            double d[3];
            for (int i = 0; i < 3; i++)
                d[i] = view->forward[i] + (double)tile->centre_v[y] * view->up[i] +
                       (double)tile->centre_u[x] * view->right[i];
            double share = upper_share(d[2] / sqrt(d[0] * d[0] + d[1] * d[1]));
            for (int i = 0; i < 3; i++)
                out->rgb[i][y][x] = (float)(share * sky->up[i] + (1 - share) * sky->down[i]);
        }
}
