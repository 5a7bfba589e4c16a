// Which episodes of a run had ended by some moment, such as that of a snapshot. Weights files carry
// it as a label, so that a policy adapted later is trained on no more than what had been collected
// when its world model was saved.
#ifndef WK_RUN_CHECKPOINT_DATA_CUTOFF_H
#define WK_RUN_CHECKPOINT_DATA_CUTOFF_H

#include "base/text.h"
#include "replay/replay.h"

enum { WK_DATA_CUTOFF_RUNNING_MAX = 1024 };

/// Episodes 0 ... begun - 1, without those that were still running.
typedef struct wk_data_cutoff {
    uint64_t begun;
    size_t n_running;
    uint64_t running[WK_DATA_CUTOFF_RUNNING_MAX]; // ascending
} wk_data_cutoff;

/// The cutoff of a store now; nothing may have been removed from it by wk_replay_remove.
wk_data_cutoff wk_data_cutoff_now(const wk_replay *replay);

/// As text, "40 less 37,38,39", and back.
void wk_data_cutoff_print(const wk_data_cutoff *cutoff, wk_text *out);
wk_status wk_data_cutoff_parse(const char *text, wk_data_cutoff *out, wk_error *err);

/// Removes episodes beyond the cutoff.
void wk_data_cutoff_apply(wk_replay *replay, const wk_data_cutoff *cutoff);

#endif
