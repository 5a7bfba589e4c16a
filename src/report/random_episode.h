// A world to render: one environment moved by uniformly random actions, and images of it.
#ifndef WK_REPORT_RANDOM_EPISODE_H
#define WK_REPORT_RANDOM_EPISODE_H

#include "base/rng.h"
#include "media/image.h"
#include "waker/env.h"

typedef struct wk_random_episode {
    wk_env *env;
    wk_rng actions; // of the running episode
    bool ended;     // the episode's last step was taken
} wk_random_episode;

/// `options` of the domain; NULL: the defaults.
wk_status wk_random_episode_create(const wk_domain *domain, const int *options,
                                   wk_random_episode *out, wk_error *err);
void wk_random_episode_destroy(wk_random_episode *episode);

/// Starts the episode (θ, seed, 0) with its own stream of actions.
wk_status wk_random_episode_reset(wk_random_episode *episode, const double *theta, uint64_t seed,
                                  wk_error *err);

/// Takes `steps` random steps, fewer if the episode ends before.
wk_status wk_random_episode_advance(wk_random_episode *episode, int steps, wk_error *err);

/// Draws the current state into a square image made before.
wk_status wk_random_episode_draw(wk_random_episode *episode, wk_image *image, wk_error *err);

#endif
