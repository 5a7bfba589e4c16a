// The image of a clean-up environment. Everything fixed to the world (floor, walls, goals) makes up
// the backdrop; robot and blocks are drawn over it. Seen from above, nothing fixed ever hides what
// moves, so the backdrop needs no depth. Block colours are read at every draw: they change by
// episode.
#include "env/domains/scene.h"

#include <string.h>

typedef struct cleanup_scene {
    wk_scene base; // first; its `lit` is what moves
    wk_lit_scene fixed;
} cleanup_scene;

// Lights of clean-up environments stand straight above and cast no shadows.
static void place(wk_lit_scene *lit, const wk_view *view, const mjModel *model, const mjData *data,
                  bool fixed)
{
    wk_lit_scene_begin(lit, view, model, data, false);
    for (int i = 0; i < (int)model->ngeom; i++)
        if ((model->geom_bodyid[i] == 0) == fixed) wk_lit_scene_add(lit, model, data, i);
}

static float look(wk_scene *base, const wk_view *view, const mjModel *model, const mjData *data)
{
    place(&base->lit, view, model, data, false);
    return 0;
}

static void look_behind(wk_scene *base, const wk_view *view, const mjModel *model,
                        const mjData *data)
{
    place(&((cleanup_scene *)base)->fixed, view, model, data, true);
}

static bool is_translucent(const wk_solid *solid)
{
    return solid->material.rgba[3] < 0.995f; // MuJoCo's own limit
}

// Draws what is not translucent over `behind`; without one, over black in all of the tile.
static void draw_opaque(wk_scene *base, wk_lit_scene *lit, const wk_backdrop *behind)
{
    const wk_kernels *k = base->kernels;
    wk_tile *tile = &base->tile;
    k->clear(tile);
    for (int i = 0; i < lit->count; i++)
        if (!is_translucent(&lit->solids[i])) k->cast(tile, lit, i);
    if (!behind) tile->drawn = UINT64_MAX;
    k->fill(tile, behind, NULL);
    for (int i = 0; i < lit->count; i++)
        if (!is_translucent(&lit->solids[i])) k->shade(tile, lit, i);
}

static void make_backdrop(wk_scene *base, wk_backdrop *layers)
{
    wk_lit_scene *lit = &((cleanup_scene *)base)->fixed;
    draw_opaque(base, lit, NULL);
    for (int i = 0; i < lit->count; i++)
        if (is_translucent(&lit->solids[i])) {
            base->kernels->cast(&base->tile, lit, i);
            base->kernels->blend(&base->tile, lit, i);
        }
    memcpy(layers->rgb, base->tile.rgb, sizeof layers->rgb);
}

static uint64_t draw_tile(wk_scene *base, const wk_backdrop *layers)
{
    draw_opaque(base, &base->lit, layers);
    return 0;
}

const wk_scene_kind wk_cleanup_scene = {
    .name = "clean-up",
    .size = sizeof(cleanup_scene),
    .layers = 1,
    .look = look,
    .look_behind = look_behind,
    .make_backdrop = make_backdrop,
    .draw_tile = draw_tile,
};
