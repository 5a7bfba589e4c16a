// Draws tile by tile. Everything fixed to the world (floor, walls, goals) makes up the backdrop,
// which is kept for images up to the size of an observation; robot and blocks are drawn over it.
// Seen from above, nothing fixed ever hides what moves, so the backdrop needs no depth.
#include "env/domains/cleanup_scene.h"
#include "env/render/kernels.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct wk_cleanup_scene {
    wk_render_config config;
    const wk_kernels *kernels;
    wk_lit_scene fixed, moving;
    wk_tile tile;
    uint8_t pixels[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH];
    int cached_width, cached_height; // image the cache is for; 0: none
    wk_backdrop cache[WK_SMALL_TILES], scratch;
};

wk_status wk_cleanup_scene_create(const wk_render_config *config, wk_cleanup_scene **out,
                                  wk_error *err)
{
    if (config->samples != 1 && config->samples != 4)
        return wk_fail(err, WK_E_INPUT, "%d samples per pixel; 1 and 4 are possible",
                       config->samples);
    wk_cleanup_scene *scene = calloc(1, sizeof *scene);
    if (!scene) return wk_fail(err, WK_E_MEMORY, "no memory for a clean-up scene");
    scene->config = *config;
    scene->kernels = wk_kernels_best();
    *out = scene;
    return WK_OK;
}

void wk_cleanup_scene_destroy(wk_cleanup_scene *scene)
{
    free(scene);
}

void wk_cleanup_scene_use(wk_cleanup_scene *scene, const wk_kernels *kernels)
{
    scene->kernels = kernels;
    scene->cached_width = 0;
}

void wk_cleanup_scene_reset(wk_cleanup_scene *scene)
{
    scene->cached_width = 0;
}

static void place_shapes(wk_lit_scene *lit, const mjModel *model, const mjData *data, bool fixed)
{
    lit->count = 0;
    for (int i = 0; i < (int)model->ngeom; i++)
        if (wk_solid_drawable(model, i) && (model->geom_bodyid[i] == 0) == fixed) {
            assert(lit->count < WK_SOLIDS_MAX);
            wk_solid_make(lit->view, model, data, i, &lit->solids[lit->count++]);
        }
}

// Lights of clean-up environments stand straight above and cast no shadows.
static void look(wk_lit_scene *lit, const wk_view *view, const mjModel *model, const mjData *data,
                 bool fixed)
{
    lit->view = view;
    place_shapes(lit, model, data, fixed);
    wk_lights_make(view, model, data, false, &lit->lights);
    wk_shadows_make(&lit->lights, lit->solids, lit->count, &lit->shadows);
}

static bool is_translucent(const wk_solid *solid)
{
    return solid->material.rgba[3] < 0.995f; // MuJoCo's own limit
}

static void cast_opaque(wk_cleanup_scene *scene, wk_lit_scene *lit)
{
    scene->kernels->clear(&scene->tile);
    for (int i = 0; i < lit->count; i++)
        if (!is_translucent(&lit->solids[i])) scene->kernels->cast(&scene->tile, lit, i);
}

static void shade_opaque(wk_cleanup_scene *scene, const wk_lit_scene *lit)
{
    for (int i = 0; i < lit->count; i++)
        if (!is_translucent(&lit->solids[i])) scene->kernels->shade(&scene->tile, lit, i);
}

static void make_backdrop(wk_cleanup_scene *scene, wk_backdrop *out)
{
    const wk_kernels *k = scene->kernels;
    wk_lit_scene *lit = &scene->fixed;
    cast_opaque(scene, lit);
    scene->tile.drawn = UINT64_MAX;
    k->fill(&scene->tile, NULL, NULL);
    shade_opaque(scene, lit);
    for (int i = 0; i < lit->count; i++)
        if (is_translucent(&lit->solids[i])) {
            k->cast(&scene->tile, lit, i);
            k->blend(&scene->tile, lit, i);
        }
    memcpy(out->rgb, scene->tile.rgb, sizeof out->rgb);
    k->quantise(out->rgb, UINT64_MAX, out->bytes);
}

static void refresh_cache(wk_cleanup_scene *scene, const wk_view *view, const mjModel *model,
                          const mjData *data)
{
    bool fits = wk_view_is_small(view);
    if (fits && scene->cached_width == view->width && scene->cached_height == view->height) return;
    look(&scene->fixed, view, model, data, true);
    if (!fits) return;
    wk_tile_place_x(&scene->tile, view, 0);
    for (int y = 0; y < view->height; y += WK_TILE_HEIGHT) {
        wk_tile_place_y(&scene->tile, view, y);
        make_backdrop(scene, &scene->cache[y / WK_TILE_HEIGHT]);
    }
    scene->cached_width = view->width;
    scene->cached_height = view->height;
}

static const wk_backdrop *find_backdrop(wk_cleanup_scene *scene, const wk_view *view)
{
    if (wk_view_is_small(view)) return &scene->cache[scene->tile.y / WK_TILE_HEIGHT];
    make_backdrop(scene, &scene->scratch);
    return &scene->scratch;
}

static void draw_tile(wk_cleanup_scene *scene, const wk_view *view, uint8_t *rgb)
{
    const wk_kernels *k = scene->kernels;
    const wk_backdrop *behind = find_backdrop(scene, view);
    wk_tile *tile = &scene->tile;
    cast_opaque(scene, &scene->moving);
    k->fill(tile, behind, NULL);
    shade_opaque(scene, &scene->moving);
    k->quantise(tile->rgb, tile->drawn, scene->pixels);
    wk_framebuffer framebuffer = {rgb, view->width};
    wk_framebuffer_write(&framebuffer, tile, behind->bytes, ~tile->drawn);
    wk_framebuffer_write(&framebuffer, tile, scene->pixels, tile->drawn);
}

void wk_cleanup_scene_draw(wk_cleanup_scene *scene, const mjModel *model, const mjData *data,
                           int width, int height, uint8_t *rgb)
{
    assert(width > 0 && height > 0);
    wk_view view = wk_view_make(model, data, width, height, scene->config.samples);
    refresh_cache(scene, &view, model, data);
    look(&scene->moving, &view, model, data, false);
    for (int x = 0; x < width; x += WK_TILE_WIDTH) {
        wk_tile_place_x(&scene->tile, &view, x);
        for (int y = 0; y < height; y += WK_TILE_HEIGHT) {
            wk_tile_place_y(&scene->tile, &view, y);
            draw_tile(scene, &view, rgb);
        }
    }
    scene->fixed.view = scene->moving.view = NULL;
}
