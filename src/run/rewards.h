// Rewards after the fact: tasks that are added to a run that has been trained.
//
// RUN/rewards/NAME.safetensors has one of them. Tensors: `episodes` U64 [N] their ids, rising,
// `rows` U64 [N] of each, `rewards` F32 of all rows in that order. Labels say which code made them,
// so that a changed one is noticed; `code` "recorded" that it is no plug-in, `numbers` "replay"
// that they are in the run's data instead.
//
// Relabelling makes such a file: it simulates the episodes in the run's replay once more, physics
// alone. An episode is a function of (θ, seed, its number, actions), so nothing but the reward is
// new; the stored rewards and completions of the domain's own tasks are compared bit for bit, and
// the first difference is an error. Nothing of the run is changed but that one file, at the end and
// at once: a process that is killed leaves the run as it was. The run's lock is held meanwhile.
//
// Opening a run adds these tasks to its domain. Their code is loaded only where environments are to
// be played in, and only from files that the caller names (run/code.h).
#ifndef WK_RUN_REWARDS_H
#define WK_RUN_REWARDS_H

#include "base/memory.h"
#include "env/plugins/relabelled.h"
#include "log/status_line.h"
#include "replay/replay.h"
#include "run/code.h"
#include "waker/relabel.h"

enum { WK_REWARD_NAME_MAX = 64 };
#define WK_REWARD_FOLDER "rewards"

/// Whether a file of this name can be one of the folder's.
bool wk_reward_file_named(const char *name);

/// What a file is labelled with.
typedef struct wk_reward_label {
    char name[WK_REWARD_NAME_MAX];
    char domain[WK_REWARD_NAME_MAX]; // whose episodes
    wk_code_file file;               // the code it was computed by,
    bool recorded;                   // which is no plug-in but a function of another program
    bool in_replay;                  // the run collected its data with it: the numbers are there,
                                     // after those of the domain's own tasks, and not in this file
} wk_reward_label;

/// Rewards of the episodes of a run. Zero-initialise.
typedef struct wk_reward_table {
    wk_reward_label label;
    size_t count;       // episodes
    uint64_t *episodes; // [count], rising
    uint64_t *rows;     // [count]
    uint64_t *starts;   // [count + 1], of their rows among `rewards`
    float *rewards;     // of all rows
} wk_reward_table;

/// Makes room for episodes whose `rows` are given; everything else is zero. Free it also after a
/// failure.
wk_status wk_reward_table_create(const uint64_t *rows, size_t count, wk_reward_table *out,
                                 wk_error *err);
/// Reads that of a task; WK_E_NOT_FOUND when the run has none of that name.
wk_status wk_reward_table_read(const char *run, const char *name, wk_reward_table *out,
                               wk_error *err);
/// Replaces that of label.name in the folder atomically.
wk_status wk_reward_table_write(const wk_reward_table *table, const wk_dir *folder, wk_error *err);
void wk_reward_table_free(wk_reward_table *table);

/// Rewards of an episode, [*rows], or NULL.
const float *wk_reward_table_find(const wk_reward_table *table, uint64_t episode, uint64_t *rows);

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
    wk_relabelled *extended; // the domain with them as tasks after its own; NULL where there are
                             // none
} wk_run_rewards;

/// Reads the labels of the run in `directory`. With `named` the files named there are loaded into
/// `code`, which must outlive the result.
wk_status wk_run_rewards_open(const char *directory, const wk_domain *domain,
                              const wk_named_plugins *named, const wk_log *log,
                              wk_run_plugins *code, wk_run_rewards *out, wk_error *err);
void wk_run_rewards_close(wk_run_rewards *rewards);

/// Whether the data of the run was collected with these rewards: then its replay has their numbers.
bool wk_run_rewards_in_replay(const wk_run_rewards *rewards);

/// Fails unless every episode of the run's `replay` has the reward, with all of its rows.
wk_status wk_run_reward_covers(const char *directory, const wk_reward_table *table,
                               const wk_replay *replay, wk_error *err);

/// As wk_relabel_run. `log` and `progress`, which counts episodes, may be NULL: silent.
wk_status wk_relabel(const wk_relabel_config *config, const wk_log *log, wk_progress_line *progress,
                     wk_relabel_result *out, wk_error *err);

#endif
