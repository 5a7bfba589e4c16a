// A batch of noise, to measure updates with: their time does not depend on what they see.
#ifndef WK_AGENT_SYNTHETIC_BATCH_H
#define WK_AGENT_SYNTHETIC_BATCH_H

#include "agent/learner.h"

typedef struct wk_synthetic_batch {
    wk_learner_batch batch; // of what follows
    uint8_t *images, *first;
    float *actions, *rewards;
    wk_buffer
        *device_frames; // on a device that works beside the host, as the replay's in a run; or NULL
    const void **frames; // where each is
} wk_synthetic_batch;

/// The same for the same sizes. What was made before an error is let go by wk_synthetic_batch_free.
wk_status wk_synthetic_batch_create(const wk_learner_config *config, wk_backend *backend,
                                    wk_synthetic_batch *out, wk_error *err);
/// Before the backend is destroyed; one of zeros is allowed.
void wk_synthetic_batch_free(wk_synthetic_batch *synthetic);

#endif
