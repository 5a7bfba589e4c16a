// How well the world model predicts an episode that has just ended, for curricula that need it: a
// window of a batch's length, at a random place, as the replay has stored it.
#ifndef WK_TRAIN_EPISODE_ERROR_H
#define WK_TRAIN_EPISODE_ERROR_H

#include "agent/prediction.h"
#include "replay/replay.h"

/// Zero-initialise; free it also after a failed create.
typedef struct wk_episode_error {
    wk_prediction *prediction;
    int length; // rows of the window
    uint8_t *images, *first;
    float *vectors, *actions, *error;
} wk_episode_error;

/// The learner is borrowed.
wk_status wk_episode_error_create(wk_learner *learner, wk_episode_error *out, wk_error *err);
void wk_episode_error_free(wk_episode_error *e);

/// Mean squared error of the predicted next images, or vectors where there are no images, in the
/// store's episode `id`; NaN where it is shorter than a window or not in the store. Reads the
/// weights as they are: no update may be in flight.
wk_status wk_episode_error_measure(wk_episode_error *e, wk_replay *replay, uint64_t seed,
                                   uint64_t id, double *out, wk_error *err);

#endif
