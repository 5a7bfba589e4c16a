// A world to render: one environment moved by uniformly random actions; and a contact sheet: the
// worlds of a domain side by side, labelled with their parameters.
#ifndef WK_REPORT_SHEET_H
#define WK_REPORT_SHEET_H

#include "base/random.h"
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

/// Random agent steps that put every robot on its ground: hoppers begin in the air.
enum { WK_SHEET_STEPS = 20 };

/// Draws the sheet: rows over the first parameter and columns over the second of the training grid
/// (over the total number where the remaining parameters are counts alike), then one row per
/// out-of-distribution case. Each cell is `cell` pixels wide and shows the state after `steps`
/// random actions. `cells` gets the number of worlds drawn.
wk_status wk_contact_sheet_draw(const wk_domain *domain, const int *options, uint64_t seed,
                                int steps, int cell, wk_image *out, int *cells, wk_error *err);

#endif
