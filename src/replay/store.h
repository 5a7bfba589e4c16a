// Inside of the store, shared by the files of this folder: its data, the journal that records every
// change, and the calls that rebuild a store from such records.
#ifndef WK_REPLAY_STORE_H
#define WK_REPLAY_STORE_H

#include "base/memory.h"
#include "replay/codec.h"
#include "replay/replay.h"
#include "replay/ring.h"

typedef struct wk_stored_episode {
    wk_replay_episode info;
    double theta[WK_PARAMS_MAX];
    WK_ARRAY(size_t) blocks; // places in the ring, WK_BLOCK_ROWS rows each but the last
} wk_stored_episode;

/// Rows of a running episode that do not fill a block yet.
typedef struct wk_slot {
    wk_stored_episode *episode; // NULL: none runs
    wk_block_rows rows;
    size_t count;
} wk_slot;

/// A block packed before its last row is appended; its bytes and scratch memory follow.
typedef struct wk_prepacked {
    const wk_slot *slot; // NULL: none
    size_t count, size;  // rows, bytes
} wk_prepacked;

/// A change of the rows of an episode, as it is recorded.
typedef struct wk_rows_record {
    uint64_t episode;
    uint32_t first, count; // rows first ... first + count - 1
    bool ended;            // the episode ends with them; count may be 0 then
    bool open;             // not a block of the store yet: a later record repeats these rows
    const void *block;     // packed
    size_t size;
} wk_rows_record;

/// Called for every change before it is made; an error prevents it.
typedef struct wk_journal {
    void *context;
    wk_status (*begin)(void *context, const wk_replay_episode *episode, wk_error *err);
    wk_status (*rows)(void *context, const wk_rows_record *record, wk_error *err);
    wk_status (*evict)(void *context, uint64_t episode, wk_error *err);
} wk_journal;

/// One of the sequences of a batch.
typedef struct wk_pick {
    const wk_stored_episode *episode;
    uint32_t start;
} wk_pick;

struct wk_replay {
    wk_replay_config config;
    wk_row_shape shape;
    WK_ARRAY(wk_stored_episode *) episodes; // by id
    WK_ARRAY(wk_pick) picks;
    uint64_t next_id;
    wk_slot *slots;
    wk_ring ring;
    uint64_t block_budget, table_budget;         // bytes for blocks with their headers, and tables
    uint64_t fixed_bytes, block_bytes, n_blocks; // now
    unsigned char *region;                       // all fixed memory in one piece
    unsigned char *packed;                       // a block on its way into the ring
    unsigned char *pack_scratch;
    unsigned char *unpacked;  // frames of a block for each thread
    unsigned char *prepacked; // a wk_prepacked for each thread
    const wk_journal *journal;
    const wk_replay_watcher *watcher;
    wk_replay_stats stats; // counters only
};

/// The stored episode, or NULL.
wk_stored_episode *wk_replay_find(const wk_replay *replay, uint64_t id);

/// Whether the numbers of `count` rows are finite and their flags fit rows `first` ... of an
/// episode.
wk_status wk_replay_check_rows(const wk_replay *replay, const wk_block_view *rows, uint32_t first,
                               uint32_t count, wk_error *err);

/// Records the rows that are not in blocks yet, so that the records so far describe the whole
/// store.
wk_status wk_replay_record_open(wk_replay *replay, wk_error *err);

/// Rebuilding: the same changes from their records. Refuses what no store could have recorded.
wk_status wk_replay_restore_begin(wk_replay *replay, const wk_replay_episode *episode,
                                  wk_error *err);
wk_status wk_replay_restore_rows(wk_replay *replay, const wk_rows_record *record, wk_error *err);
void wk_replay_restore_evict(wk_replay *replay, uint64_t id);

/// Steps of appending: an episode begins in a slot without one; it ends without WK_IS_LAST (one
/// that has no rows is dropped).
wk_status wk_replay_begin(wk_replay *replay, int slot, const double *theta, int64_t theta_index,
                          wk_error *err);
wk_status wk_replay_end(wk_replay *replay, int slot, wk_error *err);

/// Whether a row is none: its slot's episode ends with the one before.
static inline bool wk_replay_is_end(const wk_replay_row *row)
{
    return !row->image && !row->vector;
}

/// Steps shared by appending and rebuilding.
wk_status wk_replay_add_episode(wk_replay *replay, const wk_replay_episode *episode, wk_error *err);
void wk_replay_drop_episode(wk_replay *replay, wk_stored_episode *episode);
wk_status wk_replay_reserve_block(wk_stored_episode *episode, wk_error *err);
void wk_replay_put_block(wk_replay *replay, wk_stored_episode *episode, const void *block,
                         size_t size, size_t count);
void wk_replay_finish_episode(wk_replay *replay, wk_stored_episode *episode);

/// Bytes that the tables of so many episodes and blocks take at most.
uint64_t wk_replay_table_bytes(uint64_t episodes, uint64_t blocks);

#endif
