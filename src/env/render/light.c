#include "env/render/light.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_directional(const mjModel *model, int light)
{
#if mjVERSION_HEADER >= 333
    return model->light_type[light] == mjLIGHT_DIRECTIONAL;
#else
    return model->light_directional[light];
#endif
}

static void add_headlight(const mjModel *model, wk_lights *out)
{
    wk_light *light = &out->lights[out->count++];
    *light = (wk_light){.directional = true, .cutoff_cosine = -1, .direction = {0, 0, 1}};
    memcpy(light->ambient, model->vis.headlight.ambient, sizeof light->ambient);
    memcpy(light->diffuse, model->vis.headlight.diffuse, sizeof light->diffuse);
    memcpy(light->specular, model->vis.headlight.specular, sizeof light->specular);
}

static float degrees_cosine(float degrees)
{
    return (float)cos(degrees * (3.14159265358979323846 / 180));
}

// MuJoCo's shadow map covers the spot's cone scaled by vis.map.shadowscale, at most 160 degrees.
static float shadow_slope(const mjModel *model, float cutoff)
{
    double angle = fmin(2.0 * cutoff * model->vis.map.shadowscale, 160);
    return (float)tan(angle * (3.14159265358979323846 / 360));
}

static void add_light(const wk_view *view, const mjModel *model, const mjData *data, int i,
                      bool shadows, wk_lights *out)
{
    wk_light *light = &out->lights[out->count++];
    *light = (wk_light){.directional = is_directional(model, i),
                        .casts_shadow = shadows && model->light_castshadow[i],
                        .cutoff_cosine = -1};
    wk_view_point(view, data->light_xpos + 3 * i, light->position);
    wk_view_turn(view, data->light_xdir + 3 * i, light->direction);
    memcpy(light->ambient, model->light_ambient + 3 * i, sizeof light->ambient);
    memcpy(light->diffuse, model->light_diffuse + 3 * i, sizeof light->diffuse);
    memcpy(light->specular, model->light_specular + 3 * i, sizeof light->specular);
    if (light->directional) return;
    memcpy(light->attenuation, model->light_attenuation + 3 * i, sizeof light->attenuation);
    light->fades =
        light->attenuation[0] != 1 || light->attenuation[1] != 0 || light->attenuation[2] != 0;
    float cutoff = model->light_cutoff[i];
    if (cutoff <= 90) light->cutoff_cosine = degrees_cosine(cutoff);
    light->exponent = model->light_exponent[i];
    light->shadow_slope = shadow_slope(model, cutoff);
    // The shadow map is square, with sides along x and y for a light that points down.
    wk_view_turn(view, (mjtNum[3]){1, 0, 0}, light->side[0]);
    wk_view_turn(view, (mjtNum[3]){0, 1, 0}, light->side[1]);
}

void wk_lights_make(const wk_view *view, const mjModel *model, const mjData *data, bool shadows,
                    wk_lights *out)
{
    out->count = 0;
    if (model->vis.headlight.active) add_headlight(model, out);
    for (int i = 0; i < (int)model->nlight && out->count < WK_LIGHTS_MAX; i++)
        if (model->light_active[i]) add_light(view, model, data, i, shadows, out);
}

wk_material wk_material_make(const mjModel *model, int geom)
{
    static const float plain[4] = {.5f, .5f, .5f, 1};
    wk_material material = {.specular = .5f, .shininess = 64};
    const float *rgba = model->geom_rgba + 4 * geom;
    int m = model->geom_matid[geom];
    if (m >= 0) {
        material.emission = model->mat_emission[m];
        material.specular = model->mat_specular[m];
        material.shininess = 128 * model->mat_shininess[m];
        material.reflectance = model->mat_reflectance[m];
        if (memcmp(rgba, plain, sizeof plain) == 0) rgba = model->mat_rgba + 4 * m;
    }
    memcpy(material.rgba, rgba, sizeof material.rgba);
    return material;
}

int wk_material_texture(const mjModel *model, int geom)
{
    int material = model->geom_matid[geom];
    if (material < 0) return -1;
#if mjVERSION_HEADER >= 320
    int texture = model->mat_texid[mjNTEXROLE * material + mjTEXROLE_RGB];
#else
    int texture = model->mat_texid[material];
#endif
    return texture >= 0 && model->tex_type[texture] == mjTEXTURE_2D ? texture : -1;
}

const mjtByte *wk_texture_bytes(const mjModel *model, int texture, int *channels)
{
#if mjVERSION_HEADER >= 320
    *channels = model->tex_nchannel[texture];
    return model->tex_data + model->tex_adr[texture];
#else
    *channels = 3;
    return model->tex_rgb + model->tex_adr[texture];
#endif
}
