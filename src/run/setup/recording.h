// Records the states that a reward function of the caller (wk_recorded_reward) reads: a wk_reward
// that is always 0 and copies the states into the recording of the thread that plays the episode.
#ifndef WK_RUN_SETUP_RECORDING_H
#define WK_RUN_SETUP_RECORDING_H

#include "waker/relabel.h"
#include "waker/reward.h"

/// Zero-initialise.
typedef struct wk_recording {
    const wk_recorded_reward *reward;
    size_t capacity, count; // control steps
    uint32_t agent_step;    // that is being played: set by whoever plays
    uint32_t *step;         // [count]
    double *states[WK_RECORDED_READS_MAX];
    int widths[WK_RECORDED_READS_MAX];
    bool uneven; // a read changed its width, or was no longer there
} wk_recording;

/// The reward that records, under the name of `reward`.
wk_status wk_recording_reward(const wk_recorded_reward *reward, wk_reward *out, wk_error *err);

/// What the calling thread plays next is recorded here: an episode of up to `capacity` control
/// steps. NULL: nothing is.
wk_status wk_recording_begin(wk_recording *recording, const wk_recorded_reward *reward,
                             size_t capacity, wk_error *err);
/// What it has played.
wk_status wk_recording_end(const wk_recording *recording, wk_error *err);
void wk_recording_free(wk_recording *recording);

#endif
