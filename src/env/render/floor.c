#include "env/render/floor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void copy_texels(const mjModel *model, int texture, int32_t *out)
{
    int channels;
    const mjtByte *data = wk_texture_bytes(model, texture, &channels);
    for (int i = 0; i < model->tex_width[texture] * model->tex_height[texture]; i++) {
        const mjtByte *rgb = data + i * channels;
        out[i] = channels < 3 ? rgb[0] * 0x10101 : rgb[0] | rgb[1] << 8 | rgb[2] << 16;
    }
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

// Sizes of all copies; returns the number of texels.
static int measure_levels(wk_texture *t, int width, int height)
{
    int count = 0;
    for (t->levels = 0; t->levels < WK_TEXTURE_LEVELS; t->levels++) {
        t->width[t->levels] = width;
        t->height[t->levels] = height;
        t->first[t->levels] = count;
        count += width * height;
        if (width == 1 && height == 1) {
            t->levels++;
            break;
        }
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
    }
    return count;
}

static wk_status make_texture(wk_texture *t, const mjModel *model, int texture, wk_error *err)
{
    int count = measure_levels(t, model->tex_width[texture], model->tex_height[texture]);
    t->texels = calloc((size_t)count, sizeof *t->texels);
    if (!t->texels) return wk_fail(err, WK_E_MEMORY, "no memory for a floor's texture");
    copy_texels(model, texture, t->texels);
    for (int level = 1; level < t->levels; level++)
        shrink(t, level);
    return WK_OK;
}

static bool is_grey(const float rgb[3])
{
    return rgb[0] == rgb[1] && rgb[1] == rgb[2];
}

// Whether lights and material leave the texture its colours, so that one number says how bright it
// is.
static bool is_light_grey(const mjModel *model, int geom)
{
    bool grey = is_grey(wk_material_make(model, geom).rgba) &&
                is_grey(model->vis.headlight.ambient) && is_grey(model->vis.headlight.diffuse) &&
                is_grey(model->vis.headlight.specular);
    for (int i = 0; i < (int)model->nlight; i++)
        grey = grey && is_grey(model->light_ambient + 3 * i) &&
               is_grey(model->light_diffuse + 3 * i) && is_grey(model->light_specular + 3 * i);
    return grey;
}

static wk_status allocate_mesh(wk_floor *ground, wk_error *err)
{
    size_t columns = (size_t)ground->side[0].cells + 1, rows = (size_t)ground->side[1].cells + 1;
    // Eight corners are lit at a time.
    ground->base = calloc(columns * rows + 8, sizeof *ground->base);
    ground->shaded = calloc(columns * rows + 8, sizeof *ground->shaded);
    ground->corner[0] = calloc(columns, sizeof **ground->corner);
    ground->corner[1] = calloc(rows, sizeof **ground->corner);
    if (!ground->base || !ground->shaded || !ground->corner[0] || !ground->corner[1])
        return wk_fail(err, WK_E_MEMORY, "no memory for a floor's mesh");
    return WK_OK;
}

wk_status wk_floor_init(wk_floor *ground, const mjModel *model, int geom, wk_error *err)
{
    *ground = (wk_floor){0};
    int material = model->geom_matid[geom], texture = wk_material_texture(model, geom);
    if (texture < 0 || !is_light_grey(model, geom))
        return wk_fail(
            err, WK_E_INPUT,
            "a floor needs a 2d texture; its material and the lights must have no colour");
    const mjtNum *size = model->geom_size + 3 * geom;
    for (int k = 0; k < 2; k++) {
        ground->side[k] = make_side(size[k], size[2]);
        float scale = model->mat_texrepeat[2 * material + k];
        if (!model->mat_texuniform[material]) scale /= (float)size[k];
        ground->repeat[k] = (k ? -0.5f : 0.5f) * scale;
    }
    wk_status status = make_texture(&ground->texture, model, texture, err);
    if (status == WK_OK) status = allocate_mesh(ground, err);
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
