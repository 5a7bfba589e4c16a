// The pictures of a replay store in device memory, so that a batch is a gather there and only its
// numbers travel.
//
// The store on the host stays what is true: this follows it, row by row and episode by episode, and
// is built again from it when a run is resumed. Memory is taken in slabs as rows arrive. When the
// device has none left it gives up, which the owner sees by wk_device_frames_fault; batches from
// the host have the same bytes.
#ifndef WK_TRAIN_DEVICE_FRAMES_H
#define WK_TRAIN_DEVICE_FRAMES_H

#include "replay/replay.h"
#include "tensor/queue.h"

typedef struct wk_device_frames wk_device_frames;

/// Bytes of device memory that the pictures of a full store take.
uint64_t wk_device_frames_plan(const wk_replay_config *config);

/// Brings what the store holds to the device of `transfers`, and from then on each row that is
/// added. Both are borrowed; all copies are put into `transfers`, and whoever reads pictures does
/// so there.
wk_status wk_device_frames_create(wk_replay *replay, wk_queue *transfers, wk_device_frames **out,
                                  wk_error *err);
/// Waits for the copies. NULL is allowed.
void wk_device_frames_destroy(wk_device_frames *store);

/// NULL, or why rows are missing: the device's memory is exhausted. It is of no use then.
const wk_error *wk_device_frames_fault(const wk_device_frames *store);

/// Where the pictures of B sequences of T rows are on the device, time-major: frames [T,B].
/// `episodes` and `starts` [B] are those of wk_replay_batch.
void wk_device_frames_locate(const wk_device_frames *store, const uint64_t *episodes,
                             const uint32_t *starts, int B, int T, const void **frames);

/// Bytes of device memory taken now.
uint64_t wk_device_frames_bytes(const wk_device_frames *store);

#endif
