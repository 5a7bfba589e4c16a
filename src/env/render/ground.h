// The ground that a planar robot stands on: a height profile or a textured floor.
//
// A profile is a height field whose rows are all alike: a curve in the x-z plane drawn out along y,
// seen by a camera that looks along +y with its right side along +x. Seen this way it has two kinds
// of surface: the upright front, and the top, a strip of flat facets between neighbouring columns.
//
// A floor is a textured rectangle with the two properties of MuJoCo's OpenGL image that a ray
// caster does not have by itself: light is computed at the corners of a coarse mesh and
// interpolated between them, and the texture is filtered through a pyramid of smaller copies.
#ifndef WK_ENV_RENDER_GROUND_H
#define WK_ENV_RENDER_GROUND_H

#include "env/render/lit_scene.h"
#include "waker/error.h"

enum { WK_ID_FRONT = 1, WK_ID_FACET = 1 << 20 };

/// The top between two columns. x and z are world directions, relative to the camera.
typedef struct wk_facet {
    float x0, z0, x1, z1;                        // its left and right end
    float grade;                                 // rise over run
    float run, rise;                             // from one to the other
    float facing;                                // > 0: the camera is above it
    float normal[3];                             // unit, in the camera's frame
    float near_u0, near_v0, near_u1, near_slope; // its front edge in slopes
    float left, right, top, bottom;              // range in pixels
    float horizon;                               // the light's rays steeper than this reach it
    uint64_t blocks;                             // blocks of the current tile it was seen in
} wk_facet;

typedef struct wk_profile {
    wk_material material;
    int columns;
    double first_x, spacing; // world x of column 0 and between columns
    double front_y, back_y;  // in the world
    double base_z, scale_z;
    float *heights;   // world z per column
    wk_facet *facets; // those in view, left to right
    int facet_count;
    float forward_y, up_y, forward_z, up_z; // how rays run: forward + v up
    float near_y, far_y;                    // front and back relative to the camera
    bool has_horizon;
    float light_x, light_z;                     // like the facets
    float edge[WK_SAMPLES_MAX][WK_TILE_STRIDE]; // v of the front's upper edge, per sample column
    float edge_low[WK_TILE_BLOCKS], edge_high[WK_TILE_BLOCKS]; // its range in a block
} wk_profile;

/// Allocates for the model's height field of geom `geom`, which must not be rotated.
wk_status wk_profile_init(wk_profile *profile, const mjModel *model, int geom, wk_error *err);
void wk_profile_free(wk_profile *profile);

/// Takes over the heights of the first row.
void wk_profile_read(wk_profile *profile, const mjModel *model, int geom);

/// Finds the facets in view and where the light (NULL: none casts shadows) reaches them.
void wk_profile_set_view(wk_profile *profile, const wk_view *view, const wk_light *light);

/// Works out the front's upper edge for the columns of `tile`.
void wk_profile_trace(wk_profile *profile, const wk_tile *tile);

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

/// Reads the plane `geom` of the model, its mesh and its texture. Its material and the lights must
/// be grey: then one number says how bright the texture is.
wk_status wk_floor_init(wk_floor *floor, const mjModel *model, int geom, wk_error *err);
void wk_floor_free(wk_floor *floor);

/// Finds the cells that `view` can see. The camera is level, with the floor's x axis to its right.
void wk_floor_set_view(wk_floor *floor, const wk_view *view, const mjModel *model, int geom);

#endif
