// The store on disk: an append-only log of everything that changed it, in segment files
// replay-00000000.log, replay-00000001.log, ... of one directory.
//
// The log lies next to a run's checkpoints and serves exact resumption. A checkpoint keeps the mark
// that wk_replay_log_sync gives; opening with that mark rebuilds the store as it was and drops all
// that was written later. Records carry a checksum that runs on from record to record, so that
// damage, gaps and mixtures of runs are found. The file format is in docs/reliability.md.
#ifndef WK_REPLAY_LOG_H
#define WK_REPLAY_LOG_H

#include "base/file.h"
#include "replay/replay.h"

/// A place between two records; plain data of a checkpoint. All zero stands for an empty log.
typedef struct wk_replay_mark {
    uint64_t sequence;    // records before it since the run began
    uint64_t segment;     // number of the file
    uint64_t offset;      // bytes of it before the mark
    uint64_t rows;        // in the store then
    uint32_t running_crc; // the running checksum
} wk_replay_mark;

typedef struct wk_replay_log wk_replay_log;

/// Where the log lies and how large its files grow.
typedef struct wk_replay_log_config {
    const wk_dir *in;       // has `directory`, which must be no link then; NULL: it is any path
    const char *directory;  // made when it does not exist
    uint64_t segment_bytes; // a file that has this many is followed by the next; 0: 64 MiB
    bool keep_after_mark;   // what lies after the mark stays, as damaged-replay-*.log
    // Asked once the store is rebuilt and before anything is cut; an error leaves the log as it is.
    // NULL: nothing to ask.
    wk_status (*accept)(void *context, wk_error *err);
    void *context;
} wk_replay_log_config;

/// Rebuilds `replay`, which must be fresh, from the log up to `mark`, cuts the log there, and then
/// records every change of it. Without a mark (NULL) the log is taken up to its last complete
/// record: a torn tail, as a crash leaves it, is cut off. Damage before that place is WK_E_FORMAT
/// and nothing is cut; so is a log that does not fit the store. After a failure the store is only
/// good to be destroyed.
wk_status wk_replay_log_open(const wk_replay_log_config *config, const wk_replay_mark *mark,
                             wk_replay *replay, wk_replay_log **out, wk_error *err);

/// Ends recording; what was not synced may be lost. The store stays. NULL is allowed.
void wk_replay_log_close(wk_replay_log *log);

/// Makes everything so far durable, rows of running episodes included, and gives the mark to keep.
wk_status wk_replay_log_sync(wk_replay_log *log, wk_replay_mark *mark, wk_error *err);

/// Deletes files that no mark from `oldest` on needs. Call it once the checkpoint with a newer mark
/// is durable; `oldest` is the oldest mark that may still be opened.
wk_status wk_replay_log_prune(wk_replay_log *log, const wk_replay_mark *oldest, wk_error *err);

/// Rebuilds a fresh store like wk_replay_log_open and touches no file; for export and inspection.
wk_status wk_replay_log_read(const char *directory, const wk_replay_mark *mark, wk_replay *replay,
                             wk_error *err);

/// Verifies every byte of the log up to `mark` and that all the checkpoint needs is there, without
/// building a store.
wk_status wk_replay_log_verify(const char *directory, const wk_replay_mark *mark, wk_error *err);

#endif
