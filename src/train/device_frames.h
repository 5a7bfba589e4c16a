// The frames of a replay store in device memory, so that a batch is a gather there and only its
// numbers are copied from the host.
//
// The store on the host is authoritative: this mirrors it, row by row and episode by episode, and
// is rebuilt from it when a run is resumed. Memory is allocated in slabs as rows arrive. When the
// device has none left it gives up, reported by wk_device_frames_fault; batches from the host have
// the same bytes.
#ifndef WK_TRAIN_DEVICE_FRAMES_H
#define WK_TRAIN_DEVICE_FRAMES_H

#include "replay/replay.h"
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

#endif
