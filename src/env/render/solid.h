// The solids an image is made of, taken from MuJoCo geoms and placed in the camera's frame.
//
// A solid has up to four parts that are shaded on their own (the three visible faces of a box, side
// and end of a cylinder). Part p of solid i marks the samples where it is seen with
// wk_solid_id(i) + p; ids 1 to 3 are free for other surfaces.
#ifndef WK_ENV_RENDER_SOLID_H
#define WK_ENV_RENDER_SOLID_H

#include "env/render/light.h"

enum { WK_SOLIDS_MAX = 64 };

typedef enum wk_solid_kind {
    WK_SOLID_PLANE, // a rectangle seen from the side of its z axis
    WK_SOLID_SPHERE,
    WK_SOLID_CAPSULE,
    WK_SOLID_CYLINDER,
    WK_SOLID_BOX,
} wk_solid_kind;

typedef struct wk_solid {
    wk_solid_kind kind;
    float centre[3];  // in the camera's frame
    float axis[3][3]; // unit vectors of its own frame
    float half[3];    // half sizes of the enclosing box in that frame
    float radius, half_length;
    wk_material material;
    float check_size;            // side of the squares a plane is checked with; 0: plain
    float check_even, check_odd; // grey where the squares' two numbers have equal or unequal parity
    float corner_x[8], corner_y[8]; // corners of the enclosing box, in pixels
    float left, right, top, bottom; // their range; infinite when one is behind the camera
    uint64_t blocks;                // blocks of the current tile it was seen in
} wk_solid;

/// Marks samples of part 0; parts follow.
static inline int wk_solid_id(int index)
{
    return 4 * (index + 1);
}

/// Whether the geom is of a kind that can be drawn.
bool wk_solid_drawable(const mjModel *model, int geom);

/// A drawable geom as `view` sees it.
void wk_solid_make(const wk_view *view, const mjModel *model, const mjData *data, int geom,
                   wk_solid *out);

/// A capsule or sphere seen from the light: what the test for its shadow needs.
typedef struct wk_occluder {
    int index;       // of the solid
    float centre[3]; // relative to the light
    float axis[3];
    float half_length;
    float along;      // centre · axis
    float around;     // squared distance of light and axis, minus squared radius
    float end, slope; // the same for the end points: end ± slope
} wk_occluder;

/// What throws shadows, and from which light.
typedef struct wk_shadows {
    int light; // index of the light; -1: there are no shadows
    int count;
    wk_occluder occluders[WK_SOLIDS_MAX];
} wk_shadows;

/// Shadows of the capsules and spheres among `solids` under the first light that casts any.
void wk_shadows_make(const wk_lights *lights, const wk_solid *solids, int count, wk_shadows *out);

#endif
