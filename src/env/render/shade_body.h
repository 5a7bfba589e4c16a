// Kernels: the colour of what is seen.
//
// How bright a point is follows OpenGL's fixed-function rules. Lights without shadows are summed
// and limited to 1 first; the light with shadows is added on top, as in MuJoCo's second pass.
//
// A surface is shaded once per pixel, at the pixel's middle, and counts by the share of the pixel's
// samples it covers; where the middle misses the surface, the nearest point of it (or of its plane)
// stands in.
#ifndef WK_ENV_RENDER_SHADE_BODY_H
#define WK_ENV_RENDER_SHADE_BODY_H

#include "env/render/cast_body.h"

/// Eight points of one surface, in the camera's frame.
typedef struct points {
    wk_v8 position, normal;
    wk_v8 eye;       // unit, to the camera
    int solid;       // index of the solid they lie on, which does not shade itself; -1: none
    wk_i8 in_shadow; // already known not to see the light that casts shadows
    bool unshadowed; // nothing stands in that light
} points;

/// Colour per lane.
typedef struct colours {
    wk_f8 rgb[3];
} colours;

// Whether a capsule stands between light and point: the distance of ray and axis segment against
// the radius, on this side of the point.
WK_LANES_INLINE wk_i8 is_hidden_by(const wk_occluder *o, wk_v8 ray, wk_f8 square)
{
    wk_f8 along = v8_dot(ray, v8_all(o->axis)), towards = v8_dot(ray, v8_all(o->centre));
    wk_f8 a = f8_max(square - along * along, f8_all(1e-9f)), b = towards - along * o->along;
    wk_i8 hidden = (b * b >= a * o->around) & (b < a);
    if (!i8_bits(hidden)) return hidden;
    wk_f8 height = b / a * along - o->along;
    wk_f8 half = f8_all(o->half_length);
    wk_f8 side = f8_select(height > 0, half, -half);
    wk_f8 to_end = towards + side * along;
    wk_f8 end = o->end + f8_select(height > 0, f8_all(o->slope), f8_all(-o->slope));
    wk_i8 beside = (height > half) | (height < -half);
    return hidden & (~beside | ((to_end * to_end >= square * end) & (to_end < square)));
}

WK_LANES_INLINE wk_i8 find_shadow(const wk_lit_scene *scene, const wk_light *light, const points *p)
{
    wk_v8 ray = v8_sub(p->position, v8_all(light->position));
    wk_f8 square = v8_dot(ray, ray);
    wk_f8 forward = v8_dot(ray, v8_all(light->direction)) * light->shadow_slope;
    wk_f8 x = v8_dot(ray, v8_all(light->side[0])), y = v8_dot(ray, v8_all(light->side[1]));
    wk_i8 mapped = (x < forward) & (-x < forward) & (y < forward) & (-y < forward);
    wk_i8 hidden = i8_all(0);
    for (int i = 0; i < scene->shadows.count; i++) {
        const wk_occluder *o = &scene->shadows.occluders[i];
        if (o->index != p->solid) hidden |= is_hidden_by(o, ray, square);
    }
    return (hidden | p->in_shadow) & mapped;
}

// Brightness of a light at the points, and the direction towards it.
WK_LANES_INLINE wk_f8 reach(const wk_light *light, const points *p, wk_v8 *towards)
{
    if (light->directional) {
        *towards = v8_scale(v8_all(light->direction), f8_all(-1));
        return f8_all(1);
    }
    wk_v8 way = v8_sub(v8_all(light->position), p->position);
    wk_f8 distance = f8_sqrt(v8_dot(way, way)), strength = f8_all(1);
    *towards = v8_scale(way, 1 / distance);
    if (light->fades)
        strength /= light->attenuation[0] +
                    distance * (light->attenuation[1] + distance * light->attenuation[2]);
    if (light->cutoff_cosine <= -1) return strength;
    wk_f8 cosine = -v8_dot(*towards, v8_all(light->direction));
    strength *= f8_pow(f8_clamp(cosine, f8_all(0), f8_all(1)), light->exponent);
    return f8_select(cosine >= light->cutoff_cosine, strength, f8_all(0));
}

