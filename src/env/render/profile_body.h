// Kernels: the terrain profile. Along x and z a ray is a straight line from the camera in the plane
// of the profile; the facet it meets is the one whose ends lie on either side of it, and the depth
// it meets it at says how far along y that is. Neighbouring facets share the test of their common
// end, so no sample falls between them.
#ifndef WK_ENV_RENDER_PROFILE_BODY_H
#define WK_ENV_RENDER_PROFILE_BODY_H

#include "env/render/shade_body.h"

// How far a ray goes along the world's y and z per unit of depth.
WK_LANES_INLINE float ray_y(const wk_profile *p, float v)
{
    return p->forward_y + v * p->up_y;
}

WK_LANES_INLINE float ray_z(const wk_profile *p, float v)
{
    return p->forward_z + v * p->up_z;
}

// Marks the front in one block of a row.
WK_LANES_INLINE void cast_front(wk_tile *tile, const wk_profile *profile, int y, int x)
{
    for (int s = 0; s < tile->samples; s++) {
        wk_i8 below = tile->v[s][y] < f8_load(&profile->edge[s][x]);
        wk_f8 depth = f8_all(profile->near_y / ray_y(profile, tile->v[s][y]));
        float *depths = &tile->depth[s][y][x];
        int32_t *ids = &tile->id[s][y][x];
        f8_store(depths, f8_select(below, depth, f8_load(depths)));
        i8_store(ids, i8_select(below, i8_all(WK_ID_FRONT), i8_load(ids)));
    }
}

// The whole front; returns the blocks that lie inside it.
WK_LANES_INLINE uint64_t cast_fronts(wk_tile *tile, const wk_profile *profile)
{
    uint64_t inside = 0;
    for (int y = 0; y < tile->height; y++) {
        float low = INFINITY, high = -INFINITY;
        for (int s = 0; s < tile->samples; s++) {
            low = tile->v[s][y] < low ? tile->v[s][y] : low;
            high = tile->v[s][y] > high ? tile->v[s][y] : high;
        }
        for (int b = 0; b < WK_TILE_BLOCKS; b++) {
            if (low >= profile->edge_high[b]) continue;
            cast_front(tile, profile, y, 8 * b);
            uint64_t bit = wk_tile_bits(y, 8 * b);
            if (high < profile->edge_low[b])
                inside |= bit;
            else
                tile->drawn |= bit;
        }
    }
    return inside;
}

WK_LANES_INLINE void cast_facet(wk_tile *tile, const wk_profile *profile, wk_facet *f, int id,
                                int y, int x)
{
    wk_i8 seen = i8_all(0);
    for (int s = 0; s < tile->samples; s++) {
        wk_f8 u = f8_load(&tile->u[s][x]);
        float dz = ray_z(profile, tile->v[s][y]), dy = ray_y(profile, tile->v[s][y]);
        wk_f8 t = f->facing / (u * f->rise - dz * f->run);
        float *depth = &tile->depth[s][y][x];
        int32_t *ids = &tile->id[s][y][x];
        wk_f8 before = f8_load(depth);
        wk_i8 marked = i8_load(ids);
        wk_i8 between = (u * f->z0 - dz * f->x0 <= 0) & (u * f->z1 - dz * f->x1 > 0);
        wk_i8 nearer =
            between & (t > 0) & (t * dy <= profile->far_y) & (t < before) & (marked != WK_ID_FRONT);
        f8_store(depth, f8_select(nearer, t, before));
        i8_store(ids, i8_select(nearer, i8_all(id), marked));
        seen |= nearer;
    }
    if (i8_bits(seen)) f->blocks |= wk_tile_bits(y, x);
}

// `low` also for what is not a number.
WK_LANES_INLINE int clamp_int(float value, int low, int high)
{
    return value > (float)low ? value < (float)high ? (int)value : high : low;
}

static uint64_t cast_profile(wk_tile *tile, wk_profile *profile)
{
    uint64_t inside = cast_fronts(tile, profile);
    for (int i = 0; i < profile->facet_count; i++) {
        wk_facet *f = &profile->facets[i];
        f->blocks = 0;
        if (!(f->facing > 0)) continue;
        int top = clamp_int(f->top - (float)tile->y - 0.1f, 0, tile->height);
        int bottom = clamp_int(f->bottom - (float)tile->y + 1.1f, 0, tile->height);
        int left = clamp_int(f->left - (float)tile->x - 0.1f, 0, tile->width);
        int right = clamp_int(f->right - (float)tile->x + 1.1f, 0, tile->width);
        for (int y = top; y < bottom; y++)
            for (int x = left; x < right; x += 8)
                cast_facet(tile, profile, f, WK_ID_FACET + i, y, x);
        tile->drawn |= f->blocks;
    }
    return inside;
}

// Points of a facet's plane, held between the front and the back of the terrain.
WK_LANES_INLINE points on_facet(const wk_profile *profile, const wk_facet *f, const rays *r)
{
    wk_f8 dy = profile->forward_y + r->v * profile->up_y;
    wk_f8 dz = profile->forward_z + r->v * profile->up_z;
    wk_f8 t = f->facing / f8_max(r->u * f->rise - dz * f->run, f8_all(1e-6f));
    t = f8_clamp(t * dy, f8_all(profile->near_y), f8_all(profile->far_y)) / dy;
    points p = {.solid = -1, .in_shadow = i8_all(0), .position = rays_at(r, t)};
    p.normal = v8_all(f->normal);
    p.eye = rays_eye(r);
    if (profile->has_horizon) {
        // Where the pixel's middle lies beyond the facet, its end stands for it.
        wk_f8 x = f8_clamp(p.position.x, f8_all(f->x0), f8_all(f->x1));
        wk_f8 down = profile->light_z - (f->z0 + (x - f->x0) * f->grade);
        wk_f8 aside = x - profile->light_x;
        p.in_shadow = f8_max(aside, -aside) < f->horizon * down - 1e-3f;
    }
    return p;
}

static void shade_profile(wk_tile *tile, const wk_lit_scene *scene, const wk_profile *profile)
{
    pixels list;
    for (int i = 0; i < profile->facet_count; i++) {
        const wk_facet *f = &profile->facets[i];
        if (!f->blocks) continue;
        collect(tile, f->blocks, WK_ID_FACET + i, &list);
        for (int k = 0; k < list.count; k += 8) {
            rays r = pixels_rays(&list, k);
            points p = on_facet(profile, f, &r);
            colours colour = light_points(scene, &profile->material, &p);
            add_colours(tile, &list, k, 1, false, &colour);
        }
    }
}

static void shade_front(const wk_tile *tile, const wk_lit_scene *scene, const wk_profile *profile,
                        wk_backdrop *out)
{
    const float normal[3] = {0, -profile->up_y, -profile->forward_y};
    for (int y = 0; y < WK_TILE_HEIGHT; y++)
        for (int x = 0; x < WK_TILE_WIDTH; x += 8) {
            points p = {.solid = -1, .in_shadow = i8_all(0)};
            rays r = {f8_load(&tile->centre_u[x]), f8_all(tile->centre_v[y])};
            on_plane(&r, normal, -profile->near_y, &p);
            p.eye = rays_eye(&r);
            colours colour = light_points(scene, &profile->material, &p);
            for (int i = 0; i < 3; i++)
                f8_store(&out->rgb[i][y][x], colour.rgb[i]);
        }
}

#endif
