// Lamps and materials, with the meaning they have in MuJoCo's OpenGL image: a headlight that shines
// along the view, and the model's own spot and directional lights.
#ifndef WK_ENV_RENDER_LIGHT_H
#define WK_ENV_RENDER_LIGHT_H

#include "env/render/view.h"
#include <mujoco/mujoco.h>
#include <stdbool.h>

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

/// The lights of `data` seen from `view`. Without `shadows` no light casts any.
void wk_lights_make(const wk_view *view, const mjModel *model, const mjData *data, bool shadows,
                    wk_lights *out);

/// The material of a geom: its own colour, or its material's where that is left at the default.
wk_material wk_material_make(const mjModel *model, int geom);

/// The 2-D texture of a geom's material, or -1; and the bytes of a texture, row by row, `channels`
/// for each texel.
int wk_material_texture(const mjModel *model, int geom);
const mjtByte *wk_texture_bytes(const mjModel *model, int texture, int *channels);

#endif
