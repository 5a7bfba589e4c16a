// Kernels: the ground.
#ifndef WK_ENV_RENDER_GROUND_BODY_H
#define WK_ENV_RENDER_GROUND_BODY_H

#include "env/render/shade_body.h"

// The terrain profile. Along x and z a ray is a straight line from the camera in the plane
// of the profile; the facet it meets is the one whose ends lie on either side of it, and the depth
// it meets it at says how far along y that is. Neighbouring facets share the test of their common
// end, so no sample falls between them.

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

// The floor. Corners of its mesh are lit once for an image; a pixel takes their light,
// interpolated over the triangle it lies in, times its texture.

static void light_floor(const wk_lit_scene *scene, int index, wk_floor *floor)
{
    const wk_solid *solid = &scene->solids[index];
    int columns = floor->lit_cells[0] + 1, rows = floor->lit_cells[1] + 1;
    float height = -dot3(solid->centre, solid->axis[2]); // of the camera above the floor
    for (int first = 0; first < columns * rows; first += 8) {
        points p = {.solid = index, .in_shadow = i8_all(0), .unshadowed = true};
        wk_f8 x = f8_all(0), y = f8_all(0);
        for (int k = 0; k < 8; k++) {
            int i = first + k < columns * rows ? first + k : 0;
            x[k] = floor->corner[0][i / rows];
            y[k] = floor->corner[1][i % rows];
        }
        wk_v8 along =
            v8_add(v8_scale(v8_all(solid->axis[0]), x), v8_scale(v8_all(solid->axis[1]), y));
        p.position = v8_sub(along, v8_scale(v8_all(solid->axis[2]), f8_all(height)));
        p.normal = v8_all(solid->axis[2]);
        p.eye = v8_scale(v8_unit(p.position), f8_all(-1));
        colours base, shaded;
        light_parts(scene, &solid->material, &p, &base, &shaded);
        f8_store(&floor->base[first], f8_min(base.rgb[0], f8_all(1)));
        f8_store(&floor->shaded[first], f8_min(shaded.rgb[0], f8_all(1)));
    }
}

// The lit cell that holds each coordinate, and how far into it that lies.
WK_LANES_INLINE wk_i8 find_cells(const wk_floor *floor, int k, wk_f8 at, wk_f8 *share)
{
    const float *corner = floor->corner[k];
    wk_i8 cell = i8_all(0);
    for (int i = 1; i < floor->lit_cells[k]; i++)
        cell -= at >= corner[i];
    wk_f8 low = f8_gather(corner, cell), high = f8_gather(corner, cell + 1);
    *share = (at - low) / f8_max(high - low, f8_all(1e-6f));
    return cell;
}

// Where points lie in the mesh. OpenGL splits a cell from its second to its fourth corner, and
// light is linear on either half: that with the first corner, or that with the third.
typedef struct mesh_places {
    wk_i8 origin, second, fourth; // corners
    wk_f8 x, y;                   // from the origin towards the second and the fourth
} mesh_places;

WK_LANES_INLINE mesh_places find_places(const wk_floor *floor, wk_f8 x, wk_f8 y)
{
    int rows = floor->lit_cells[1] + 1;
    wk_f8 u, v;
    wk_i8 first = find_cells(floor, 0, x, &u) * rows;
    first += find_cells(floor, 1, y, &v);
    wk_i8 beyond = u + v > 1;
    return (mesh_places){.origin = first + (beyond & (rows + 1)),
                         .second = first + rows,
                         .fourth = first + 1,
                         .x = f8_select(beyond, 1 - v, u),
                         .y = f8_select(beyond, 1 - u, v)};
}

WK_LANES_INLINE wk_f8 interpolate(const float *light, const mesh_places *at)
{
    wk_f8 origin = f8_gather(light, at->origin);
    return origin + at->x * (f8_gather(light, at->second) - origin) +
           at->y * (f8_gather(light, at->fourth) - origin);
}

// Two neighbouring texels of a repeating texture and the weight of the second; `at` in [0,1).
WK_LANES_INLINE wk_f8 find_texels(wk_f8 at, wk_i8 count, wk_i8 pair[2])
{
    wk_f8 place = at * i8_to_f8(count) + 0.5f; // one too large, so that it is not negative
    wk_i8 low = f8_to_i8(place);
    pair[0] = i8_select(low > 0, low, count) - 1;
    pair[1] = low & (low < count);
    return place - i8_to_f8(low);
}

WK_LANES_INLINE colours sample_level(const wk_texture *texture, wk_i8 level, wk_f8 s, wk_f8 t)
{
    wk_i8 width = i8_gather(texture->width, level), column[2], row[2], texels[2][2];
    wk_f8 x = find_texels(s, width, column);
    wk_f8 y = find_texels(t, i8_gather(texture->height, level), row);
    wk_i8 first = i8_gather(texture->first, level);
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++)
            texels[j][i] = i8_gather(texture->texels, first + row[j] * width + column[i]);
    colours c;
    for (int k = 0; k < 3; k++) {
        wk_f8 side[2];
        for (int j = 0; j < 2; j++) {
            wk_f8 left = i8_to_f8(texels[j][0] >> 8 * k & 255);
            side[j] = left + x * (i8_to_f8(texels[j][1] >> 8 * k & 255) - left);
        }
        c.rgb[k] = side[0] + y * (side[1] - side[0]);
    }
    return c;
}

