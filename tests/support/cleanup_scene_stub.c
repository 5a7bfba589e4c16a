// Stands in for the clean-up renderer in tests that draw nothing.
#include "env/cleanup_scene.h"

wk_status wk_cleanup_scene_create(const wk_render_config *config, wk_cleanup_scene **out,
                                  wk_error *err)
{
    (void)config, (void)err;
    *out = NULL;
    return WK_OK;
}

void wk_cleanup_scene_destroy(wk_cleanup_scene *scene)
{
    (void)scene;
}

void wk_cleanup_scene_set_model(wk_cleanup_scene *scene, const mjModel *model, const mjData *data)
{
    (void)scene, (void)model, (void)data;
}

void wk_cleanup_scene_draw(wk_cleanup_scene *scene, const mjModel *model, const mjData *data,
                           int width, int height, uint8_t *rgb)
{
    (void)scene, (void)model, (void)data, (void)width, (void)height, (void)rgb;
}
