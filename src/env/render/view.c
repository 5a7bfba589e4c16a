#include "env/render/view.h"
#include <math.h>

// Where OpenGL implementations put four samples.
static const float four_offsets[4][2] = {
    {.375f, .875f}, {.875f, .625f}, {.125f, .375f}, {.625f, .125f}};
static const float one_offset[2] = {.5f, .5f};

const float *wk_view_offset(int samples, int s)
{
    return samples == 1 ? one_offset : four_offsets[s];
}

wk_view wk_view_make(const mjModel *model, const mjData *data, int width, int height, int samples)
{
    wk_view view = {.width = width, .height = height, .samples = samples};
    for (int i = 0; i < 3; i++) {
        view.position[i] = data->cam_xpos[i];
        view.right[i] = data->cam_xmat[3 * i];
        view.up[i] = data->cam_xmat[3 * i + 1];
        view.forward[i] = -data->cam_xmat[3 * i + 2];
    }
    // Rounded to a float, so that the last bit of the C library's tangent does not matter.
    float half = (float)tan(model->cam_fovy[0] * (3.14159265358979323846 / 360));
    view.step = 2 * half / (float)height;
    return view;
}

void wk_tile_place(wk_tile *tile, const wk_view *view, int x, int y)
{
    tile->x = x;
    tile->y = y;
    tile->samples = view->samples;
    tile->width = view->width - x < WK_TILE_WIDTH ? view->width - x : WK_TILE_WIDTH;
    tile->height = view->height - y < WK_TILE_HEIGHT ? view->height - y : WK_TILE_HEIGHT;
    for (int i = 0; i < WK_TILE_STRIDE; i++)
        tile->centre_u[i] = wk_view_u(view, (float)(x + i) + 0.5f);
    for (int i = 0; i < WK_TILE_HEIGHT; i++)
        tile->centre_v[i] = wk_view_v(view, (float)(y + i) + 0.5f);
    for (int s = 0; s < view->samples; s++) {
        const float *offset = wk_view_offset(view->samples, s);
        for (int i = 0; i < WK_TILE_STRIDE; i++)
            tile->u[s][i] = wk_view_u(view, (float)(x + i) + offset[0]);
        for (int i = 0; i < WK_TILE_HEIGHT; i++)
            tile->v[s][i] = wk_view_v(view, (float)(y + i) + offset[1]);
    }
}
