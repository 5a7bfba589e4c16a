// The image of a terrain environment. Sky and terrain front, the two layers of its backdrop, do not
// change while the camera only translates along the terrain.
#include "env/domains/scene.h"
#include <assert.h>

typedef struct terrain_scene {
    wk_scene base; // first
    int terrain;   // geom of the height field
    wk_sky sky;
    wk_profile profile;
} terrain_scene;

static wk_status init(wk_scene *base, const mjModel *model, wk_error *err)
{
    terrain_scene *scene = (terrain_scene *)base;
    while (model->geom_type[scene->terrain] != mjGEOM_HFIELD)
        scene->terrain++;
    assert(scene->terrain < (int)model->ngeom && wk_view_is_side(model));
    scene->sky = wk_sky_make(model);
    return wk_profile_init(&scene->profile, model, scene->terrain, err);
}

static void destroy(wk_scene *base)
{
    wk_profile_free(&((terrain_scene *)base)->profile);
}

void wk_terrain_scene_read(wk_scene *base, const mjModel *model)
{
    terrain_scene *scene = (terrain_scene *)base;
    wk_profile_read(&scene->profile, model, scene->terrain);
}

// Gives the distance from the camera to the front.
static float look(wk_scene *base, const wk_view *view, const mjModel *model, const mjData *data)
{
    terrain_scene *scene = (terrain_scene *)base;
    wk_lit_scene *lit = &base->lit;
    wk_lit_scene_begin(lit, view, model, data, base->config.shadows);
    for (int i = 0; i < (int)model->ngeom; i++)
        wk_lit_scene_add(lit, model, data, i);
    int caster = lit->shadows.light;
    wk_profile_set_view(&scene->profile, view, caster < 0 ? NULL : &lit->lights.lights[caster]);
    return scene->profile.near_y;
}

static void make_backdrop(wk_scene *base, wk_backdrop *layers)
{
    const terrain_scene *scene = (terrain_scene *)base;
    wk_sky_shade(&scene->sky, base->lit.view, &base->tile, &layers[0]);
    base->kernels->shade_front(&base->tile, &base->lit, &scene->profile, &layers[1]);
}

static void begin_column(wk_scene *base)
{
    wk_profile_trace(&((terrain_scene *)base)->profile, &base->tile);
}

static uint64_t draw_tile(wk_scene *base, const wk_backdrop *layers)
{
    terrain_scene *scene = (terrain_scene *)base;
    const wk_kernels *k = base->kernels;
    wk_tile *tile = &base->tile;
    wk_lit_scene *lit = &base->lit;
    k->clear(tile);
    uint64_t inside = k->cast_profile(tile, &scene->profile);
    for (int i = 0; i < lit->count; i++)
        k->cast(tile, lit, i);
    k->fill(tile, &layers[0], &layers[1]);
    k->shade_profile(tile, lit, &scene->profile);
    for (int i = 0; i < lit->count; i++)
        k->shade(tile, lit, i);
    return inside;
}

const wk_scene_kind wk_terrain_scene = {
    .name = "terrain",
    .size = sizeof(terrain_scene),
    .layers = 2,
    .init = init,
    .free = destroy,
    .look = look,
    .make_backdrop = make_backdrop,
    .begin_column = begin_column,
    .draw_tile = draw_tile,
};
