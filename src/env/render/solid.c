#include "env/render/solid.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static const float nearest = 0.01f; // points closer to the camera are not projected

static int kind_of(int geom_type)
{
    switch (geom_type) {
    case mjGEOM_PLANE:
        return WK_SOLID_PLANE;
    case mjGEOM_SPHERE:
        return WK_SOLID_SPHERE;
    case mjGEOM_CAPSULE:
        return WK_SOLID_CAPSULE;
    case mjGEOM_CYLINDER:
        return WK_SOLID_CYLINDER;
    case mjGEOM_BOX:
        return WK_SOLID_BOX;
    default:
        return -1;
    }
}

bool wk_solid_drawable(const mjModel *model, int geom)
{
    return kind_of(model->geom_type[geom]) >= 0;
}

static void set_size(wk_solid *solid, const mjtNum *size)
{
    float a = (float)size[0], b = (float)size[1], c = (float)size[2];
    switch (solid->kind) {
    case WK_SOLID_PLANE:
        memcpy(solid->half, (float[3]){a, b, 0}, sizeof solid->half);
        break;
    case WK_SOLID_SPHERE:
        solid->radius = a;
        memcpy(solid->half, (float[3]){a, a, a}, sizeof solid->half);
        break;
    case WK_SOLID_CAPSULE:
        solid->radius = a;
        solid->half_length = b;
        memcpy(solid->half, (float[3]){a, a, a + b}, sizeof solid->half);
        break;
    case WK_SOLID_CYLINDER:
        solid->radius = a;
        solid->half_length = b;
        memcpy(solid->half, (float[3]){a, a, b}, sizeof solid->half);
        break;
    case WK_SOLID_BOX:
        memcpy(solid->half, (float[3]){a, b, c}, sizeof solid->half);
        break;
    }
}

static float texel(const mjModel *model, int texture, int x, int y)
{
    int channels;
    const mjtByte *data = wk_texture_bytes(model, texture, &channels);
    return (float)data[(y * model->tex_width[texture] + x) * channels] / 255;
}

// A 2-D texture on a plane is taken for a grey checker of two by two squares, which repeats
// texrepeat times over the plane with the texture's corner at half a period from the plane's
// middle.
static void set_checks(wk_solid *solid, const mjModel *model, int geom)
{
    int texture = wk_material_texture(model, geom);
    if (texture < 0) return;
    solid->check_size = solid->half[0] / model->mat_texrepeat[2 * model->geom_matid[geom]];
    solid->check_odd = texel(model, texture, 0, 0);
    solid->check_even = texel(model, texture, model->tex_width[texture] / 2, 0);
}

static float dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static bool project_corner(const wk_view *view, wk_solid *solid, int corner)
{
    float point[3];
    for (int i = 0; i < 3; i++) {
        point[i] = solid->centre[i];
        for (int k = 0; k < 3; k++)
            point[i] += (corner >> k & 1 ? solid->half[k] : -solid->half[k]) * solid->axis[k][i];
    }
    if (!(point[2] > nearest)) return false;
    float scale = 1 / (point[2] * view->step);
    solid->corner_x[corner] = 0.5f * (float)view->width + point[0] * scale;
    solid->corner_y[corner] = 0.5f * (float)view->height - point[1] * scale;
    return true;
}

static void set_bounds(const wk_view *view, wk_solid *solid)
{
    solid->left = solid->top = INFINITY;
    solid->right = solid->bottom = -INFINITY;
    for (int i = 0; i < 8; i++) {
        if (!project_corner(view, solid, i)) {
            solid->left = solid->top = -INFINITY;
            solid->right = solid->bottom = INFINITY;
            return;
        }
        solid->left = fminf(solid->left, solid->corner_x[i]);
        solid->right = fmaxf(solid->right, solid->corner_x[i]);
        solid->top = fminf(solid->top, solid->corner_y[i]);
        solid->bottom = fmaxf(solid->bottom, solid->corner_y[i]);
    }
}

void wk_solid_make(const wk_view *view, const mjModel *model, const mjData *data, int geom,
                   wk_solid *out)
{
    assert(wk_solid_drawable(model, geom));
    *out = (wk_solid){.kind = (wk_solid_kind)kind_of(model->geom_type[geom]),
                      .material = wk_material_make(model, geom)};
    wk_view_point(view, data->geom_xpos + 3 * geom, out->centre);
    const mjtNum *mat = data->geom_xmat + 9 * geom;
    for (int k = 0; k < 3; k++)
        wk_view_turn(view, (mjtNum[3]){mat[k], mat[3 + k], mat[6 + k]}, out->axis[k]);
    set_size(out, model->geom_size + 3 * geom);
    if (out->kind == WK_SOLID_PLANE) set_checks(out, model, geom);
    set_bounds(view, out);
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

void wk_shadows_make(const wk_lights *lights, const wk_solid *solids, int count, wk_shadows *out)
{
    out->light = -1;
    out->count = 0;
    for (int i = 0; i < lights->count && out->light < 0; i++)
        if (lights->lights[i].casts_shadow && !lights->lights[i].directional) out->light = i;
    if (out->light < 0) return;
    for (int i = 0; i < count; i++)
        if (solids[i].kind == WK_SOLID_CAPSULE || solids[i].kind == WK_SOLID_SPHERE)
            add_occluder(&lights->lights[out->light], &solids[i], i, out);
}
