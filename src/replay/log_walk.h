// A log read without a store: which segments belong together, and whether their bytes are whole.
#ifndef WK_REPLAY_LOG_WALK_H
#define WK_REPLAY_LOG_WALK_H

#include "replay/log.h"

/// The first segment to read for `mark`. Files before it are left over from an older copy of the
/// directory: they lie before a gap, or do not lead to the segment after them, and the mark does
/// not need them. Where the log is damaged `*first` stays as it is.
wk_status wk_log_first(const wk_dir *dir, const wk_replay_mark *mark, uint64_t *first,
                       wk_error *err);

#endif