WK_LANES_INLINE bool is_dark(const float rgb[3])
{
    return rgb[0] == 0 && rgb[1] == 0 && rgb[2] == 0;
}

// Adds what one light contributes.
WK_LANES_INLINE void add_light_to(const wk_lit_scene *scene, int index, const wk_material *material,
                                  const points *p, colours *sum)
{
    const wk_light *light = &scene->lights.lights[index];
    wk_v8 towards;
    wk_f8 strength = reach(light, p, &towards);
    wk_f8 cosine = v8_dot(p->normal, towards), gloss = f8_all(0);
    wk_i8 lit = (cosine > 0) & (strength > 0);
    if (index == scene->shadows.light && !p->unshadowed && i8_bits(lit)) {
        wk_i8 hidden = find_shadow(scene, light, p);
        strength = f8_select(hidden, f8_all(0), strength);
    }
    if (material->specular > 0 && !is_dark(light->specular) && i8_bits(lit)) {
        // Of the half vector h = (towards + eye) / |towards + eye| only (normal·h)² is needed.
        wk_f8 sum_dot = cosine + v8_dot(p->normal, p->eye);
        wk_f8 square = sum_dot * sum_dot / (2.0f + 2.0f * v8_dot(towards, p->eye));
        gloss = f8_pow(f8_min(square, f8_all(1)), 0.5f * material->shininess);
        gloss = f8_select(lit & (sum_dot > 0), gloss * material->specular, f8_all(0));
    }
    wk_f8 diffuse = f8_max(cosine, f8_all(0));
    for (int i = 0; i < 3; i++)
        sum->rgb[i] +=
            strength * ((light->ambient[i] + diffuse * light->diffuse[i]) * material->rgba[i] +
                        gloss * light->specular[i]);
}

// The light that casts shadows apart from the sum of the others.
WK_LANES_INLINE void light_parts(const wk_lit_scene *scene, const wk_material *material,
                                 const points *p, colours *sum, colours *shadowed)
{
    for (int i = 0; i < 3; i++) {
        sum->rgb[i] = f8_all(material->emission * material->rgba[i]);
        shadowed->rgb[i] = f8_all(0);
    }
    for (int i = 0; i < scene->lights.count; i++)
        add_light_to(scene, i, material, p, i == scene->shadows.light ? shadowed : sum);
}

WK_LANES_INLINE colours light_points(const wk_lit_scene *scene, const wk_material *material,
                                     const points *p)
{
    colours sum, shadowed;
    light_parts(scene, material, p, &sum, &shadowed);
    for (int i = 0; i < 3; i++)
        sum.rgb[i] = f8_min(f8_min(sum.rgb[i], f8_all(1)) + shadowed.rgb[i], f8_all(1));
    return sum;
}

/// Share of the samples of eight pixels that carry an id.
WK_LANES_INLINE wk_f8 share_of(const wk_tile *tile, int y, int x, int id)
{
    wk_i8 count = i8_all(0);
    for (int s = 0; s < tile->samples; s++)
        count -= i8_load(&tile->id[s][y][x]) == id;
    return i8_to_f8(count) * (1.0f / (float)tile->samples);
}

enum { PIXELS_MAX = WK_TILE_WIDTH * WK_TILE_HEIGHT + 8 };

/// The pixels of a tile where one surface is seen, so that they can be shaded eight at a time
/// wherever they lie.
typedef struct pixels {
    int count;
    uint16_t place[PIXELS_MAX]; // in a plane of the tile
    float u[PIXELS_MAX], v[PIXELS_MAX], share[PIXELS_MAX];
} pixels;

