// Stands in for the picture of a terrain until it exists; tests here do not render.
#include "env/terrain_scene.h"

wk_status wk_terrain_scene_create(const mjModel *model, const wk_render_config *config,
                                  wk_terrain_scene **out, wk_error *err)
{
    (void)model, (void)config, (void)err;
    *out = NULL;
    return WK_OK;
}

void wk_terrain_scene_destroy(wk_terrain_scene *scene)
{
    (void)scene;
}

void wk_terrain_scene_set_profile(wk_terrain_scene *scene, const mjModel *model)
{
    (void)scene, (void)model;
}

void wk_terrain_scene_draw(wk_terrain_scene *scene, const mjModel *model, const mjData *data,
                           int width, int height, uint8_t *rgb)
{
    (void)scene, (void)model, (void)data, (void)width, (void)height, (void)rgb;
}
