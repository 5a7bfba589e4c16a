// The rewards that were added to a run after the fact (run/setup/reward_file.h), as tasks of its
// domain. Their names come from the files; their code is loaded only where environments are to be
// played in, and only from files that the caller names (run/setup/plugins.h).
#ifndef WK_RUN_SETUP_REWARDS_H
#define WK_RUN_SETUP_REWARDS_H

#include "env/plugins/relabelled.h"
#include "replay/replay.h"
#include "run/setup/plugins.h"
#include "run/setup/reward_file.h"

typedef struct wk_run_reward {
    wk_reward_label label;
    const wk_reward *code; // NULL: not loaded,
    wk_error missing;      // and why
    bool changed;          // it is other code than what the numbers were computed by
} wk_run_reward;

/// Zero-initialise.
typedef struct wk_run_rewards {
    wk_run_reward *items; // by name
    int count;
    wk_relabelled *extended; // NULL where there are none
} wk_run_rewards;

/// Reads the labels of the run in `directory`. With `named` the files named there are loaded into
/// `code`, which must outlive the result.
wk_status wk_run_rewards_open(const char *directory, const wk_domain *domain,
                              const wk_named_plugins *named, const wk_log *log,
                              wk_run_plugins *code, wk_run_rewards *out, wk_error *err);
void wk_run_rewards_close(wk_run_rewards *rewards);

/// `domain` with the rewards as tasks after its own, in their order; itself where there are none.
const wk_domain *wk_run_rewards_domain(const wk_run_rewards *rewards, const wk_domain *domain);

/// Whether the data of the run was collected with these rewards: then its replay has their numbers.
bool wk_run_rewards_in_replay(const wk_run_rewards *rewards);

/// Fails unless every episode of the run's `replay` has the reward, with all of its rows.
wk_status wk_run_reward_covers(const char *directory, const wk_reward_table *table,
                               const wk_replay *replay, wk_error *err);

#endif
