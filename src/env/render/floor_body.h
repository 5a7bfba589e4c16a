// Kernels: the floor. Corners of its mesh are lit once for a picture; a pixel takes their light,
// interpolated over the triangle it lies in, times its texture.
#ifndef WK_ENV_RENDER_FLOOR_BODY_H
#define WK_ENV_RENDER_FLOOR_BODY_H

#include "env/render/floor.h"
#include "env/render/shade_body.h"

typedef float f4 __attribute__((vector_size(16)));
typedef uint8_t u4 __attribute__((vector_size(4)));

/// A point of the floor: along its axes from the point below the camera.
typedef struct spots {
    wk_f8 x, y;
} spots;

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

// The lit cell that holds a coordinate, and how far into it that lies.
WK_LANES_INLINE int find_cell(const wk_floor *floor, int k, float at, float *share)
{
    const float *corner = floor->corner[k];
    int cell = 0;
    while (cell + 1 < floor->lit_cells[k] && at >= corner[cell + 1])
        cell++;
    float size = corner[cell + 1] - corner[cell];
    *share = size > 0 ? (at - corner[cell]) / size : 0;
    return cell;
}

// OpenGL splits a cell from its second to its fourth corner; light is linear on either half.
WK_LANES_INLINE float over_triangle(const float *light, int rows, float x, float y)
{
    float second = light[rows], fourth = light[1];
    if (x + y <= 1) return light[0] + x * (second - light[0]) + y * (fourth - light[0]);
    float third = light[rows + 1];
    return third + (1 - x) * (fourth - third) + (1 - y) * (second - third);
}

WK_LANES_INLINE void light_spot(const wk_floor *floor, float x, float y, bool hidden, float *out)
{
    int rows = floor->lit_cells[1] + 1;
    float u, v;
    int at = find_cell(floor, 0, x, &u) * rows;
    at += find_cell(floor, 1, y, &v);
    *out = over_triangle(floor->base + at, rows, u, v);
    if (!hidden) *out += over_triangle(floor->shaded + at, rows, u, v);
}

WK_LANES_INLINE f4 texel_at(const wk_texture *t, int level, int x, int y)
{
    u4 bytes;
    memcpy(&bytes, t->texels[level][y * t->width[level] + x], sizeof bytes);
    return __builtin_convertvector(bytes, f4);
}

// Two neighbouring texels of a repeating texture and the weight of the second; `at` in [0,1).
WK_LANES_INLINE float find_texels(float at, int count, int pair[2])
{
    float place = at * (float)count + 0.5f; // one too large, so that it is not negative
    int low = (int)place;
    pair[0] = low ? low - 1 : count - 1;
    pair[1] = low < count ? low : 0;
    return place - (float)low;
}

WK_LANES_INLINE f4 sample_level(const wk_texture *t, int level, float s, float r)
{
    int column[2], row[2];
    float x = find_texels(s, t->width[level], column), y = find_texels(r, t->height[level], row);
    f4 top = texel_at(t, level, column[0], row[0]), bottom = texel_at(t, level, column[0], row[1]);
    top += x * (texel_at(t, level, column[1], row[0]) - top);
    bottom += x * (texel_at(t, level, column[1], row[1]) - bottom);
    return top + y * (bottom - top);
}

// `level` counts halvings of the texture; between two whole ones both are mixed.
WK_LANES_INLINE f4 sample_texture(const wk_texture *t, float s, float r, float level)
{
    int low = (int)level;
    f4 sharp = sample_level(t, low, s, r);
    if (low + 1 >= t->levels) return sharp;
    return sharp + (level - (float)low) * (sample_level(t, low + 1, s, r) - sharp);
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

WK_LANES_INLINE colours shade_spots(const wk_lit_scene *scene, const wk_solid *solid, int index,
                                    const wk_floor *floor, const rays *r)
{
    points p = {.solid = index, .in_shadow = i8_all(0)};
    on_plane(r, solid->axis[2], dot3(solid->centre, solid->axis[2]), &p);
    unsigned hidden = 0;
    if (scene->shadows.light >= 0)
        hidden = i8_bits(find_shadow(scene, &scene->lights.lights[scene->shadows.light], &p));
    wk_f8 level = texture_level(scene, solid, floor, r, p.position.z);
    wk_f8 x = v8_dot(p.position, v8_all(solid->axis[0]));
    wk_f8 y = v8_dot(p.position, v8_all(solid->axis[1]));
    wk_f8 s = fraction(x * floor->repeat[0] + floor->phase[0]);
    wk_f8 t = fraction(y * floor->repeat[1] + floor->phase[1]);
    colours c;
    for (int k = 0; k < 8; k++) {
        float light;
        light_spot(floor, x[k], y[k], hidden >> k & 1, &light);
        f4 colour = sample_texture(&floor->texture, s[k], t[k], level[k]) * (light / 255);
        for (int i = 0; i < 3; i++)
            c.rgb[i][k] = colour[i];
    }
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
        colours colour = shade_spots(scene, solid, index, floor, &r);
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

#endif
