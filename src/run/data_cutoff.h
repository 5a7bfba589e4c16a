// How far the data of a run reaches: the episodes that had ended by a moment, such as that of a
// snapshot. Files of weights carry it as a label, so that later a policy is made from no more than
// what had been collected when its world model was.
#ifndef WK_RUN_DATA_CUTOFF_H
#define WK_RUN_DATA_CUTOFF_H

#include "base/text.h"
#include "config/config.h"
#include "replay/replay.h"

enum { WK_DATA_CUTOFF_RUNNING_MAX = 1024 };

/// Episodes 0 ... begun - 1, without those that were still running.
typedef struct wk_data_cutoff {
    uint64_t begun;
    size_t n_running;
    uint64_t running[WK_DATA_CUTOFF_RUNNING_MAX]; // rising
} wk_data_cutoff;

/// The extent of a store now; one from which nothing was removed by hand.
wk_data_cutoff wk_data_cutoff_now(const wk_replay *replay);

/// As text, "40 less 37,38,39", and back.
void wk_data_cutoff_print(const wk_data_cutoff *cutoff, wk_text *out);
wk_status wk_data_cutoff_parse(const char *text, wk_data_cutoff *out, wk_error *err);

/// Rebuilds the store of the run in `directory` at its newest checkpoint. Reads only, so it may be
/// done beside a process that trains there. `config` and `domain` are the run's; `pool` is borrowed
/// for sampling.
wk_status wk_run_data_open(const char *directory, const wk_run_config *config,
                           const wk_domain *domain, wk_pool *pool, wk_replay **out, wk_error *err);

/// Leaves only what is within the extent.
void wk_run_data_limit(wk_replay *replay, const wk_data_cutoff *cutoff);

#endif
