// Kernels: how bright a point is, by OpenGL's fixed-function rules. Lights without shadows are
// summed and limited to 1 first; the light with shadows is added on top, as in MuJoCo's second
// pass.
#ifndef WK_ENV_RENDER_LIGHT_BODY_H
#define WK_ENV_RENDER_LIGHT_BODY_H

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

#endif