WK_LANES_INLINE void collect_block(const wk_tile *tile, int y, int x, int id, pixels *out)
{
    float shares[8];
    wk_f8 share = share_of(tile, y, x, id);
    f8_store(shares, share);
    for (unsigned bits = i8_bits(share > 0); bits; bits &= bits - 1) {
        int k = __builtin_ctz(bits), n = out->count++;
        out->place[n] = (uint16_t)(y * WK_TILE_STRIDE + x + k);
        out->u[n] = tile->centre_u[x + k];
        out->v[n] = tile->centre_v[y];
        out->share[n] = shares[k];
    }
}

// Lanes beyond the last pixel get a harmless ray; they are never written back.
WK_LANES_INLINE void collect(const wk_tile *tile, uint64_t blocks, int id, pixels *out)
{
    out->count = 0;
    for (uint64_t left = blocks; left; left &= left - 1) {
        int bit = __builtin_ctzll(left);
        collect_block(tile, bit / 8, bit % 8 * 8, id, out);
    }
    for (int i = 0; i < 8; i++) {
        out->u[out->count + i] = 0;
        out->v[out->count + i] = 0;
    }
}

WK_LANES_INLINE rays pixels_rays(const pixels *list, int first)
{
    return (rays){f8_load(&list->u[first]), f8_load(&list->v[first])};
}

// Adds colours to pixels in proportion to their share; with `fade`, what was there goes by as much.
WK_LANES_INLINE void add_colours(wk_tile *tile, const pixels *list, int first, float weight,
                                 bool fade, const colours *colour)
{
    int count = list->count - first < 8 ? list->count - first : 8;
    for (int i = 0; i < 3; i++) {
        float *plane = &tile->rgb[i][0][0], lanes[8];
        f8_store(lanes, colour->rgb[i]);
        for (int k = 0; k < count; k++) {
            float *at = &plane[list->place[first + k]];
            *at += list->share[first + k] * weight * (fade ? lanes[k] - *at : lanes[k]);
        }
    }
}

// The direction back to the camera.
WK_LANES_INLINE wk_v8 rays_eye(const rays *r)
{
    return rays_at(r, -1 / f8_sqrt(rays_square(r)));
}

// Points of a flat part: its plane is met even where the part itself is not.
WK_LANES_INLINE void on_plane(const rays *r, const float normal[3], float offset, points *p)
{
    wk_f8 t = offset / f8_min(rays_dot(r, normal), f8_all(-1e-4f));
    p->position = rays_at(r, t);
    p->normal = v8_all(normal);
}

WK_LANES_INLINE void on_box(const rays *r, const wk_solid *solid, int face, points *p)
{
    // The side of the slab that faces the camera, with its outward normal.
    float middle = dot3(solid->centre, solid->axis[face]), sign = middle > 0 ? -1 : 1;
    float normal[3];
    for (int i = 0; i < 3; i++)
        normal[i] = sign * solid->axis[face][i];
    on_plane(r, normal, sign * middle + solid->half[face], p);
}

WK_LANES_INLINE void on_cylinder(const rays *r, const wk_solid *solid, int part, points *p)
{
    if (part) {
        float middle = dot3(solid->centre, solid->axis[2]), sign = middle > 0 ? -1 : 1;
        float normal[3];
        for (int i = 0; i < 3; i++)
            normal[i] = sign * solid->axis[2][i];
        on_plane(r, normal, sign * middle + solid->half_length, p);
        return;
    }
    tube k = cast_tube(r, solid);
    p->position = rays_at(r, k.t);
    wk_v8 foot = v8_add(v8_all(solid->centre), v8_scale(v8_all(solid->axis[2]), k.height));
    p->normal = v8_unit(v8_sub(p->position, foot));
}

WK_LANES_INLINE void on_capsule(const rays *r, const wk_solid *solid, points *p)
{
    hits h = solid->kind == WK_SOLID_SPHERE ? cast_sphere(r, solid) : cast_round(r, solid, true);
    p->position = rays_at(r, h.t);
    wk_v8 out = v8_sub(p->position, v8_all(solid->centre)), axis = v8_all(solid->axis[2]);
    wk_f8 half = f8_all(solid->half_length), height = f8_clamp(v8_dot(out, axis), -half, half);
    p->normal = v8_unit(v8_sub(out, v8_scale(axis, height)));
}

