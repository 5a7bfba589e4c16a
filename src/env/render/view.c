#include "env/render/view.h"
#include <math.h>
#include <string.h>

// Where OpenGL implementations put four samples.
static const float four_offsets[4][2] = {
    {.375f, .875f}, {.875f, .625f}, {.125f, .375f}, {.625f, .125f}};
static const float one_offset[2] = {.5f, .5f};

// Where, in a pixel, sample s lies; (0,0) is the top left corner.
static const float *sample_offset(int samples, int s)
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

bool wk_view_is_side(const mjModel *model)
{
    const mjtNum *mat = model->cam_mat0;
    return model->ncam > 0 && fabs(mat[0] - 1) < 1e-6 && fabs(mat[1]) < 1e-6 &&
           fabs(mat[2]) < 1e-6 && mat[5] < -0.5;
}

// Slopes of a pixel coordinate (x to the right, y down).
static float slope_u(const wk_view *view, float x)
{
    return (x - 0.5f * (float)view->width) * view->step;
}

static float slope_v(const wk_view *view, float y)
{
    return (0.5f * (float)view->height - y) * view->step;
}

void wk_tile_place_x(wk_tile *tile, const wk_view *view, int x)
{
    tile->x = x;
    tile->samples = view->samples;
    tile->width = view->width - x < WK_TILE_WIDTH ? view->width - x : WK_TILE_WIDTH;
    for (int i = 0; i < WK_TILE_STRIDE; i++)
        tile->centre_u[i] = slope_u(view, (float)(x + i) + 0.5f);
    for (int s = 0; s < view->samples; s++)
        for (int i = 0; i < WK_TILE_STRIDE; i++)
            tile->u[s][i] = slope_u(view, (float)(x + i) + sample_offset(view->samples, s)[0]);
}

void wk_tile_place_y(wk_tile *tile, const wk_view *view, int y)
{
    tile->y = y;
    tile->height = view->height - y < WK_TILE_HEIGHT ? view->height - y : WK_TILE_HEIGHT;
    for (int i = 0; i < WK_TILE_HEIGHT; i++)
        tile->centre_v[i] = slope_v(view, (float)(y + i) + 0.5f);
    for (int s = 0; s < view->samples; s++)
        for (int i = 0; i < WK_TILE_HEIGHT; i++)
            tile->v[s][i] = slope_v(view, (float)(y + i) + sample_offset(view->samples, s)[1]);
}

static void put_block(uint8_t *to, const uint8_t *from, int pixels)
{
    if (pixels >= 8)
        memcpy(to, from, 8 * 3);
    else if (pixels > 0)
        memcpy(to, from, (size_t)pixels * 3);
}

void wk_framebuffer_write(const wk_framebuffer *framebuffer, const wk_tile *tile,
                          const uint8_t bytes[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH], uint64_t blocks)
{
    for (int y = 0; y < tile->height; y++, blocks >>= WK_TILE_BLOCKS) {
        unsigned row = blocks & 0xff;
        uint8_t *to = framebuffer->rgb + ((size_t)(tile->y + y) * framebuffer->width + tile->x) * 3;
        if (row == 0xff) {
            memcpy(to, bytes[y], (size_t)tile->width * 3);
            continue;
        }
        for (; row; row &= row - 1) {
            int x = __builtin_ctz(row) * 8;
            put_block(to + 3 * x, bytes[y] + 3 * x, tile->width - x);
        }
    }
}
