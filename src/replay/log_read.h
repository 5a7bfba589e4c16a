// Rebuilding a store from a log, which wk_replay_log_open and wk_replay_log_read share.
#ifndef WK_REPLAY_LOG_READ_H
#define WK_REPLAY_LOG_READ_H

#include "base/memory.h"
#include "replay/log.h"
#include "replay/store.h"

/// An episode whose beginning is in the log.
typedef struct wk_log_episode {
    uint64_t id;
    uint64_t segment; // where it begins
    uint64_t evicted; // sequence number of its eviction; UINT64_MAX while it is stored
} wk_log_episode;

/// What is known of a log's content.
typedef struct wk_log_index {
    WK_ARRAY(wk_log_episode) episodes; // by id
    uint64_t lowest;                   // segment number
    wk_replay_mark end;
} wk_log_index;

wk_status wk_log_index_begin(wk_log_index *index, uint64_t id, uint64_t segment, wk_error *err);
void wk_log_index_evict(wk_log_index *index, uint64_t id, uint64_t sequence);

/// Rebuilds `replay` from the log up to `mark` (NULL: to its last complete record). The index must
/// be zero before and freed by the caller, also on failure.
wk_status wk_log_restore(const wk_dir *dir, const wk_replay_mark *mark, wk_replay *replay,
                         wk_log_index *index, wk_error *err);

#endif
