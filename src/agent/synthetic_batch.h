// A batch of noise, to measure updates with: their time does not depend on what they see.
#ifndef WK_AGENT_SYNTHETIC_BATCH_H
#define WK_AGENT_SYNTHETIC_BATCH_H

#include "agent/learner.h"

typedef struct wk_noise {
    wk_learner_batch batch; // of what follows
    uint8_t *images, *first;
    float *actions, *rewards;
    wk_buffer
        *pictures; // on a device that works beside the host, as the replay's in a run; or NULL
    const void **frames; // where each is
} wk_noise;

/// The same for the same sizes. What was made before an error is let go by wk_noise_free.
wk_status wk_noise_make(const wk_learner_config *config, wk_backend *backend, wk_noise *out,
                        wk_error *err);
/// Before the backend is destroyed; one of zeros is allowed.
void wk_noise_free(wk_noise *noise);

#endif
