// RUN/rewards/NAME.safetensors: a task that was added to a run after the fact (run/relabel.h), one
// file for each. Tensors: `episodes` U64 [N] their ids, rising, `rows` U64 [N] of each, `rewards`
// F32 of all rows in that order. Labels say which code made them, so that a changed one is noticed;
// `code` "recorded" that it is no plug-in, `numbers` "replay" that they are in the run's data
// instead.
#ifndef WK_RUN_SETUP_REWARD_FILE_H
#define WK_RUN_SETUP_REWARD_FILE_H

#include "base/array.h"
#include "base/code_file.h"
#include "base/dir.h"
#include "waker/env.h"

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

typedef WK_ARRAY(wk_reward_label) wk_reward_labels;

/// Rewards of the episodes of a run. Zero-initialise.
typedef struct wk_reward_table {
    wk_reward_label label;
    size_t count;       // episodes
    uint64_t *episodes; // [count], rising
    uint64_t *rows;     // [count]
    uint64_t *starts;   // [count + 1], of their rows among `rewards`
    float *rewards;     // of all rows
} wk_reward_table;

/// Adds the labels of all rewards of a run, by name; a run without any is fine.
wk_status wk_reward_labels_read(const char *run, wk_reward_labels *out, wk_error *err);

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

#endif
