// What the camera sees and the grid of samples it is seen on. Points and directions are kept in the
// camera's frame (x right, y up, z forward, origin at the camera), where single precision suffices
// anywhere in the world and a ray is simply (u, v, 1), with slopes linear in the pixel coordinates.
#ifndef WK_ENV_RENDER_VIEW_H
#define WK_ENV_RENDER_VIEW_H

#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WK_SAMPLES_MAX = 4,
    WK_TILE_WIDTH = 64,                 // pixels
    WK_TILE_HEIGHT = 8,                 // pixel rows
    WK_TILE_STRIDE = WK_TILE_WIDTH + 8, // room for eight lanes that begin at the last pixel
    WK_TILE_BLOCKS = WK_TILE_WIDTH / 8, // blocks of eight pixels in a row of a tile
    WK_SMALL_TILES = 8,                 // tiles of an image no larger than an observation
};

/// How an image is made; defaults: 4 samples per pixel, shadows on.
typedef struct wk_render_config {
    int samples;  // 1 or 4 per pixel
    bool shadows; // whether the robot throws a shadow on the ground
} wk_render_config;

/// A camera and the image it makes.
typedef struct wk_view {
    int width, height, samples;
    double position[3]; // in the world
    double right[3], up[3], forward[3];
    float step; // slope per pixel
} wk_view;

/// Camera 0 of the model, as MuJoCo draws it: vertical field of view, square pixels.
wk_view wk_view_make(const mjModel *model, const mjData *data, int width, int height, int samples);

/// Whether camera 0 of the model looks along +y and is level from left to right.
bool wk_view_is_side(const mjModel *model);

/// A direction and a point of the world in the camera's frame.
static inline void wk_view_turn(const wk_view *view, const mjtNum world[3], float out[3])
{
    out[0] =
        (float)(world[0] * view->right[0] + world[1] * view->right[1] + world[2] * view->right[2]);
    out[1] = (float)(world[0] * view->up[0] + world[1] * view->up[1] + world[2] * view->up[2]);
    out[2] = (float)(world[0] * view->forward[0] + world[1] * view->forward[1] +
                     world[2] * view->forward[2]);
}
static inline void wk_view_point(const wk_view *view, const mjtNum world[3], float out[3])
{
    mjtNum offset[3];
    for (int i = 0; i < 3; i++)
        offset[i] = world[i] - view->position[i];
    wk_view_turn(view, offset, out);
}

/// A piece of the image small enough for the fastest cache: per sample the nearest surface found so
/// far, per pixel the colour gathered so far. Blocks of eight pixels have one bit each in 64-bit
/// sets (bit 8 row + column / 8).
typedef struct wk_tile {
    int x, y;          // top left pixel
    int width, height; // pixels inside the image
    int samples;
    float u[WK_SAMPLES_MAX][WK_TILE_STRIDE], v[WK_SAMPLES_MAX][WK_TILE_HEIGHT]; // of samples
    float centre_u[WK_TILE_STRIDE], centre_v[WK_TILE_HEIGHT];                   // of pixels
    float depth[WK_SAMPLES_MAX][WK_TILE_HEIGHT][WK_TILE_STRIDE];                // along forward
    int32_t id[WK_SAMPLES_MAX][WK_TILE_HEIGHT][WK_TILE_STRIDE]; // which surface; 0: background
    float rgb[3][WK_TILE_HEIGHT][WK_TILE_STRIDE];
    uint64_t drawn; // blocks where a surface has been seen
} wk_tile;

/// Puts the tile at a pixel column or row of the image and works out the slopes there; contents are
/// left as they are.
void wk_tile_place_x(wk_tile *tile, const wk_view *view, int x);
void wk_tile_place_y(wk_tile *tile, const wk_view *view, int y);

/// The blocks of row `y` that pixels [x, x + 8) of a tile lie in.
static inline uint64_t wk_tile_bits(int y, int x)
{
    uint64_t pair = (uint64_t)((x & 7) ? 3 : 1) << (x >> 3);
    return (pair & 0xff) << (8 * y);
}

/// Where finished pixels go.
typedef struct wk_framebuffer {
    uint8_t *rgb;
    int width;
} wk_framebuffer;

/// Copies the tile's pixels of the given blocks, as far as they lie in the image.
void wk_framebuffer_write(const wk_framebuffer *framebuffer, const wk_tile *tile,
                          const uint8_t bytes[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH], uint64_t blocks);

#endif
