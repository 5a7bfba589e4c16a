// Draws tile by tile. The camera never turns, so the sky is a constant image, which is kept for
// images up to the size of an observation. What the floor reflects is the robot mirrored in it,
// cast where the floor is seen.
#include "env/domains/dmc_scene.h"
#include "env/render/kernels.h"
#include "env/render/sky.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOOR = 0 }; // index of its solid

struct wk_dmc_scene {
    wk_render_config config;
    const wk_kernels *kernels;
    int ground; // geom of the floor
    wk_sky sky;
    wk_floor floor;
    wk_lit_scene lit, mirrored;
    wk_tile tile;
    uint8_t pixels[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH];
    int cached_width, cached_height; // image the cache is for; 0: none
    wk_backdrop cache[WK_SMALL_TILES], scratch;
};

static int find_floor(const mjModel *model)
{
    for (int i = 0; i < (int)model->ngeom; i++)
        if (model->geom_type[i] == mjGEOM_PLANE) return i;
    return -1;
}

static wk_status check(const mjModel *model, const wk_render_config *config, wk_error *err)
{
    int ground = find_floor(model);
    if (ground < 0 || model->geom_bodyid[ground] != 0 || model->geom_pos[3 * ground + 2] != 0 ||
        model->geom_quat[4 * ground] != 1)
        return wk_fail(err, WK_E_INPUT, "the control suite scene needs a floor at z = 0");
    if (!wk_view_is_side(model))
        return wk_fail(
            err, WK_E_INPUT,
            "the control suite scene needs a first camera that looks along +y and is level");
    if (config->samples != 1 && config->samples != 4)
        return wk_fail(err, WK_E_INPUT, "%d samples per pixel; 1 and 4 are possible",
                       config->samples);
    return WK_OK;
}

wk_status wk_dmc_scene_create(const mjModel *model, const wk_render_config *config,
                              wk_dmc_scene **out, wk_error *err)
{
    WK_TRY(check(model, config, err));
    wk_dmc_scene *scene = calloc(1, sizeof *scene);
    if (!scene) return wk_fail(err, WK_E_MEMORY, "no memory for a control suite scene");
    scene->config = *config;
    scene->kernels = wk_kernels_best();
    scene->ground = find_floor(model);
    scene->sky = wk_sky_make(model);
    wk_status status = wk_floor_init(&scene->floor, model, scene->ground, err);
    if (status != WK_OK) {
        free(scene);
        return status;
    }
    *out = scene;
    return WK_OK;
}

void wk_dmc_scene_destroy(wk_dmc_scene *scene)
{
    if (!scene) return;
    wk_floor_free(&scene->floor);
    free(scene);
}

void wk_dmc_scene_use(wk_dmc_scene *scene, const wk_kernels *kernels)
{
    scene->kernels = kernels;
    scene->cached_width = 0;
}

static void add_shape(wk_lit_scene *lit, const mjModel *model, const mjData *data, int geom)
{
    assert(lit->count < WK_SOLIDS_MAX);
    wk_solid_make(lit->view, model, data, geom, &lit->solids[lit->count++]);
}

static void place_robot(wk_lit_scene *lit, const mjModel *model, const mjData *data, int ground)
{
    for (int i = 0; i < (int)model->ngeom; i++)
        if (i != ground && wk_solid_drawable(model, i)) add_shape(lit, model, data, i);
}

static void look(wk_dmc_scene *scene, const mjModel *model, const mjData *data)
{
    wk_lit_scene *lit = &scene->lit;
    lit->count = 0;
    add_shape(lit, model, data, scene->ground);
    place_robot(lit, model, data, scene->ground);
    wk_lights_make(lit->view, model, data, scene->config.shadows, &lit->lights);
    wk_shadows_make(&lit->lights, lit->solids, lit->count, &lit->shadows);
    wk_floor_set_view(&scene->floor, lit->view, model, scene->ground);
    scene->kernels->light_floor(lit, FLOOR, &scene->floor);
}

// The camera mirrored in the floor sees the robot as the floor shows it to the camera itself.
static wk_view mirror_view(const wk_view *view)
{
    wk_view mirrored = *view;
    mirrored.position[2] = -view->position[2];
    mirrored.right[2] = -view->right[2];
    mirrored.up[2] = -view->up[2];
    mirrored.forward[2] = -view->forward[2];
    return mirrored;
}

