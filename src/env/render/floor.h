// A textured rectangle that the robot stands on, with the two properties of MuJoCo's OpenGL image
// that a ray caster does not have by itself: light is worked out at the corners of a coarse mesh
// and interpolated between them, and the texture is filtered through a pyramid of smaller copies.
#ifndef WK_ENV_RENDER_FLOOR_H
#define WK_ENV_RENDER_FLOOR_H

#include "env/render/solid.h"
#include "waker/error.h"

enum { WK_TEXTURE_LEVELS = 12 };

/// A texture and its copies, each half as large as the one before.
typedef struct wk_texture {
    int levels;
    int32_t width[WK_TEXTURE_LEVELS], height[WK_TEXTURE_LEVELS];
    int32_t first[WK_TEXTURE_LEVELS]; // where a copy begins in `texels`
    int32_t *texels;                  // red in the lowest byte, then green and blue; row by row
} wk_texture;

/// One direction of the mesh: a narrow cell at each end and cells of equal size between them.
typedef struct wk_mesh_side {
    double half, pad, cell; // half length of the floor, sizes of the end cells and of the others
    int cells;
} wk_mesh_side;

typedef struct wk_floor {
    wk_texture texture;
    wk_mesh_side side[2];
    float repeat[2];      // textures per metre along the floor's axes; negative: mirrored
    float *base, *shaded; // light at the corners: without shadows, and of the light that casts them

    // For the current image, along each of the floor's axes:
    float phase[2];   // texture coordinate below the camera
    int lit_cells[2]; // cells that may be in view
    float *corner[2]; // their corners relative to the camera, lit_cells + 1
} wk_floor;

/// Reads the plane `geom` of the model, its mesh and its texture; all other colours must be grey.
wk_status wk_floor_init(wk_floor *floor, const mjModel *model, int geom, wk_error *err);
void wk_floor_free(wk_floor *floor);

/// Finds the cells that `view` can see. The camera is level, with the floor's x axis to its right.
void wk_floor_set_view(wk_floor *floor, const wk_view *view, const mjModel *model, int geom);

#endif
