#include "env/render/lit_scene.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static const float nearest = 0.01f; // points closer to the camera are not projected

static void add_headlight(const mjModel *model, wk_lights *out)
{
    wk_light *light = &out->lights[out->count++];
    *light = (wk_light){.directional = true, .cutoff_cosine = -1, .direction = {0, 0, 1}};
    memcpy(light->ambient, model->vis.headlight.ambient, sizeof light->ambient);
    memcpy(light->diffuse, model->vis.headlight.diffuse, sizeof light->diffuse);
    memcpy(light->specular, model->vis.headlight.specular, sizeof light->specular);
}

static void add_light(const wk_view *view, const mjModel *model, const mjData *data, int i,
                      bool shadows, wk_lights *out)
{
    const double pi = 3.14159265358979323846;
    wk_light *light = &out->lights[out->count++];
#if mjVERSION_HEADER >= 333
    bool directional = model->light_type[i] == mjLIGHT_DIRECTIONAL;
#else
    bool directional = model->light_directional[i];
#endif
    *light = (wk_light){.directional = directional,
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
    if (cutoff <= 90) light->cutoff_cosine = (float)cos(cutoff * (pi / 180));
    light->exponent = model->light_exponent[i];
    // MuJoCo's shadow map covers the spot's cone scaled by vis.map.shadowscale, at most 160
    // degrees.
    double angle = fmin(2.0 * cutoff * model->vis.map.shadowscale, 160);
    light->shadow_slope = (float)tan(angle * (pi / 360));
    // The shadow map is square, with sides along x and y for a light that points down.
    wk_view_turn(view, (mjtNum[3]){1, 0, 0}, light->side[0]);
    wk_view_turn(view, (mjtNum[3]){0, 1, 0}, light->side[1]);
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

// The wk_solid_kind of a type of geom; -1: it cannot be drawn.
static int kind_of(int geom_type)
{
    static const int types[] = {[WK_SOLID_PLANE] = mjGEOM_PLANE,
                                [WK_SOLID_SPHERE] = mjGEOM_SPHERE,
                                [WK_SOLID_CAPSULE] = mjGEOM_CAPSULE,
                                [WK_SOLID_CYLINDER] = mjGEOM_CYLINDER,
                                [WK_SOLID_BOX] = mjGEOM_BOX};
    int kind = (int)(sizeof types / sizeof *types) - 1;
    while (kind >= 0 && types[kind] != geom_type)
        kind--;
    return kind;
}

// MuJoCo's sizes: of a plane and a box the half sides, else the radius and half the length.
static void set_size(wk_solid *solid, const mjtNum *size)
{
    float a = (float)size[0], b = (float)size[1], c = (float)size[2];
    bool flat = solid->kind == WK_SOLID_PLANE, ball = solid->kind == WK_SOLID_SPHERE;
    bool capsule = solid->kind == WK_SOLID_CAPSULE, cylinder = solid->kind == WK_SOLID_CYLINDER;
    bool is_round = ball || capsule || cylinder;
    solid->radius = is_round ? a : 0;
    solid->half_length = capsule || cylinder ? b : 0;
    solid->half[0] = a;
    solid->half[1] = is_round ? a : b;
    solid->half[2] = flat ? 0 : ball ? a : capsule ? a + b : cylinder ? b : c;
}

// A 2-D texture on a plane is taken for a grey checker of two by two squares, which repeats
// texrepeat times over the plane with the texture's corner at half a period from the plane's
// middle.
static void set_checks(wk_solid *solid, const mjModel *model, int geom)
{
    int channels, texture = wk_material_texture(model, geom);
    if (texture < 0) return;
    const int middle = model->tex_width[texture] / 2;
    const mjtByte *texels = wk_texture_bytes(model, texture, &channels);
    solid->check_size = solid->half[0] / model->mat_texrepeat[2 * model->geom_matid[geom]];
    solid->check_odd = (float)texels[0] / 255;
    solid->check_even = (float)texels[middle * channels] / 255;
}

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Where the corners of the enclosing box are in the image, and the range they span.
static void set_bounds(const wk_view *view, wk_solid *solid)
{
    solid->left = solid->top = INFINITY;
    solid->right = solid->bottom = -INFINITY;
    for (int corner = 0; corner < 8; corner++) {
        float point[3];
        for (int i = 0; i < 3; i++) {
            point[i] = solid->centre[i];
            for (int k = 0; k < 3; k++)
                point[i] +=
                    (corner >> k & 1 ? solid->half[k] : -solid->half[k]) * solid->axis[k][i];
        }
        if (!(point[2] > nearest)) {
            solid->left = solid->top = -INFINITY;
            solid->right = solid->bottom = INFINITY;
            return;
        }
        float scale = 1 / (point[2] * view->step);
        float x = 0.5f * (float)view->width + point[0] * scale;
        float y = 0.5f * (float)view->height - point[1] * scale;
        solid->corner_x[corner] = x;
        solid->corner_y[corner] = y;
        solid->left = fminf(solid->left, x);
        solid->right = fmaxf(solid->right, x);
        solid->top = fminf(solid->top, y);
        solid->bottom = fmaxf(solid->bottom, y);
    }
}

static void add_occluder(const wk_light *light, const wk_solid *solid, int index, wk_shadows *out)
{
    wk_occluder *o = &out->occluders[out->count++];
    o->index = index;
    for (int i = 0; i < 3; i++)
        o->centre[i] = solid->centre[i] - light->position[i];
    memcpy(o->axis, solid->axis[2], sizeof o->axis);
    o->half_length = solid->half_length;
    o->along = dot(o->centre, o->axis);
    float square = dot(o->centre, o->centre) - solid->radius * solid->radius;
    o->around = square - o->along * o->along;
    o->end = square + solid->half_length * solid->half_length;
    o->slope = 2 * solid->half_length * o->along;
}

void wk_lit_scene_begin(wk_lit_scene *scene, const wk_view *view, const mjModel *model,
                        const mjData *data, bool shadows)
{
    wk_lights *lights = &scene->lights;
    lights->count = 0;
    if (model->vis.headlight.active) add_headlight(model, lights);
    for (int i = 0; i < (int)model->nlight && lights->count < WK_LIGHTS_MAX; i++)
        if (model->light_active[i]) add_light(view, model, data, i, shadows, lights);
    scene->shadows.light = -1;
    scene->shadows.count = 0;
    for (int i = 0; i < lights->count && scene->shadows.light < 0; i++)
        if (lights->lights[i].casts_shadow && !lights->lights[i].directional)
            scene->shadows.light = i;
    scene->view = view;
    scene->count = 0;
}

void wk_lit_scene_add(wk_lit_scene *scene, const mjModel *model, const mjData *data, int geom)
{
    const wk_view *view = scene->view;
    int kind = kind_of(model->geom_type[geom]);
    if (kind < 0) return;
    assert(scene->count < WK_SOLIDS_MAX);
    wk_solid *solid = &scene->solids[scene->count++];
    *solid = (wk_solid){.kind = (wk_solid_kind)kind, .material = wk_material_make(model, geom)};
    wk_view_point(view, data->geom_xpos + 3 * geom, solid->centre);
    const mjtNum *mat = data->geom_xmat + 9 * geom;
    for (int k = 0; k < 3; k++)
        wk_view_turn(view, (mjtNum[3]){mat[k], mat[3 + k], mat[6 + k]}, solid->axis[k]);
    set_size(solid, model->geom_size + 3 * geom);
    if (solid->kind == WK_SOLID_PLANE) set_checks(solid, model, geom);
    set_bounds(view, solid);
    bool hides = solid->kind == WK_SOLID_CAPSULE || solid->kind == WK_SOLID_SPHERE;
    if (hides && scene->shadows.light >= 0)
        add_occluder(&scene->lights.lights[scene->shadows.light], solid, scene->count - 1,
                     &scene->shadows);
}
