#include "env/render/ground.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Profile --------------------------------------------------------------------------------- */

wk_status wk_profile_init(wk_profile *profile, const mjModel *model, int geom, wk_error *err)
{
    int field = model->geom_dataid[geom];
    const mjtNum *size = model->hfield_size + 4 * field, *position = model->geom_pos + 3 * geom;
    *profile = (wk_profile){.material = wk_material_make(model, geom),
                            .columns = model->hfield_ncol[field],
                            .first_x = position[0] - size[0],
                            .spacing = 2 * size[0] / (model->hfield_ncol[field] - 1),
                            .front_y = position[1] - size[1],
                            .back_y = position[1] + size[1],
                            .base_z = position[2],
                            .scale_z = size[2]};
    profile->heights = calloc((size_t)profile->columns, sizeof *profile->heights);
    profile->facets = calloc((size_t)profile->columns, sizeof *profile->facets);
    if (!profile->heights || !profile->facets) {
        wk_profile_free(profile);
        return wk_fail(err, WK_E_MEMORY, "no memory for a terrain of %d columns",
                       model->hfield_ncol[field]);
    }
    wk_profile_read(profile, model, geom);
    return WK_OK;
}

void wk_profile_free(wk_profile *profile)
{
    free(profile->heights);
    free(profile->facets);
    profile->heights = NULL;
    profile->facets = NULL;
}

void wk_profile_read(wk_profile *profile, const mjModel *model, int geom)
{
    const float *data = model->hfield_data + model->hfield_adr[model->geom_dataid[geom]];
    for (int i = 0; i < profile->columns; i++)
        profile->heights[i] = (float)(profile->base_z + profile->scale_z * data[i]);
}

// Slopes of the point (x, y, z), which lies before the camera.
static void project(const wk_profile *p, float x, float y, float z, float *u, float *v)
{
    float depth = y * p->forward_y + z * p->forward_z;
    float inverse = 1 / fmaxf(depth, 1e-3f);
    *u = x * inverse;
    *v = (y * p->up_y + z * p->up_z) * inverse;
}

static void include(const wk_view *view, wk_facet *facet, float u, float v)
{
    float x = u / view->step + 0.5f * (float)view->width;
    float y = 0.5f * (float)view->height - v / view->step;
    facet->left = fminf(facet->left, x);
    facet->right = fmaxf(facet->right, x);
    facet->top = fminf(facet->top, y);
    facet->bottom = fmaxf(facet->bottom, y);
}

static void place_facet(const wk_profile *profile, const wk_view *view, wk_facet *f)
{
    float u, v, near_v1;
    f->run = f->x1 - f->x0;
    f->rise = f->z1 - f->z0;
    f->grade = f->rise / f->run;
    float length = sqrtf(f->run * f->run + f->rise * f->rise);
    f->facing = f->x0 * f->rise - f->z0 * f->run;
    f->normal[0] = -f->rise / length;
    f->normal[1] = f->run / length * profile->up_z;
    f->normal[2] = f->run / length * profile->forward_z;
    f->left = f->top = INFINITY;
    f->right = f->bottom = -INFINITY;
    project(profile, f->x0, profile->near_y, f->z0, &f->near_u0, &f->near_v0);
    include(view, f, f->near_u0, f->near_v0);
    project(profile, f->x1, profile->near_y, f->z1, &f->near_u1, &near_v1);
    include(view, f, f->near_u1, near_v1);
    f->near_slope = (near_v1 - f->near_v0) / fmaxf(f->near_u1 - f->near_u0, 1e-9f);
    project(profile, f->x0, profile->far_y, f->z0, &u, &v);
    include(view, f, u, v);
    project(profile, f->x1, profile->far_y, f->z1, &u, &v);
    include(view, f, u, v);
}

// The columns between which everything in view lies: at the far side, as wide as the image.
static void find_columns(const wk_profile *profile, const wk_view *view, int *first, int *last)
{
    float u = 0.5f * (float)view->width * view->step, v = 0.5f * (float)view->height * view->step;
    float forward = profile->forward_y - v * fabsf(profile->up_y);
    double reach = forward > 0.05f ? (double)profile->far_y * u / forward : 1e9;
    double low = (view->position[0] - reach - profile->first_x) / profile->spacing;
    double high = (view->position[0] + reach - profile->first_x) / profile->spacing;
    *first = (int)fmin(fmax(floor(low), 0), profile->columns - 1);
    *last = (int)fmin(fmax(ceil(high), 0), profile->columns - 1);
}

