// Episodes as NumPy archives in the way of dreamerv2, for its tools and for anybody's scripts:
// one file per episode, <YYYYmmddTHHMMSS>-<uuid4 hex>-<steps>.npz, every array with steps + 1 rows:
//
//   image uint8 [n,64,64,3] and vector float32 [n,V] of the domains that have them, action float32
//   [n,A], reward float32 [n,K] of every task, task_completion float32 [n,K], env_params float32
//   [n,P], is_first, is_last, is_terminal bool [n], log_diverged bool [n] (names with log_ are not
//   sampled there)
//
// Row 0 is the observation of the reset with a zero action.
#ifndef WK_REPLAY_NPZ_H
#define WK_REPLAY_NPZ_H

#include "replay/replay.h"

enum { WK_NPZ_NAME_MAX = 96 };

/// The file name of episode number i. The uuid is drawn from (seed, id of the episode), so that
/// exporting again gives the same name; `unix_time` is written in UTC.
void wk_npz_name(const wk_replay *replay, size_t i, uint64_t seed, int64_t unix_time,
                 char name[WK_NPZ_NAME_MAX]);

/// Writes episode number i to `path`, atomically. The same episode gives the same bytes.
wk_status wk_npz_write(wk_replay *replay, size_t i, const char *path, wk_error *err);

#endif