// The robot in the floor: its colours dimmed but not its gloss, and without shadows, as in MuJoCo.
static void look_into_floor(wk_dmc_scene *scene, const wk_view *view, const mjModel *model,
                            const mjData *data)
{
    wk_lit_scene *lit = &scene->mirrored;
    float reflectance = scene->lit.solids[FLOOR].material.reflectance;
    lit->count = 0;
    place_robot(lit, model, data, scene->ground);
    for (int i = 0; i < lit->count; i++)
        for (int k = 0; k < 3; k++)
            lit->solids[i].material.rgba[k] *= reflectance;
    wk_lights_make(lit->view, model, data, false, &lit->lights);
    lit->shadows = (wk_shadows){.light = -1};
    // The headlight shines along the true view.
    if (model->vis.headlight.active)
        wk_view_turn(lit->view, view->forward, lit->lights.lights[0].direction);
}

static void make_backdrop(wk_dmc_scene *scene, wk_backdrop *out)
{
    wk_sky_shade(&scene->sky, scene->lit.view, &scene->tile, out);
    scene->kernels->quantise(out->rgb, UINT64_MAX, out->bytes);
}

static void refresh_cache(wk_dmc_scene *scene)
{
    const wk_view *view = scene->lit.view;
    if (!wk_view_is_small(view) ||
        (scene->cached_width == view->width && scene->cached_height == view->height))
        return;
    wk_tile_place_x(&scene->tile, view, 0);
    for (int y = 0; y < view->height; y += WK_TILE_HEIGHT) {
        wk_tile_place_y(&scene->tile, view, y);
        make_backdrop(scene, &scene->cache[y / WK_TILE_HEIGHT]);
    }
    scene->cached_width = view->width;
    scene->cached_height = view->height;
}

static const wk_backdrop *find_backdrop(wk_dmc_scene *scene)
{
    if (wk_view_is_small(scene->lit.view)) return &scene->cache[scene->tile.y / WK_TILE_HEIGHT];
    make_backdrop(scene, &scene->scratch);
    return &scene->scratch;
}

static void add_reflection(wk_dmc_scene *scene)
{
    const wk_kernels *k = scene->kernels;
    if (!scene->lit.solids[FLOOR].blocks) return;
    k->open(&scene->tile, wk_solid_id(FLOOR));
    for (int i = 0; i < scene->mirrored.count; i++)
        k->cast(&scene->tile, &scene->mirrored, i);
    k->keep_behind(&scene->tile, &scene->lit, FLOOR);
    for (int i = 0; i < scene->mirrored.count; i++)
        k->shade(&scene->tile, &scene->mirrored, i);
}

static void draw_tile(wk_dmc_scene *scene, uint8_t *rgb)
{
    const wk_kernels *k = scene->kernels;
    wk_tile *tile = &scene->tile;
    wk_lit_scene *lit = &scene->lit;
    const wk_backdrop *behind = find_backdrop(scene);
    k->clear(tile);
    for (int i = 0; i < lit->count; i++)
        k->cast(tile, lit, i);
    k->fill(tile, behind, NULL);
    k->shade_floor(tile, lit, FLOOR, &scene->floor);
    for (int i = FLOOR + 1; i < lit->count; i++)
        k->shade(tile, lit, i);
    add_reflection(scene);
    k->quantise(tile->rgb, tile->drawn, scene->pixels);
    wk_framebuffer framebuffer = {rgb, lit->view->width};
    wk_framebuffer_write(&framebuffer, tile, behind->bytes, ~tile->drawn);
    wk_framebuffer_write(&framebuffer, tile, scene->pixels, tile->drawn);
}

void wk_dmc_scene_draw(wk_dmc_scene *scene, const mjModel *model, const mjData *data, int width,
                       int height, uint8_t *rgb)
{
    assert(width > 0 && height > 0);
    wk_view view = wk_view_make(model, data, width, height, scene->config.samples);
    wk_view mirrored = mirror_view(&view);
    scene->lit.view = &view;
    scene->mirrored.view = &mirrored;
    look(scene, model, data);
    look_into_floor(scene, &view, model, data);
    refresh_cache(scene);
    for (int x = 0; x < width; x += WK_TILE_WIDTH) {
        wk_tile_place_x(&scene->tile, &view, x);
        for (int y = 0; y < height; y += WK_TILE_HEIGHT) {
            wk_tile_place_y(&scene->tile, &view, y);
            draw_tile(scene, rgb);
        }
    }
    scene->lit.view = scene->mirrored.view = NULL;
}
