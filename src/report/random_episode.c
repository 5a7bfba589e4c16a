#include "report/random_episode.h"

#include "env/domain.h"

wk_status wk_random_episode_create(const wk_domain *domain, const int *options,
                                   wk_random_episode *out, wk_error *err)
{
    *out = (wk_random_episode){0};
    return wk_env_create(domain, options, &out->env, err);
}

void wk_random_episode_destroy(wk_random_episode *episode)
{
    wk_env_destroy(episode->env);
    *episode = (wk_random_episode){0};
}

wk_status wk_random_episode_reset(wk_random_episode *episode, const double *theta, uint64_t seed,
                                  wk_error *err)
{
    size_t count = (size_t)wk_env_domain(episode->env)->n_params;
    WK_TRY(wk_env_reset(episode->env, theta, count, seed, 0, &(wk_frame){0}, err));
    episode->actions = wk_rng_stream(seed, "random-actions", 0);
    episode->ended = false;
    return WK_OK;
}

wk_status wk_random_episode_advance(wk_random_episode *episode, int steps, wk_error *err)
{
    for (int i = 0; i < steps && !episode->ended; i++) {
        float action[WK_ACTION_MAX];
        wk_domain_random_action(wk_env_domain(episode->env), &episode->actions, action);
        uint8_t flags = 0;
        WK_TRY(wk_env_step(episode->env, action, &(wk_frame){.flags = &flags}, err));
        episode->ended = flags & WK_IS_LAST;
    }
    return WK_OK;
}

wk_status wk_random_episode_draw(wk_random_episode *episode, wk_image *image, wk_error *err)
{
    return wk_env_render(episode->env, image->width, image->height, image->rgb, err);
}
