// A world on show: one environment moved by uniformly random actions, and pictures of it.
#ifndef WK_CLI_RANDOM_EPISODE_H
#define WK_CLI_RANDOM_EPISODE_H

#include "base/rng.h"
#include "cli/world.h"
#include "media/image.h"

typedef struct wk_stage {
    wk_env *env;
    wk_rng actions; // of the running episode
    bool ended;     // the episode's last step was taken
} wk_stage;

wk_status wk_stage_create(const wk_world *world, wk_stage *out, wk_error *err);
void wk_stage_destroy(wk_stage *stage);

/// Starts the episode (θ, seed, 0) with its own stream of actions.
wk_status wk_stage_reset(wk_stage *stage, const double *theta, uint64_t seed, wk_error *err);

/// Takes `steps` random steps, fewer if the episode ends before.
wk_status wk_stage_advance(wk_stage *stage, int steps, wk_error *err);

/// Draws the current state into a square picture made before.
wk_status wk_stage_draw(wk_stage *stage, wk_image *image, wk_error *err);

#endif
