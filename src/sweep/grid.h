// A grid file: which runs a sweep has. YAML, read by the reader of configurations:
//
//   blocks:                  # axes whose values are blocks of settings, applied in this order
//     domain: [terrain-walker, clean-up]
//     curriculum: [waker-m, dr]
//     size: paper            # one value without brackets is the same in all runs
//   keys:                    # axes whose values are those of a key, set after the blocks
//     seed: 0..4
//     curriculum.temperature: [0.5, 1]
//   with:                    # settings of runs that have all of these values
//     clean-up waker-m: {steps: 2.5e6}
//   exclude: [terrain-walker dr, clean-up seed=3]
//   files: [my-blocks.yaml]  # with more blocks, beside the grid
//   then:                    # commands that follow a run, with their options
//     adapt: --task all
//     eval: ""
//   report: --by curriculum.temperature
//
// The file may come from anywhere: its size, the number of runs and all texts are bounded, and
// errors name file and line.
#ifndef WK_SWEEP_GRID_H
#define WK_SWEEP_GRID_H

#include "base/arena.h"
#include "base/array.h"
#include "base/text.h"
#include "config/blocks.h"

enum {
    WK_SWEEP_AXES_MAX = 64, // with those of one value
    WK_SWEEP_FILES_MAX = 8,
    WK_SWEEP_WORDS_MAX = 32,    // of a condition, or of the options of a command
    WK_SWEEP_RUNS_MAX = 100000, // before exclusions
    WK_SWEEP_SHAPES_MAX = 1000, // of a plan
};

/// One axis.
typedef struct wk_sweep_axis {
    const char *name; // "domain", "seed", "curriculum.temperature"
    int field;        // of the configuration; -1: the values are blocks
    bool named;       // its value is part of a run's name
    WK_ARRAY(const char *) values;
    int line;
} wk_sweep_axis;

/// Words of which a run must have all: a value of an axis of blocks, or KEY=VALUE.
typedef struct wk_sweep_condition {
    int axis[WK_SWEEP_WORDS_MAX], value[WK_SWEEP_WORDS_MAX], count;
    const char *text;
    int line;
} wk_sweep_condition;

/// A setting of runs that satisfy the condition.
typedef struct wk_sweep_preset {
    wk_sweep_condition when;
    int field;
    const char *value;
} wk_sweep_preset;

/// What follows a run, in this order.
typedef enum wk_sweep_follow_kind {
    WK_SWEEP_ADAPT,
    WK_SWEEP_EVAL,
    WK_SWEEP_MODEL_ERROR,
    WK_SWEEP_FOLLOWS,
} wk_sweep_follow_kind;
/// The names of their commands.
extern const char *const wk_sweep_follow_names[WK_SWEEP_FOLLOWS];

/// A command with the options that the grid gives it, which are words without blanks.
typedef struct wk_sweep_command {
    bool present;
    const char *options[WK_SWEEP_WORDS_MAX];
    int count;
    int line;
} wk_sweep_command;

/// A grid. All texts are in the arena. Free it with wk_sweep_grid_free.
typedef struct wk_sweep_grid {
    wk_arena arena;
    const char *name; // of the file, as messages give it
    wk_sweep_axis axes[WK_SWEEP_AXES_MAX];
    int n_axes; // those of blocks come first
    WK_ARRAY(wk_sweep_preset) presets;
    WK_ARRAY(wk_sweep_condition) excludes;
    const char *files[WK_SWEEP_FILES_MAX]; // paths
    int n_files;
    wk_sweep_command follow[WK_SWEEP_FOLLOWS];
    wk_sweep_command report;
} wk_sweep_grid;

/// Reads a grid: a file, or one of the program's own by its name ("paper-main").
wk_status wk_sweep_grid_open(const char *path, wk_sweep_grid *out, wk_error *err);
/// As wk_sweep_grid_open, from text; paths of `files` begin in the folder of `name`.
wk_status wk_sweep_grid_parse(const char *name, const char *bytes, size_t size, wk_sweep_grid *out,
                              wk_error *err);
void wk_sweep_grid_free(wk_sweep_grid *grid);

/// Adds values to an axis that the grid has: "seed=5..9", "curriculum=ge". Values that it has
/// already are refused.
wk_status wk_sweep_grid_add(wk_sweep_grid *grid, const char *text, wk_error *err);

/// Adds the values that the axes of another grid have and those of the same name here have not. One
/// of the two grids must have all values of the other: joined they would otherwise have runs that
/// neither has.
wk_status wk_sweep_grid_join(wk_sweep_grid *grid, const wk_sweep_grid *other, wk_error *err);

/// Appends the grid as YAML that reads back as the same.
void wk_sweep_grid_print(const wk_sweep_grid *grid, wk_text *out);

/// Number of combinations before exclusions.
uint64_t wk_sweep_grid_combinations(const wk_sweep_grid *grid);

/// The grids of the program: the i-th name, NULL after the last.
const char *wk_sweep_grid_embedded(size_t i);

#endif