// A square wave of period 2 with edges softened over one pixel: the checker's two directions are
// such waves, and a check is dark where they agree.
WK_LANES_INLINE wk_f8 soft_wave(wk_f8 at, float pixel)
{
    wk_f8 half = at * 0.5f, whole = (half + 12582912.0f) - 12582912.0f;
    wk_f8 phase = (half - whole) * 2; // in [-1,1], edges at -1, 0 and 1
    wk_f8 distance = f8_min(f8_max(phase, -phase), 1 - f8_max(phase, -phase));
    wk_f8 value = f8_min(distance * (2 / pixel), f8_all(1));
    return f8_select(phase > 0, value, -value);
}

WK_LANES_INLINE colours checked(const wk_lit_scene *scene, const wk_solid *solid, const points *p)
{
    wk_v8 at = v8_sub(p->position, v8_all(solid->centre));
    float depth = -dot3(solid->centre, solid->axis[2]);
    float pixel = scene->view->step * depth / solid->check_size;
    wk_f8 x = v8_dot(at, v8_all(solid->axis[0])) / solid->check_size;
    wk_f8 y = v8_dot(at, v8_all(solid->axis[1])) / solid->check_size;
    wk_f8 agree = soft_wave(x, pixel) * soft_wave(y, pixel);
    float middle = 0.5f * (solid->check_even + solid->check_odd);
    float spread = 0.5f * (solid->check_even - solid->check_odd);
    wk_f8 grey = middle + spread * agree;
    colours c = light_points(scene, &solid->material, p);
    for (int i = 0; i < 3; i++)
        c.rgb[i] *= grey;
    return c;
}

WK_LANES_INLINE int part_count(const wk_solid *solid)
{
    return solid->kind == WK_SOLID_BOX ? 3 : solid->kind == WK_SOLID_CYLINDER ? 2 : 1;
}

WK_LANES_INLINE colours shade_part(const wk_lit_scene *scene, const wk_solid *solid, int index,
                                   int part, const rays *r)
{
    points p = {.solid = index, .in_shadow = i8_all(0)};
    p.eye = rays_eye(r);
    switch (solid->kind) {
    case WK_SOLID_BOX:
        on_box(r, solid, part, &p);
        break;
    case WK_SOLID_CYLINDER:
        on_cylinder(r, solid, part, &p);
        break;
    case WK_SOLID_PLANE:
        on_plane(r, solid->axis[2], dot3(solid->centre, solid->axis[2]), &p);
        if (solid->check_size > 0) return checked(scene, solid, &p);
        break;
    default:
        on_capsule(r, solid, &p);
    }
    return light_points(scene, &solid->material, &p);
}

WK_LANES_INLINE void shade_parts(wk_tile *tile, const wk_lit_scene *scene, int index, float weight,
                                 bool fade)
{
    const wk_solid *solid = &scene->solids[index];
    pixels list;
    for (int part = 0; part < part_count(solid); part++) {
        collect(tile, solid->blocks, wk_solid_id(index) + part, &list);
        for (int i = 0; i < list.count; i += 8) {
            rays r = pixels_rays(&list, i);
            colours colour = shade_part(scene, solid, index, part, &r);
            add_colours(tile, &list, i, weight, fade, &colour);
        }
    }
}

static void shade_shape(wk_tile *tile, const wk_lit_scene *scene, int index)
{
    shade_parts(tile, scene, index, 1, false);
}

static void blend_shape(wk_tile *tile, const wk_lit_scene *scene, int index)
{
    float clear = 1 - scene->solids[index].material.rgba[3];
    shade_parts(tile, scene, index, 1 - clear * clear, true);
}

#endif
