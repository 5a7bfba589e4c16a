// A made-up run: steps of three environments whose episodes end at odd times, so that any moment
// has finished, running and just begun episodes, full and partial blocks, and evictions.
#ifndef WK_TESTS_REPLAY_SCRIPT_H
#define WK_TESTS_REPLAY_SCRIPT_H

#include "replay/log.h"

enum { SCRIPT_SLOTS = 3 };

/// A store for the script that holds `capacity` steps.
wk_replay *script_store(uint64_t capacity);
wk_replay *script_store_of(uint64_t capacity, wk_observation_spec observation);

/// Makes `steps` more steps, each one row, beginning or end in every slot; what is done depends on
/// the store's content only. Stops at the first failure.
wk_status script_run(wk_replay *replay, int steps, wk_error *err);

/// The same in one slot.
wk_status script_run_slot(wk_replay *replay, int slot, wk_error *err);

/// A number that stands for the whole content of a store and for a batch sampled from it.
uint32_t script_fingerprint(wk_replay *replay);

#endif
