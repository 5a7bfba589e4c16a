// A damaged log made usable again: every episode whose records are all undamaged is written once
// more, into new segments after the old ones. The old segments are only read; the caller renames
// them once a checkpoint has the new mark.
#ifndef WK_REPLAY_SALVAGE_H
#define WK_REPLAY_SALVAGE_H

#include "replay/codec.h"
#include "replay/log.h"

/// What a slot held at the checkpoint.
typedef struct wk_salvage_slot {
    bool running;
    uint64_t episode, rows;
} wk_salvage_slot;

typedef struct wk_salvage_config {
    wk_row_shape shape;
    uint64_t capacity;      // steps that the store may hold
    wk_replay_mark mark;    // of the checkpoint
    uint64_t next_episode;  // the id that the next begun episode gets
    wk_salvage_slot *slots; // [n_slots]; running is cleared where the episode was lost
    int n_slots;
    uint64_t segment_bytes; // as in wk_replay_log_config
    // Segments read, then episodes written: called with 0 done first, then after each. NULL: none.
    void (*progress)(void *context, const char *unit, uint64_t done, uint64_t total);
    void *context;
} wk_salvage_config;

typedef struct wk_salvaged {
    wk_replay_mark mark;      // of the new log
    uint64_t first, old_last; // the new log's first segment; the last one that was there before
    uint64_t kept, lost;      // episodes
    uint64_t stopped;         // of the lost ones, those that were running
} wk_salvaged;

/// Writes the new segments durably into `dir`. A file that cannot be read now (WK_E_IO) stops it;
/// damage does not.
wk_status wk_replay_log_salvage(const wk_dir *dir, wk_salvage_config *config, wk_salvaged *out,
                                wk_error *err);

#endif