// Going away from the light, a facet is lit where the slope of the light's ray (sideways over down)
// exceeds that of every column passed before.
static void find_horizons(wk_profile *profile, const wk_light *light)
{
    profile->light_x = light->position[0];
    profile->light_z = light->position[1] * profile->up_z + light->position[2] * profile->forward_z;
    int n = profile->facet_count, middle = 0;
    wk_facet *f = profile->facets;
    while (middle < n && f[middle].x1 < profile->light_x)
        middle++;
    float steepest = -INFINITY;
    for (int i = middle; i < n; i++) {
        f[i].horizon = steepest;
        float down = profile->light_z - f[i].z1;
        steepest = fmaxf(steepest, (f[i].x1 - profile->light_x) / fmaxf(down, 1e-3f));
    }
    steepest = -INFINITY;
    for (int i = middle - 1; i >= 0; i--) {
        f[i].horizon = steepest;
        float down = profile->light_z - f[i].z0;
        steepest = fmaxf(steepest, (profile->light_x - f[i].x0) / fmaxf(down, 1e-3f));
    }
}

static void column(const wk_profile *profile, const wk_view *view, int i, float *x, float *z)
{
    *x = (float)(profile->first_x + profile->spacing * i - view->position[0]);
    *z = (float)(profile->heights[i] - view->position[2]);
}

void wk_profile_set_view(wk_profile *profile, const wk_view *view, const wk_light *light)
{
    int first, last;
    profile->near_y = (float)(profile->front_y - view->position[1]);
    profile->far_y = (float)(profile->back_y - view->position[1]);
    profile->forward_y = (float)view->forward[1];
    profile->forward_z = (float)view->forward[2];
    profile->up_y = (float)view->up[1];
    profile->up_z = (float)view->up[2];
    find_columns(profile, view, &first, &last);
    profile->facet_count = last - first;
    for (int i = first; i < last; i++) {
        wk_facet *f = &profile->facets[i - first];
        *f = (wk_facet){0};
        column(profile, view, i, &f->x0, &f->z0);
        column(profile, view, i + 1, &f->x1, &f->z1);
        place_facet(profile, view, f);
    }
    profile->has_horizon = light != NULL;
    if (light) find_horizons(profile, light);
}

static float edge_at(const wk_profile *profile, float u, int *facet)
{
    const wk_facet *f = profile->facets;
    while (*facet < profile->facet_count && u >= f[*facet].near_u1)
        ++*facet;
    if (*facet == profile->facet_count || u < f[*facet].near_u0) return -INFINITY;
    return f[*facet].near_v0 + (u - f[*facet].near_u0) * f[*facet].near_slope;
}

void wk_profile_trace(wk_profile *profile, const wk_tile *tile)
{
    for (int b = 0; b < WK_TILE_BLOCKS; b++) {
        profile->edge_low[b] = INFINITY;
        profile->edge_high[b] = -INFINITY;
    }
    for (int s = 0; s < tile->samples; s++) {
        int facet = 0;
        for (int x = 0; x < WK_TILE_STRIDE; x++) {
            float edge = edge_at(profile, tile->u[s][x], &facet);
            profile->edge[s][x] = edge;
            if (x >= WK_TILE_WIDTH) continue;
            profile->edge_low[x / 8] = fminf(profile->edge_low[x / 8], edge);
            profile->edge_high[x / 8] = fmaxf(profile->edge_high[x / 8], edge);
        }
    }
}

/* ---- Floor ----------------------------------------------------------------------------------- */

enum { MESH_MAX = 200 }; // MuJoCo's limit on the cells of one side

// As MuJoCo divides a plane: the third size is half a cell, larger where there would be too many;
// an even number of cells, and what is left over at the two ends.
static wk_mesh_side make_side(double half, double spacing)
{
    double size = fmax(spacing, half / (MESH_MAX - 2));
    int cells = (int)floor(half / fmax(1e-15, size));
    cells -= cells % 2;
    return (wk_mesh_side){
        .half = half, .pad = half - cells * size, .cell = 2 * size, .cells = cells + 2};
}

static double corner_at(const wk_mesh_side *side, int i)
{
    if (i == 0) return -side->half;
    if (i == side->cells) return side->half;
    return -side->half + side->pad + (i - 1) * side->cell;
}

static int cell_at(const wk_mesh_side *side, double x)
{
    double inner = (x + side->half - side->pad) / side->cell;
    if (!(inner >= 0)) return 0;
    return inner < side->cells - 2 ? 1 + (int)inner : side->cells - 1;
}

// Where texel i of the smaller copy lies in the larger: two neighbours and the weight of the
// second.
static float neighbours(int i, int small, int large, int pair[2])
{
    float at = ((float)i + 0.5f) * (float)large / (float)small - 0.5f;
    pair[0] = (int)at;
    pair[1] = pair[0] + 1 < large ? pair[0] + 1 : pair[0];
    return at - (float)pair[0];
}

static int32_t mix(int32_t a, int32_t b, int32_t c, int32_t d, float x, float y)
{
    int32_t mixed = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        float top = (1 - x) * (float)(a >> shift & 255) + x * (float)(b >> shift & 255);
        float bottom = (1 - x) * (float)(c >> shift & 255) + x * (float)(d >> shift & 255);
        mixed |= (int32_t)((1 - y) * top + y * bottom + 0.5f) << shift;
    }
    return mixed;
}

