// A synthetic batch (noise) for timing updates: their time does not depend on the data.
#ifndef WK_AGENT_SYNTHETIC_BATCH_H
#define WK_AGENT_SYNTHETIC_BATCH_H

#include "agent/learner.h"

typedef struct wk_synthetic_batch {
    wk_learner_batch batch; // of what follows
    uint8_t *images, *first;
    float *actions, *rewards, *vectors;
    wk_buffer *device_frames; // in device memory; NULL where not async
    const void **frames;      // where each is
} wk_synthetic_batch;

/// Deterministic for given sizes. After an error, wk_synthetic_batch_free releases what was
/// created.
wk_status wk_synthetic_batch_create(const wk_learner_config *config, wk_backend *backend,
                                    wk_synthetic_batch *out, wk_error *err);
/// Before the backend is destroyed; one of zeros is allowed.
void wk_synthetic_batch_free(wk_synthetic_batch *synthetic);

#endif
