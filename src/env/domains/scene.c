#include "env/domains/scene.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

wk_status wk_scene_create(const wk_scene_kind *kind, const mjModel *model,
                          const wk_render_config *config, wk_scene **out, wk_error *err)
{
    assert(config->samples == 1 || config->samples == 4);
    wk_scene *scene = calloc(1, kind->size);
    if (scene) {
        scene->kind = kind;
        scene->config = *config;
        scene->kernels = wk_kernels_best();
        scene->backdrop =
            calloc((WK_SMALL_TILES + 1) * (size_t)kind->layers, sizeof *scene->backdrop);
    }
    wk_status status = WK_OK;
    if (!scene || !scene->backdrop)
        status = wk_fail(err, WK_E_MEMORY, "no memory for a %s scene", kind->name);
    else if (kind->init)
        status = kind->init(scene, model, err);
    if (status == WK_OK)
        *out = scene;
    else
        wk_scene_destroy(scene);
    return status;
}

void wk_scene_destroy(wk_scene *scene)
{
    if (!scene) return;
    if (scene->kind->free) scene->kind->free(scene);
    free(scene->backdrop);
    free(scene);
}

void wk_scene_forget(wk_scene *scene)
{
    scene->kept_width = 0;
}

// The backdrop of tile `index` of a small image, all its layers.
static wk_backdrop *layers_of(const wk_scene *scene, int index)
{
    return scene->backdrop + index * scene->kind->layers;
}

static void make_backdrop(wk_scene *scene, wk_backdrop *layers)
{
    scene->kind->make_backdrop(scene, layers);
    for (int i = 0; i < scene->kind->layers; i++)
        scene->kernels->quantise(layers[i].rgb, UINT64_MAX, layers[i].bytes);
}

// Makes the whole backdrop of a small image.
static void keep_backdrop(wk_scene *scene, const wk_view *view, float look)
{
    wk_tile_place_x(&scene->tile, view, 0);
    for (int y = 0; y < view->height; y += WK_TILE_HEIGHT) {
        wk_tile_place_y(&scene->tile, view, y);
        make_backdrop(scene, layers_of(scene, y / WK_TILE_HEIGHT));
    }
    // Light that is not a number, in an environment that has broken down, must not be kept.
    bool sound = isfinite(scene->backdrop[scene->kind->layers - 1].rgb[0][0][0]);
    scene->kept_width = sound ? view->width : 0;
    scene->kept_height = view->height;
    scene->kept_look = look;
}

static void draw_tile(wk_scene *scene, const wk_view *view, const wk_backdrop *layers, uint8_t *rgb)
{
    wk_tile *tile = &scene->tile;
    uint64_t second = scene->kind->draw_tile(scene, layers);
    scene->kernels->quantise(tile->rgb, tile->drawn, scene->pixels);
    wk_framebuffer framebuffer = {rgb, view->width};
    wk_framebuffer_write(&framebuffer, tile, layers->bytes, ~(second | tile->drawn));
    if (scene->kind->layers > 1)
        wk_framebuffer_write(&framebuffer, tile, layers[1].bytes, second & ~tile->drawn);
    wk_framebuffer_write(&framebuffer, tile, scene->pixels, tile->drawn);
}

void wk_scene_draw(wk_scene *scene, const mjModel *model, const mjData *data, int width, int height,
                   uint8_t *rgb)
{
    assert(width > 0 && height > 0);
    const wk_scene_kind *kind = scene->kind;
    wk_view view = wk_view_make(model, data, width, height, scene->config.samples);
    // No larger than an observation: one tile wide. What is constant in such images is kept.
    bool small = width <= WK_TILE_WIDTH && height <= WK_SMALL_TILES * WK_TILE_HEIGHT;
    float look = kind->look(scene, &view, model, data);
    bool kept = small && scene->kept_width == width && scene->kept_height == height &&
                scene->kept_look == look;
    if (!kept && kind->look_behind) kind->look_behind(scene, &view, model, data);
    if (small && !kept) keep_backdrop(scene, &view, look);
    for (int x = 0; x < width; x += WK_TILE_WIDTH) {
        wk_tile_place_x(&scene->tile, &view, x);
        if (kind->begin_column) kind->begin_column(scene);
        for (int y = 0; y < height; y += WK_TILE_HEIGHT) {
            wk_tile_place_y(&scene->tile, &view, y);
            wk_backdrop *layers = layers_of(scene, small ? y / WK_TILE_HEIGHT : WK_SMALL_TILES);
            if (!small) make_backdrop(scene, layers);
            draw_tile(scene, &view, layers, rgb);
        }
    }
    scene->lit.view = NULL;
}

/* ---- Sky ------------------------------------------------------------------------------------- */

static void read_colour(const mjModel *model, const char *name, double out[3])
{
    int id = mj_name2id(model, mjOBJ_NUMERIC, name);
    bool found = id >= 0 && model->numeric_size[id] >= 3;
    for (int i = 0; i < 3; i++)
        out[i] = found ? model->numeric_data[model->numeric_adr[id] + i] : 0;
}

wk_sky wk_sky_make(const mjModel *model)
{
    wk_sky sky = {0};
    read_colour(model, "sky_up", sky.up);
    read_colour(model, "sky_down", sky.down);
    return sky;
}

// Arc tangent from basic operations only, the same on every machine: three halvings of the angle
// bring it below pi/16, where the series converges fast.
static double arctangent(double x)
{
    for (int i = 0; i < 3; i++)
        x = x / (1 + sqrt(1 + x * x));
    double q = x * x;
    return 8 * x * (1 - q * (1.0 / 3 - q * (1.0 / 5 - q * (1.0 / 7 - q * (1.0 / 9 - q / 11)))));
}

// Share of the upper colour at the slope `rise` (height over distance): a smooth step in the
// elevation, measured in right angles.
static double upper_share(double rise)
{
    double p = arctangent(rise) / 1.57079632679489661923;
    double share = 0.5 * (1 + 1.41421356237309504880 * p / sqrt(1 + p * p));
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

void wk_sky_shade(const wk_sky *sky, const wk_view *view, const wk_tile *tile, wk_backdrop *out)
{
    for (int y = 0; y < WK_TILE_HEIGHT; y++)
        for (int x = 0; x < WK_TILE_WIDTH; x++) {
            double d[3];
            for (int i = 0; i < 3; i++)
                d[i] = view->forward[i] + (double)tile->centre_v[y] * view->up[i] +
                       (double)tile->centre_u[x] * view->right[i];
            double share = upper_share(d[2] / sqrt(d[0] * d[0] + d[1] * d[1]));
            for (int i = 0; i < 3; i++)
                out->rgb[i][y][x] = (float)(share * sky->up[i] + (1 - share) * sky->down[i]);
        }
}
