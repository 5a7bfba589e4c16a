// Draws tile by tile. Sky and terrain front do not change while the camera only translates along
// the terrain, so for images up to the size of an observation both are kept as finished pixels;
// larger images work them out anew, which keeps memory constant.
#include "env/domains/terrain_scene.h"
#include "env/render/kernels.h"
#include "env/render/sky.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// What lies behind the moving things in one tile.
typedef struct scenery {
    wk_backdrop sky, front;
} scenery;

struct wk_terrain_scene {
    wk_render_config config;
    const wk_kernels *kernels;
    int terrain; // geom of the height field
    wk_sky sky;
    wk_profile profile;
    wk_lit_scene lit;
    wk_tile tile;
    uint8_t pixels[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH];
    int cached_width, cached_height; // image the cache is for; 0: none
    float cached_distance;           // from the camera to the front
    scenery cache[WK_SMALL_TILES], scratch;
};

static int find_terrain(const mjModel *model)
{
    for (int i = 0; i < (int)model->ngeom; i++)
        if (model->geom_type[i] == mjGEOM_HFIELD) return i;
    return -1;
}

wk_status wk_terrain_scene_create(const mjModel *model, const wk_render_config *config,
                                  wk_terrain_scene **out, wk_error *err)
{
    int terrain = find_terrain(model);
    if (terrain < 0)
        return wk_fail(err, WK_E_INPUT,
                       "the terrain scene needs a height field; the model has none");
    if (!wk_view_is_side(model))
        return wk_fail(err, WK_E_INPUT,
                       "the terrain scene needs a first camera that looks along +y and is level");
    if (config->samples != 1 && config->samples != 4)
        return wk_fail(err, WK_E_INPUT, "%d samples per pixel; 1 and 4 are possible",
                       config->samples);
    wk_terrain_scene *scene = calloc(1, sizeof *scene);
    if (!scene) return wk_fail(err, WK_E_MEMORY, "no memory for a terrain scene");
    scene->config = *config;
    scene->kernels = wk_kernels_best();
    scene->terrain = terrain;
    scene->sky = wk_sky_make(model);
    wk_status status = wk_profile_init(&scene->profile, model, terrain, err);
    if (status != WK_OK) {
        free(scene);
        return status;
    }
    *out = scene;
    return WK_OK;
}

void wk_terrain_scene_destroy(wk_terrain_scene *scene)
{
    if (!scene) return;
    wk_profile_free(&scene->profile);
    free(scene);
}

void wk_terrain_scene_use(wk_terrain_scene *scene, const wk_kernels *kernels)
{
    scene->kernels = kernels;
    scene->cached_width = 0;
}

void wk_terrain_scene_set_profile(wk_terrain_scene *scene, const mjModel *model)
{
    wk_profile_read(&scene->profile, model, scene->terrain);
}

static void place_shapes(wk_terrain_scene *scene, const mjModel *model, const mjData *data)
{
    wk_lit_scene *lit = &scene->lit;
    lit->count = 0;
    for (int i = 0; i < (int)model->ngeom; i++)
        if (wk_solid_drawable(model, i)) {
            assert(lit->count < WK_SOLIDS_MAX);
            wk_solid_make(lit->view, model, data, i, &lit->solids[lit->count++]);
        }
}

static void look(wk_terrain_scene *scene, const mjModel *model, const mjData *data)
{
    wk_lit_scene *lit = &scene->lit;
    place_shapes(scene, model, data);
    wk_lights_make(lit->view, model, data, scene->config.shadows, &lit->lights);
    wk_shadows_make(&lit->lights, lit->solids, lit->count, &lit->shadows);
    int caster = lit->shadows.light;
    wk_profile_set_view(&scene->profile, lit->view,
                        caster < 0 ? NULL : &lit->lights.lights[caster]);
}

static void make_scenery(wk_terrain_scene *scene, scenery *out)
{
    wk_sky_shade(&scene->sky, scene->lit.view, &scene->tile, &out->sky);
    scene->kernels->quantise(out->sky.rgb, UINT64_MAX, out->sky.bytes);
    scene->kernels->shade_front(&scene->tile, &scene->lit, &scene->profile, &out->front);
    scene->kernels->quantise(out->front.rgb, UINT64_MAX, out->front.bytes);
}

static void refresh_cache(wk_terrain_scene *scene)
{
    const wk_view *view = scene->lit.view;
    if (!wk_view_is_small(view) ||
        (scene->cached_width == view->width && scene->cached_height == view->height &&
         scene->cached_distance == scene->profile.near_y))
        return;
    wk_tile_place_x(&scene->tile, view, 0);
    for (int y = 0; y < view->height; y += WK_TILE_HEIGHT) {
        wk_tile_place_y(&scene->tile, view, y);
        make_scenery(scene, &scene->cache[y / WK_TILE_HEIGHT]);
    }
    // A light at no number, in an environment that has broken down, must not stay in the cache.
    bool sound = isfinite(scene->cache[0].front.rgb[0][0][0]);
    scene->cached_width = sound ? view->width : 0;
    scene->cached_height = view->height;
    scene->cached_distance = scene->profile.near_y;
}

static const scenery *find_scenery(wk_terrain_scene *scene)
{
    if (wk_view_is_small(scene->lit.view)) return &scene->cache[scene->tile.y / WK_TILE_HEIGHT];
    make_scenery(scene, &scene->scratch);
    return &scene->scratch;
}

static void draw_tile(wk_terrain_scene *scene, uint8_t *rgb)
{
    const wk_kernels *k = scene->kernels;
    wk_tile *tile = &scene->tile;
    wk_lit_scene *lit = &scene->lit;
    const scenery *behind = find_scenery(scene);
    k->clear(tile);
    uint64_t inside = k->cast_profile(tile, &scene->profile);
    for (int i = 0; i < lit->count; i++)
        k->cast(tile, lit, i);
    k->fill(tile, &behind->sky, &behind->front);
    k->shade_profile(tile, lit, &scene->profile);
    for (int i = 0; i < lit->count; i++)
        k->shade(tile, lit, i);
    k->quantise(tile->rgb, tile->drawn, scene->pixels);
    wk_framebuffer framebuffer = {rgb, lit->view->width};
    wk_framebuffer_write(&framebuffer, tile, behind->sky.bytes, ~(inside | tile->drawn));
    wk_framebuffer_write(&framebuffer, tile, behind->front.bytes, inside & ~tile->drawn);
    wk_framebuffer_write(&framebuffer, tile, scene->pixels, tile->drawn);
}

void wk_terrain_scene_draw(wk_terrain_scene *scene, const mjModel *model, const mjData *data,
                           int width, int height, uint8_t *rgb)
{
    assert(width > 0 && height > 0);
    wk_view view = wk_view_make(model, data, width, height, scene->config.samples);
    scene->lit.view = &view;
    look(scene, model, data);
    refresh_cache(scene);
    for (int x = 0; x < width; x += WK_TILE_WIDTH) {
        wk_tile_place_x(&scene->tile, &view, x);
        wk_profile_trace(&scene->profile, &scene->tile);
        for (int y = 0; y < height; y += WK_TILE_HEIGHT) {
            wk_tile_place_y(&scene->tile, &view, y);
            draw_tile(scene, rgb);
        }
    }
    scene->lit.view = NULL;
}
