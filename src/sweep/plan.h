// The plan of a sweep: a task for each run of a grid. A task is one run directory, trained and then
// followed by the commands of the grid; its name says its values and stays the same when values are
// added to the grid. Tasks of one shape cost the same and can be trained as one population.
#ifndef WK_SWEEP_PLAN_H
#define WK_SWEEP_PLAN_H

#include "config/each.h"
#include "sweep/grid.h"

/// One run and what follows it. Plain data.
typedef struct wk_sweep_task {
    const char *name;              // of its directory below the sweep's: [A-Za-z0-9._+-] alone
    int values[WK_SWEEP_AXES_MAX]; // which of each axis
    int shape;                     // index into the plan's shapes
    uint64_t steps, updates;       // agent steps and updates of the whole run
    bool evaluates;                // the run ends with an evaluation of its own
    uint64_t hash;                 // of the configuration, wk_run_config_hash
    bool left_out;                 // by wk_sweep_plan_select
} wk_sweep_task;

/// What runs of equal cost have in common.
typedef struct wk_sweep_shape {
    char name[64];        // for files and messages: "clean-up", "clean-up-2"
    wk_run_config config; // of its first task
    int first, count;     // its first task, and how many are selected
    uint64_t key;         // made of the settings that shape networks, environments and length
} wk_sweep_shape;

/// All tasks, in the order of the grid: the last axis changes fastest. Borrows the grid.
typedef struct wk_sweep_plan {
    const wk_sweep_grid *grid;
    wk_config_blocks *blocks; // those of the program and of the grid's files
    wk_arena arena;
    WK_ARRAY(wk_sweep_task) tasks;
    size_t selected; // of the tasks: those that a launcher starts
    WK_ARRAY(wk_sweep_shape) shapes;
    const char *plugin, *rule; // files of code that the command line names; a grid cannot
} wk_sweep_plan;

/// Makes the plan and checks every run's configuration. Nothing is written and no plug-in is
/// loaded. Errors name the grid and the run.
wk_status wk_sweep_plan_create(const wk_sweep_grid *grid, wk_sweep_plan *out, wk_error *err);
void wk_sweep_plan_free(wk_sweep_plan *plan);

/// Leaves out the tasks that have, on an axis that `only` names, none of the values it names there.
/// Each text is AXIS=VALUE,AXIS=VALUE|VALUE. Tasks that are left out stay in the plan: a launcher
/// starts the others. The error says which axes or values there are.
wk_status wk_sweep_plan_select(wk_sweep_plan *plan, const char *const *only, int count,
                               wk_error *err);

/// The index of the task called `name`; -1 if there is none.
int wk_sweep_plan_find(const wk_sweep_plan *plan, const char *name);

/// Whether every task of `part` is in `whole` with the same settings; the error names the first
/// that is not.
wk_status wk_sweep_plan_contains(const wk_sweep_plan *whole, const wk_sweep_plan *part,
                                 wk_error *err);

/// Appends a line for each key that has another value in `now` for tasks that both plans have.
/// Where wk_sweep_plan_contains succeeded these are keys that a run may change.
wk_status wk_sweep_plan_changes(const wk_sweep_plan *before, const wk_sweep_plan *now, wk_text *out,
                                wk_error *err);

/// The configuration of a task, as `waker train` with its arguments has it. Keys come from the
/// grid: a plug-in that it names is not named by the caller.
wk_status wk_sweep_task_config(const wk_sweep_plan *plan, int task, wk_merged_config *out,
                               wk_error *err);

enum { WK_SWEEP_TASK_KEYS_MAX = 128 };

/// The blocks of a task in order, and its settings: presets, then the axes of keys. Borrowed from
/// the plan.
typedef struct wk_sweep_settings {
    const char *blocks[WK_SWEEP_AXES_MAX];
    wk_setting keys[WK_SWEEP_TASK_KEYS_MAX];
    int n_blocks, n_keys;
} wk_sweep_settings;
wk_sweep_settings wk_sweep_task_settings(const wk_sweep_plan *plan, int task);

/// The path of a task's run: DIRECTORY/NAME.
wk_status wk_sweep_task_path(const wk_sweep_plan *plan, const char *directory, int task,
                             char out[WK_PATH_MAX], wk_error *err);

/// Words of a command line. The words are in the arena.
typedef struct wk_sweep_words {
    wk_arena arena;
    WK_ARRAY(const char *) items;
    bool failed; // memory ran out
} wk_sweep_words;
void wk_sweep_words_add(wk_sweep_words *words, const char *word);
void wk_sweep_words_free(wk_sweep_words *words);
/// As one line for a shell, with PROGRAM before them unless NULL.
void wk_sweep_words_print(const wk_sweep_words *words, const char *program, wk_text *out);

/// Adds the words after `waker` of: train --logdir DIRECTORY/NAME --configs ... --KEY=VALUE ...
void wk_sweep_train_words(const wk_sweep_plan *plan, const char *directory, int task,
                          wk_sweep_words *out);
/// As wk_sweep_train_words, of a command that follows the training: adapt DIRECTORY/NAME OPTIONS...
void wk_sweep_follow_words(const wk_sweep_plan *plan, const char *directory, int task,
                           wk_sweep_follow_kind follow, wk_sweep_words *out);
/// As wk_sweep_train_words, of all of it, which launchers start: sweep run DIRECTORY NAME...
/// (several are trained as a population).
void wk_sweep_task_words(const wk_sweep_plan *plan, const char *directory, const int *tasks,
                         int count, wk_sweep_words *out);
/// As wk_sweep_train_words, of the report over all tasks: report DIRECTORY --out DIRECTORY/report
/// OPTIONS...
void wk_sweep_report_words(const wk_sweep_plan *plan, const char *directory, wk_sweep_words *out);

#endif
