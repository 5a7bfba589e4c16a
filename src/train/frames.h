// Where the learner's batches come from: sequences of a replay store, in the learner's layout, with
// their frames in pinned host memory or already on the device.
//
// wk_device_frames mirrors the frames of the store in device memory, so that a batch is a gather
// there and only its numbers are copied from the host. The store on the host is authoritative: the
// mirror follows it row by row and episode by episode, and is rebuilt from it when a run is
// resumed. Memory is allocated in slabs as rows arrive. When the device has none left the mirror
// gives up, reported by wk_device_frames_fault; batches from the host have the same bytes.
#ifndef WK_TRAIN_FRAMES_H
#define WK_TRAIN_FRAMES_H

#include "agent/learner.h"
#include "base/memory.h"
#include "config/config.h"
#include "replay/replay.h"
#include "run/rewards.h"
#include "tensor/backend.h"

typedef struct wk_device_frames wk_device_frames;

/// Bytes of device memory that the frames of a full store take.
uint64_t wk_device_frames_plan(const wk_replay_config *config);

/// Copies the store's frames into memory of `backend`, and from then on each row that is added. All
/// are borrowed; all copies are enqueued in `transfers`, and readers must use that queue.
wk_status wk_device_frames_create(wk_replay *replay, wk_backend *backend, wk_queue *transfers,
                                  wk_device_frames **out, wk_error *err);
/// Waits for the copies. NULL is allowed.
void wk_device_frames_destroy(wk_device_frames *store);

/// NULL, or why rows are missing: the device's memory is exhausted. It must not be used then.
const wk_error *wk_device_frames_fault(const wk_device_frames *store);

/// Device addresses of the frames of B sequences of T rows, time-major: frames [T,B]. `episodes`
/// and `starts` [B] are those of wk_replay_batch.
void wk_device_frames_locate(const wk_device_frames *store, const uint64_t *episodes,
                             const uint32_t *starts, int B, int T, const void **frames);

/// Bytes of device memory in use.
uint64_t wk_device_frames_bytes(const wk_device_frames *store);

/// Memory for one batch. Zero-initialise; free it also after a failed create.
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