// The texture's bytes at (s, t) in [0,1). `level` counts halvings of the texture; between two whole
// ones both are mixed.
WK_LANES_INLINE colours sample_texture(const wk_texture *texture, wk_f8 s, wk_f8 t, wk_f8 level)
{
    wk_i8 low = f8_to_i8(level);
    wk_i8 high = low - (low + 1 < texture->levels);
    colours sharp = sample_level(texture, low, s, t), blurred = sample_level(texture, high, s, t);
    for (int k = 0; k < 3; k++)
        sharp.rgb[k] += (level - i8_to_f8(low)) * (blurred.rgb[k] - sharp.rgb[k]);
    return sharp;
}

// Base-2 logarithm of the texels that a pixel spans, in the direction where these are more.
WK_LANES_INLINE wk_f8 texture_level(const wk_lit_scene *scene, const wk_solid *solid,
                                    const wk_floor *floor, const rays *r, wk_f8 depth)
{
    const float *normal = solid->axis[2];
    wk_f8 inverse = 1 / f8_min(rays_dot(r, normal), f8_all(-1e-4f));
    wk_f8 sum[2] = {f8_all(0), f8_all(0)};
    for (int k = 0; k < 2; k++) {
        const float *axis = solid->axis[k];
        int texels = k ? floor->texture.height[0] : floor->texture.width[0];
        wk_f8 scale = depth * (scene->view->step * floor->repeat[k] * (float)texels);
        wk_f8 lean = rays_dot(r, axis) * inverse;
        for (int d = 0; d < 2; d++) {
            wk_f8 change = (axis[d] - lean * normal[d]) * scale;
            sum[d] += change * change;
        }
    }
    wk_f8 square = f8_clamp(f8_max(sum[0], sum[1]), f8_all(1), f8_all(1e30f));
    return f8_min(0.5f * f8_log2(square), f8_all((float)(floor->texture.levels - 1)));
}

// The fractional part, also of negative numbers.
WK_LANES_INLINE wk_f8 fraction(wk_f8 value)
{
    wk_f8 rest = value - i8_to_f8(f8_to_i8(value));
    rest = f8_select(rest < 0, rest + 1, rest);
    return f8_min(rest, f8_all(0.99999994f));
}

WK_LANES_INLINE colours shade_ground(const wk_lit_scene *scene, int index, const wk_floor *floor,
                                     const rays *r)
{
    const wk_solid *solid = &scene->solids[index];
    points p = {.solid = index, .in_shadow = i8_all(0)};
    on_plane(r, solid->axis[2], dot3(solid->centre, solid->axis[2]), &p);
    wk_f8 x = v8_dot(p.position, v8_all(solid->axis[0]));
    wk_f8 y = v8_dot(p.position, v8_all(solid->axis[1]));
    mesh_places at = find_places(floor, x, y);
    wk_f8 light = interpolate(floor->base, &at);
    if (scene->shadows.light >= 0) {
        wk_i8 hidden = find_shadow(scene, &scene->lights.lights[scene->shadows.light], &p);
        light += f8_select(hidden, f8_all(0), interpolate(floor->shaded, &at));
    }
    wk_f8 s = fraction(x * floor->repeat[0] + floor->phase[0]);
    wk_f8 t = fraction(y * floor->repeat[1] + floor->phase[1]);
    wk_f8 level = texture_level(scene, solid, floor, r, p.position.z);
    colours c = sample_texture(&floor->texture, s, t, level);
    for (int k = 0; k < 3; k++)
        c.rgb[k] *= light * (1.0f / 255);
    return c;
}

static void shade_floor(wk_tile *tile, const wk_lit_scene *scene, int index, const wk_floor *floor)
{
    const wk_solid *solid = &scene->solids[index];
    if (!solid->blocks) return;
    pixels list;
    collect(tile, solid->blocks, wk_solid_id(index), &list);
    for (int i = 0; i < list.count; i += 8) {
        rays r = pixels_rays(&list, i);
        colours colour = shade_ground(scene, index, floor, &r);
        add_colours(tile, &list, i, 1, false, &colour);
    }
}

// Leaves only the samples that show `id` open to what is cast next.
static void open_samples(wk_tile *tile, int id)
{
    for (int s = 0; s < tile->samples; s++)
        for (int y = 0; y < WK_TILE_HEIGHT; y++)
            for (int x = 0; x < WK_TILE_STRIDE; x += 8) {
                int32_t *ids = &tile->id[s][y][x];
                wk_i8 open = i8_load(ids) == id;
                f8_store(&tile->depth[s][y][x], f8_select(open, f8_all(INFINITY), f8_all(0)));
                i8_store(ids, i8_all(0));
            }
}

// Forgets what lies before the plane `index` in the blocks where that was seen.
static void keep_behind(wk_tile *tile, const wk_lit_scene *scene, int index)
{
    const wk_solid *solid = &scene->solids[index];
    float offset = dot3(solid->centre, solid->axis[2]);
    for (uint64_t left = solid->blocks; left; left &= left - 1) {
        int bit = __builtin_ctzll(left), y = bit / 8, x = bit % 8 * 8;
        for (int s = 0; s < tile->samples; s++) {
            rays r = {f8_load(&tile->u[s][x]), f8_all(tile->v[s][y])};
            wk_i8 before = f8_load(&tile->depth[s][y][x]) * rays_dot(&r, solid->axis[2]) > offset;
            int32_t *ids = &tile->id[s][y][x];
            i8_store(ids, i8_load(ids) & ~before);
        }
    }
}

#endif
