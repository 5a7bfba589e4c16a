// The image of a control suite environment. The camera never turns, so the sky is its backdrop.
// What the floor reflects is the robot mirrored in it, cast where the floor is seen.
#include "env/domains/scene.h"
#include <assert.h>

enum { FLOOR = 0 }; // index of its solid

typedef struct dmc_scene {
    wk_scene base; // first
    int ground;    // geom of the floor
    wk_sky sky;
    wk_floor floor;
    wk_view mirror;
    wk_lit_scene mirrored;
} dmc_scene;

static wk_status init(wk_scene *base, const mjModel *model, wk_error *err)
{
    dmc_scene *scene = (dmc_scene *)base;
    int ground = 0;
    while (model->geom_type[ground] != mjGEOM_PLANE)
        ground++;
    assert(ground < (int)model->ngeom && model->geom_bodyid[ground] == 0);
    assert(model->geom_pos[3 * ground + 2] == 0 && model->geom_quat[4 * ground] == 1);
    assert(wk_view_is_side(model));
    scene->ground = ground;
    scene->sky = wk_sky_make(model);
    return wk_floor_init(&scene->floor, model, ground, err);
}

static void destroy(wk_scene *base)
{
    wk_floor_free(&((dmc_scene *)base)->floor);
}

static void place_robot(wk_lit_scene *lit, const mjModel *model, const mjData *data, int ground)
{
    for (int i = 0; i < (int)model->ngeom; i++)
        if (i != ground) wk_lit_scene_add(lit, model, data, i);
}

static float look(wk_scene *base, const wk_view *view, const mjModel *model, const mjData *data)
{
    dmc_scene *scene = (dmc_scene *)base;
    wk_lit_scene *lit = &base->lit, *mirrored = &scene->mirrored;
    wk_lit_scene_begin(lit, view, model, data, base->config.shadows);
    wk_lit_scene_add(lit, model, data, scene->ground);
    place_robot(lit, model, data, scene->ground);
    wk_floor_set_view(&scene->floor, view, model, scene->ground);
    base->kernels->light_floor(lit, FLOOR, &scene->floor);

    // The camera mirrored in the floor sees the robot as the floor shows it to the camera itself:
    // its colours dimmed but not its gloss, and without shadows, as in MuJoCo.
    scene->mirror = *view;
    scene->mirror.position[2] = -view->position[2];
    scene->mirror.right[2] = -view->right[2];
    scene->mirror.up[2] = -view->up[2];
    scene->mirror.forward[2] = -view->forward[2];
    wk_lit_scene_begin(mirrored, &scene->mirror, model, data, false);
    place_robot(mirrored, model, data, scene->ground);
    for (int i = 0; i < mirrored->count; i++)
        for (int k = 0; k < 3; k++)
            mirrored->solids[i].material.rgba[k] *= lit->solids[FLOOR].material.reflectance;
    // The headlight shines along the true view.
    if (model->vis.headlight.active)
        wk_view_turn(&scene->mirror, view->forward, mirrored->lights.lights[0].direction);
    return 0;
}

static void make_backdrop(wk_scene *base, wk_backdrop *layers)
{
    wk_sky_shade(&((dmc_scene *)base)->sky, base->lit.view, &base->tile, layers);
}

static uint64_t draw_tile(wk_scene *base, const wk_backdrop *layers)
{
    dmc_scene *scene = (dmc_scene *)base;
    const wk_kernels *k = base->kernels;
    wk_tile *tile = &base->tile;
    wk_lit_scene *lit = &base->lit, *mirrored = &scene->mirrored;
    k->clear(tile);
    for (int i = 0; i < lit->count; i++)
        k->cast(tile, lit, i);
    k->fill(tile, layers, NULL);
    k->shade_floor(tile, lit, FLOOR, &scene->floor);
    for (int i = FLOOR + 1; i < lit->count; i++)
        k->shade(tile, lit, i);
    if (!lit->solids[FLOOR].blocks) return 0;
    k->open(tile, wk_solid_id(FLOOR));
    for (int i = 0; i < mirrored->count; i++)
        k->cast(tile, mirrored, i);
    k->keep_behind(tile, lit, FLOOR);
    for (int i = 0; i < mirrored->count; i++)
        k->shade(tile, mirrored, i);
    return 0;
}

const wk_scene_kind wk_dmc_scene = {
    .name = "control suite",
    .size = sizeof(dmc_scene),
    .layers = 1,
    .init = init,
    .free = destroy,
    .look = look,
    .make_backdrop = make_backdrop,
    .draw_tile = draw_tile,
};
