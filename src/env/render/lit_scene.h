// What an image is made of: lights and solids, taken from MuJoCo's model and data and placed in the
// camera's frame. Lights and materials mean what they mean in MuJoCo's OpenGL image: a headlight
// that shines along the view, and the model's own spot and directional lights.
//
// A solid has up to four parts that are shaded on their own (the three visible faces of a box, side
// and end of a cylinder). Part p of solid i marks the samples where it is seen with
// wk_solid_id(i) + p; ids 1 to 3 are free for other surfaces.
#ifndef WK_ENV_RENDER_LIT_SCENE_H
#define WK_ENV_RENDER_LIT_SCENE_H

#include "env/render/view.h"

enum { WK_LIGHTS_MAX = 8 };

typedef struct wk_light {
    bool directional, casts_shadow;
    float position[3];  // in the camera's frame, as all below; unused when directional
    float direction[3]; // unit, from the light
    float ambient[3], diffuse[3], specular[3];
    float attenuation[3]; // constant, linear, quadratic
    bool fades;           // attenuation is not just 1
    float cutoff_cosine;  // beyond it the spot is dark; -1: shines everywhere
    float exponent;
    float shadow_slope; // shadows fall within this slope around `direction`,
    float side[2][3];   // to these two sides
} wk_light;

/// The lights of an image; the headlight is the first when it is on.
typedef struct wk_lights {
    int count;
    wk_light lights[WK_LIGHTS_MAX];
} wk_lights;

/// What reflects them.
typedef struct wk_material {
    float rgba[4];
    float emission, specular, shininess, reflectance; // shininess is OpenGL's exponent
} wk_material;

/// The material of a geom: its own colour, or its material's where that is left at the default.
wk_material wk_material_make(const mjModel *model, int geom);

/// The 2-D texture of a geom's material, or -1; and the bytes of a texture, row by row, `channels`
/// for each texel.
int wk_material_texture(const mjModel *model, int geom);
const mjtByte *wk_texture_bytes(const mjModel *model, int texture, int *channels);

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

/// Everything that light falls on and comes from.
typedef struct wk_lit_scene {
    const wk_view *view;
    wk_lights lights;
    wk_shadows shadows;
    int count;
    wk_solid solids[WK_SOLIDS_MAX];
} wk_lit_scene;

/// Makes the scene one without solids, with the lights of `data` seen from `view`, which must live
/// as long as the scene is used. Without `shadows` no light casts any.
void wk_lit_scene_begin(wk_lit_scene *scene, const wk_view *view, const mjModel *model,
                        const mjData *data, bool shadows);

/// Adds a geom if it is of a kind that can be drawn. Capsules and spheres throw shadows under the
/// first light that casts any.
void wk_lit_scene_add(wk_lit_scene *scene, const mjModel *model, const mjData *data, int geom);

#endif
