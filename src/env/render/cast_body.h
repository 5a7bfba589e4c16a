// Kernels: which solid is seen at each sample.
#ifndef WK_ENV_RENDER_CAST_BODY_H
#define WK_ENV_RENDER_CAST_BODY_H

#include "env/render/kernels.h"
#include "env/render/lanes.h"
#include <math.h>

WK_LANES_INLINE float dot3(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// Eight rays from the camera, with directions (u, v, 1).
typedef struct rays {
    wk_f8 u, v;
} rays;

WK_LANES_INLINE wk_f8 rays_dot(const rays *r, const float vector[3])
{
    return r->u * vector[0] + (r->v * vector[1] + vector[2]);
}

WK_LANES_INLINE wk_f8 rays_square(const rays *r)
{
    return r->u * r->u + (r->v * r->v + 1.0f);
}

WK_LANES_INLINE wk_v8 rays_at(const rays *r, wk_f8 t)
{
    return (wk_v8){r->u * t, r->v * t, t};
}

/// Where rays meet a solid: depth, part, and whether they do.
typedef struct hits {
    wk_i8 mask;
    wk_f8 t;
    wk_i8 part;
} hits;

// a t² - 2 b t + c = 0: the smaller root, and whether there is one. Without one, the point of
// closest approach.
WK_LANES_INLINE wk_f8 near_root(wk_f8 a, wk_f8 b, wk_f8 c, wk_i8 *real)
{
    wk_f8 discriminant = b * b - a * c;
    *real = discriminant >= 0;
    return (b - f8_sqrt(f8_max(discriminant, f8_all(0)))) / a;
}

WK_LANES_INLINE hits cast_sphere(const rays *r, const wk_solid *solid)
{
    hits h = {.part = i8_all(0)};
    float c = dot3(solid->centre, solid->centre) - solid->radius * solid->radius;
    h.t = near_root(rays_square(r), rays_dot(r, solid->centre), f8_all(c), &h.mask);
    return h;
}

// The rays' products with an axis through `centre`, and where they enter the endless tube around
// it.
typedef struct tube {
    wk_f8 square, along, towards; // d·d, d·axis, d·centre
    float centre_along;           // centre·axis
    wk_f8 t, height;              // entry, and where it lies on the axis
    wk_i8 mask;
} tube;

WK_LANES_INLINE tube cast_tube(const rays *r, const wk_solid *solid)
{
    const float *axis = solid->axis[2];
    tube k = {.square = rays_square(r),
              .along = rays_dot(r, axis),
              .towards = rays_dot(r, solid->centre),
              .centre_along = dot3(solid->centre, axis)};
    float c = dot3(solid->centre, solid->centre) - k.centre_along * k.centre_along -
              solid->radius * solid->radius;
    wk_f8 a = f8_max(k.square - k.along * k.along, f8_all(1e-9f));
    k.t = near_root(a, k.towards - k.along * k.centre_along, f8_all(c), &k.mask);
    k.height = k.t * k.along - k.centre_along;
    return k;
}

// With `complete`, rays that miss get their point of closest approach, too.
WK_LANES_INLINE hits cast_round(const rays *r, const wk_solid *solid, bool complete)
{
    tube k = cast_tube(r, solid);
    float l = solid->half_length;
    wk_i8 above = k.height > l, below = k.height < -l, capped = above | below, round;
    hits h = {.mask = k.mask, .t = k.t, .part = i8_all(0)};
    if (!complete && !i8_bits(capped & k.mask)) return h;
    // The tube is entered beyond an end: only the ball there can be seen.
    float square = dot3(solid->centre, solid->centre) + l * l - solid->radius * solid->radius;
    wk_f8 side = f8_select(above, f8_all(l), f8_all(-l));
    wk_f8 t = near_root(k.square, k.towards + side * k.along, square + side * (2 * k.centre_along),
                        &round);
    h.t = f8_select(capped, t, h.t);
    h.mask &= ~capped | round;
    return h;
}

WK_LANES_INLINE hits cast_capsule(const rays *r, const wk_solid *solid)
{
    return cast_round(r, solid, false);
}

WK_LANES_INLINE hits cast_cylinder(const rays *r, const wk_solid *solid)
{
    tube k = cast_tube(r, solid);
    float l = solid->half_length;
    wk_i8 above = k.height > l, capped = above | (k.height < -l);
    hits h = {.mask = k.mask, .t = k.t, .part = i8_all(0)};
    // The flat end: seen where its plane is met inside the tube.
    wk_f8 t = (k.centre_along + f8_select(above, f8_all(l), f8_all(-l))) / k.along;
    wk_f8 across = k.square - k.along * k.along;
    float c = dot3(solid->centre, solid->centre) - k.centre_along * k.centre_along -
              solid->radius * solid->radius;
    wk_f8 outside = (across * t - 2 * (k.towards - k.along * k.centre_along)) * t + c;
    h.t = f8_select(capped, t, h.t);
    h.part = i8_select(capped, i8_all(1), i8_all(0));
    h.mask &= ~capped | (outside <= 0);
    return h;
}

WK_LANES_INLINE hits cast_box(const rays *r, const wk_solid *solid)
{
    hits h = {.t = f8_all(-INFINITY), .part = i8_all(0)};
    wk_f8 leave = f8_all(INFINITY);
    for (int k = 0; k < 3; k++) {
        wk_f8 d = rays_dot(r, solid->axis[k]);
        wk_f8 inverse = 1 / f8_select(d * d < 1e-20f, f8_all(1e-10f), d);
        float middle = dot3(solid->centre, solid->axis[k]);
        wk_f8 one = (middle - solid->half[k]) * inverse, two = (middle + solid->half[k]) * inverse;
        wk_f8 enter = f8_min(one, two);
        h.part = i8_select(enter > h.t, i8_all(k), h.part);
        h.t = f8_max(enter, h.t);
        leave = f8_min(f8_max(one, two), leave);
    }
    h.mask = h.t <= leave;
    return h;
}

WK_LANES_INLINE hits cast_plane(const rays *r, const wk_solid *solid)
{
    hits h = {.part = i8_all(0)};
    wk_f8 down = rays_dot(r, solid->axis[2]);
    h.t = dot3(solid->centre, solid->axis[2]) / down;
    wk_f8 x = h.t * rays_dot(r, solid->axis[0]) - dot3(solid->centre, solid->axis[0]);
    wk_f8 y = h.t * rays_dot(r, solid->axis[1]) - dot3(solid->centre, solid->axis[1]);
    h.mask = (down < 0) & (x <= solid->half[0]) & (x >= -solid->half[0]) & (y <= solid->half[1]) &
             (y >= -solid->half[1]);
    return h;
}

typedef hits cast_fn(const rays *r, const wk_solid *solid);

/// The pixels [low, high) of each row of a tile that a solid may touch.
typedef struct spans {
    int32_t low[WK_TILE_HEIGHT], high[WK_TILE_HEIGHT];
} spans;

// The part of an edge of the enclosing box that lies in each row (one row per lane) widens its
// range.
WK_LANES_INLINE void widen(const wk_solid *solid, int a, int b, wk_f8 row, wk_f8 *low, wk_f8 *high)
{
    float x = solid->corner_x[a], y = solid->corner_y[a];
    float dx = solid->corner_x[b] - x, dy = solid->corner_y[b] - y;
    float inverse = dy == 0 ? 0 : 1 / dy;
    wk_f8 zero = f8_all(0), one = f8_all(1);
    wk_f8 at = x + dx * f8_clamp((row - y) * inverse, zero, one);
    wk_f8 to = x + dx * f8_clamp((row + 1.0f - y) * inverse, zero, one);
    float top = dy < 0 ? y + dy : y, bottom = dy < 0 ? y : y + dy;
    wk_i8 inside = (row <= bottom) & (row + 1.0f >= top);
    *low = f8_select(inside, f8_min(f8_min(at, to), *low), *low);
    *high = f8_select(inside, f8_max(f8_max(at, to), *high), *high);
}

WK_LANES_INLINE void find_spans(const wk_tile *tile, const wk_solid *solid, spans *out)
{
    wk_f8 low = f8_all(1e6f), high = f8_all(-1e6f);
    if (solid->left == -INFINITY) {
        low = f8_all(0);
        high = f8_all(1e6f);
    } else {
        wk_f8 row = (wk_f8){0, 1, 2, 3, 4, 5, 6, 7} + (float)tile->y;
        for (int corner = 0; corner < 8; corner++)
            for (int k = 1; k < 8; k <<= 1)
                if (!(corner & k)) widen(solid, corner, corner | k, row, &low, &high);
    }
    // A tenth of a pixel on either side absorbs the rounding of the projection.
    wk_f8 x = f8_all((float)tile->x), end = f8_all((float)tile->width);
    i8_store(out->low, f8_to_i8(f8_clamp(low - x - 0.1f, f8_all(0), f8_all(1e6f))));
    i8_store(out->high, f8_to_i8(f8_clamp(high - x + 1.1f, f8_all(0), end)));
}

// Inlined once per kind of solid, with `cast` known.
WK_LANES_INLINE void cast_kind(wk_tile *tile, wk_solid *solid, int id, cast_fn *cast)
{
    spans range;
    find_spans(tile, solid, &range);
    for (int y = 0; y < tile->height; y++) {
        for (int x = range.low[y]; x < range.high[y]; x += 8) {
            wk_i8 seen = i8_all(0);
            for (int s = 0; s < tile->samples; s++) {
                rays r = {f8_load(&tile->u[s][x]), f8_all(tile->v[s][y])};
                hits h = cast(&r, solid);
                float *depth = &tile->depth[s][y][x];
                int32_t *ids = &tile->id[s][y][x];
                wk_f8 before = f8_load(depth);
                wk_i8 nearer = h.mask & (h.t > 0) & (h.t < before);
                f8_store(depth, f8_select(nearer, h.t, before));
                i8_store(ids, i8_select(nearer, id + h.part, i8_load(ids)));
                seen |= nearer;
            }
            if (i8_bits(seen)) solid->blocks |= wk_tile_bits(y, x);
        }
    }
    tile->drawn |= solid->blocks;
}

static void cast_shape(wk_tile *tile, wk_lit_scene *scene, int index)
{
    wk_solid *solid = &scene->solids[index];
    int id = wk_solid_id(index);
    solid->blocks = 0;
    if (solid->top > (float)(tile->y + tile->height) || solid->bottom < (float)tile->y ||
        solid->left > (float)(tile->x + tile->width) || solid->right < (float)tile->x)
        return;
    switch (solid->kind) {
    case WK_SOLID_PLANE:
        cast_kind(tile, solid, id, cast_plane);
        break;
    case WK_SOLID_SPHERE:
        cast_kind(tile, solid, id, cast_sphere);
        break;
    case WK_SOLID_CAPSULE:
        cast_kind(tile, solid, id, cast_capsule);
        break;
    case WK_SOLID_CYLINDER:
        cast_kind(tile, solid, id, cast_cylinder);
        break;
    case WK_SOLID_BOX:
        cast_kind(tile, solid, id, cast_box);
        break;
    }
}

#endif
