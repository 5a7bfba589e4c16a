#include "cli/random_episode.h"

wk_status wk_stage_create(const wk_world *world, wk_stage *out, wk_error *err)
{
    *out = (wk_stage){0};
    return wk_env_create(world->domain, world->options, &out->env, err);
}

void wk_stage_destroy(wk_stage *stage)
{
    wk_env_destroy(stage->env);
    *stage = (wk_stage){0};
}

wk_status wk_stage_reset(wk_stage *stage, const double *theta, uint64_t seed, wk_error *err)
{
    size_t count = (size_t)wk_env_domain(stage->env)->n_params;
    WK_TRY(wk_env_reset(stage->env, theta, count, seed, 0, &(wk_frame){0}, err));
    stage->actions = wk_rng_stream(seed, "random-actions", 0);
    stage->ended = false;
    return WK_OK;
}

wk_status wk_stage_advance(wk_stage *stage, int steps, wk_error *err)
{
    int size = wk_env_domain(stage->env)->action_size;
    for (int i = 0; i < steps && !stage->ended; i++) {
        float action[WK_ACTION_MAX];
        for (int k = 0; k < size; k++)
            action[k] = (float)wk_rng_uniform(&stage->actions, -1, 1);
        uint8_t flags = 0;
        WK_TRY(wk_env_step(stage->env, action, &(wk_frame){.flags = &flags}, err));
        stage->ended = flags & WK_IS_LAST;
    }
    return WK_OK;
}

wk_status wk_stage_draw(wk_stage *stage, wk_image *image, wk_error *err)
{
    return wk_env_render(stage->env, image->width, image->height, image->rgb, err);
}