// Makes a copy from the one before as OpenGL implementations do: one bilinear sample for each
// texel.
static void shrink(const wk_texture *t, int level)
{
    int width = t->width[level], height = t->height[level], wide = t->width[level - 1];
    const int32_t *from = t->texels + t->first[level - 1];
    int32_t *to = t->texels + t->first[level];
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int column[2], row[2];
            float fx = neighbours(x, width, wide, column);
            float fy = neighbours(y, height, t->height[level - 1], row);
            const int32_t *top = from + row[0] * wide, *bottom = from + row[1] * wide;
            to[y * width + x] =
                mix(top[column[0]], top[column[1]], bottom[column[0]], bottom[column[1]], fx, fy);
        }
}

static wk_status make_texture(wk_texture *t, const mjModel *model, int texture, wk_error *err)
{
    // Sizes of the texture and its copies.
    int width = model->tex_width[texture], height = model->tex_height[texture], count = 0;
    const int texels = width * height;
    for (bool last = false; !last && t->levels < WK_TEXTURE_LEVELS; t->levels++) {
        t->width[t->levels] = width;
        t->height[t->levels] = height;
        t->first[t->levels] = count;
        count += width * height;
        last = width == 1 && height == 1;
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
    }
    t->texels = calloc((size_t)count, sizeof *t->texels);
    if (!t->texels) return wk_fail(err, WK_E_MEMORY, "no memory for a floor's texture");

    int channels;
    const mjtByte *rgb = wk_texture_bytes(model, texture, &channels);
    for (int i = 0; i < texels; i++, rgb += channels)
        t->texels[i] = channels < 3 ? rgb[0] * 0x10101 : rgb[0] | rgb[1] << 8 | rgb[2] << 16;
    for (int level = 1; level < t->levels; level++)
        shrink(t, level);
    return WK_OK;
}

wk_status wk_floor_init(wk_floor *ground, const mjModel *model, int geom, wk_error *err)
{
    *ground = (wk_floor){0};
    int material = model->geom_matid[geom], texture = wk_material_texture(model, geom);
    assert(texture >= 0);
    const mjtNum *size = model->geom_size + 3 * geom;
    for (int k = 0; k < 2; k++) {
        ground->side[k] = make_side(size[k], size[2]);
        float scale = model->mat_texrepeat[2 * material + k];
        if (!model->mat_texuniform[material]) scale /= (float)size[k];
        ground->repeat[k] = (k ? -0.5f : 0.5f) * scale;
    }
    // Eight corners are lit at a time.
    size_t columns = (size_t)ground->side[0].cells + 1, rows = (size_t)ground->side[1].cells + 1;
    ground->base = calloc(columns * rows + 8, sizeof *ground->base);
    ground->shaded = calloc(columns * rows + 8, sizeof *ground->shaded);
    ground->corner[0] = calloc(columns, sizeof **ground->corner);
    ground->corner[1] = calloc(rows, sizeof **ground->corner);
    wk_status status = make_texture(&ground->texture, model, texture, err);
    if (!ground->base || !ground->shaded || !ground->corner[0] || !ground->corner[1])
        status = wk_fail(err, WK_E_MEMORY, "no memory for a floor's mesh");
    if (status != WK_OK) wk_floor_free(ground);
    return status;
}

void wk_floor_free(wk_floor *ground)
{
    free(ground->texture.texels);
    free(ground->base);
    free(ground->shaded);
    free(ground->corner[0]);
    free(ground->corner[1]);
    *ground = (wk_floor){0};
}

static void look_along(wk_floor *ground, int k, double camera, double low, double high)
{
    const wk_mesh_side *side = &ground->side[k];
    // OpenGL's texture coordinate at the floor's middle is minus one half.
    double phase = (double)ground->repeat[k] * camera - 0.5;
    ground->phase[k] = (float)(phase - floor(phase));
    int first = cell_at(side, low);
    ground->lit_cells[k] = cell_at(side, high) - first + 1;
    for (int i = 0; i <= ground->lit_cells[k]; i++)
        ground->corner[k][i] = (float)(corner_at(side, first + i) - camera);
}

void wk_floor_set_view(wk_floor *ground, const wk_view *view, const mjModel *model, int geom)
{
    const mjtNum *at = model->geom_pos + 3 * geom;
    double x = view->position[0] - at[0], y = view->position[1] - at[1];
    double height = view->position[2] - at[2], half = ground->side[1].half;
    // The floor's depth is greatest at its near or far edge; there it is seen widest.
    double edge = fmax((half - y) * view->forward[1], (-half - y) * view->forward[1]);
    double depth = edge - height * view->forward[2];
    double reach = fmax(depth, 0) * 0.5 * view->width * (double)view->step;
    look_along(ground, 0, x, x - reach, x + reach);
    look_along(ground, 1, y, -half, half);
}
