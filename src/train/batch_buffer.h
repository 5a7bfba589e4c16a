// Memory for one batch of sequences from a replay store, in the learner's layout. Frames are in
// pinned host memory, or already on the device.
#ifndef WK_TRAIN_BATCH_BUFFER_H
#define WK_TRAIN_BATCH_BUFFER_H

#include "agent/learner.h"
#include "base/arena.h"
#include "config/config.h"
#include "replay/replay.h"
#include "run/rewards.h"
#include "train/device_frames.h"

/// Zero-initialise; free it also after a failed create.
typedef struct wk_batch_buffer {
    int batch, length;
    size_t n_tasks; // of the domain: rewards in a row as drawn
    // Of tasks that the replay does not have, which come after its own; NULL where the learner has
    // no such task. Borrowed.
    const wk_reward_table *added[WK_TASKS_MAX];
    uint8_t *images, *first;
    uint8_t *ends; // rows at which an episode ended for good
    float *actions, *rewards, *vectors;
    int64_t *theta_indices; // [batch], of θ in the space
    double *theta;          // [batch, n_params]
    uint64_t *episodes;     // [batch]
    uint32_t *starts;       // [batch]
    const void **frames;    // [length,batch] on the device
    bool on_device;         // the last batch has its frames there
    wk_backend *backend;
    wk_arena arena; // of all but the images
} wk_batch_buffer;

/// The learner's backend is borrowed.
wk_status wk_batch_buffer_create(const wk_run_config *config, const wk_domain *domain,
                                 wk_backend *backend, wk_batch_buffer *out, wk_error *err);
void wk_batch_buffer_free(wk_batch_buffer *buffer);

/// Fills it with batch `counter` of the random stream of `seed`. With `device_frames` (may be
/// NULL), frames are located on the device instead of copied.
wk_status wk_batch_buffer_draw(wk_batch_buffer *buffer, wk_replay *replay,
                               const wk_device_frames *device_frames, uint64_t seed,
                               uint64_t counter, wk_error *err);

/// Keeps only the rewards of the learner's tasks, a subset of the domain's: `tasks` by number, of
/// the last batch.
void wk_batch_buffer_choose_tasks(wk_batch_buffer *buffer, const int *tasks, int count);

/// The batch as the learner takes it.
wk_learner_batch wk_batch_buffer_view(const wk_batch_buffer *buffer);

#endif
