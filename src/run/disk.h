// Runs as directories: what is in them by name, where one may begin, which there are below a
// directory and how far they are, the lock of the process that writes, and the list of a
// population.
#ifndef WK_RUN_DISK_H
#define WK_RUN_DISK_H

#include "base/file.h"
#include "base/log.h"
#include "config/axes.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/// Agent steps that name files and directories, "step-000000500000.safetensors"; free it with
/// wk_array_free.
typedef WK_ARRAY(uint64_t) wk_steps;

enum { WK_STEP_NAME_MAX = 320 };

/// How users read a number of steps: "500000 agent steps (1000000 control steps)"; those of the
/// simulator are left out where an action is one of them.
enum { WK_STEPS_TEXT_MAX = 96 };
void wk_steps_text(uint64_t steps, int action_repeat, char out[WK_STEPS_TEXT_MAX]);

/// BEFORE step-%012 AFTER.
void wk_step_name(const char *before, uint64_t step, const char *after, char out[WK_STEP_NAME_MAX]);

/// Adds the steps of all names in a directory that are exactly such ones, ascending: "step-7" and
/// "step-000000000007.bak" are not.
wk_status wk_steps_list(const wk_dir *dir, const char *before, const char *after, wk_steps *out,
                        wk_error *err);

/// Whether a run may begin in a directory that has none: WK_E_INPUT, with what to do instead, where
/// it is a file, the root of the file system, holds a sweep, a population or directories of runs,
/// or lies within a run. What cannot be looked at is no reason to refuse.
wk_status wk_run_place_check(const char *directory, wk_error *err);

/// Fails with `status`, for a directory that was to hold a run: says what it holds instead, and
/// names one of its runs.
wk_status wk_run_missing(const char *directory, wk_status status, wk_error *err);

/// Whether a path leads to anything, and to a directory. What cannot be looked at is an error: a
/// run that is left out in silence would be a wrong conclusion.
wk_status wk_path_stat(const char *path, bool *there, bool *directory, wk_error *err);

/// Adds the paths of the run that `path` is and of all below it, sorted within each directory: also
/// of those that were begun within another run's directory. Hidden directories are left out. Free
/// the list also after a failure.
wk_status wk_run_list(const char *path, wk_names *out, wk_error *err);

/// Deletes temporary files that killed processes have left: in the directory of a run, adaptation
/// or fine-tuning itself, and among its checkpoints, snapshots and rewards. Call it with the
/// directory's lock held: no other process writes there then. Only names that a save makes are
/// touched.
wk_status wk_leftovers_remove(const wk_dir *run, wk_error *err);

typedef enum wk_run_phase {
    WK_RUN_PHASE_STOPPED, // begun, and no process trains there
    WK_RUN_PHASE_RUNNING,
    WK_RUN_PHASE_DONE,
} wk_run_phase;

/// A moment of a run: how far it was, and when, in seconds since 1970 by the file system's clock.
typedef struct wk_run_moment {
    uint64_t steps;
    double time; // 0: not known
} wk_run_moment;

/// How far a run is, by its directory alone. Little is read, so that a thousand runs, also on a
/// file system of several machines, can be looked at often.
typedef struct wk_run_progress {
    wk_run_phase phase;
    uint64_t total, prefill; // agent steps
    int train_every;
    wk_run_moment now; // the last line of the log, or the newest checkpoint
    // The newest checkpoint and the one before it. If an earlier process wrote the newest, its time
    // is when this process resumed.
    wk_run_moment saved, older;
    double model_loss, mean_error; // of the last lines; NaN: not in them
} wk_run_progress;

/// Reads it. A run whose configuration cannot be read is an error.
wk_status wk_run_progress_read(const char *directory, wk_run_progress *out, wk_error *err);

/// As wk_run_progress_read, of an open directory, for callers that know its configuration: `out`
/// has total and prefill.
wk_status wk_run_progress_read_in(const wk_dir *run, wk_run_progress *out, wk_error *err);

/// Agent steps a second between two moments; NaN where that is not known, or the first of them lies
/// in the prefill, which is faster than learning.
double wk_run_rate(const wk_run_progress *progress, const wk_run_moment *before,
                   const wk_run_moment *after);
/// As wk_run_rate, by the files alone: the log since the newest checkpoint, or the two newest
/// checkpoints.
double wk_run_rate_by_files(const wk_run_progress *progress);
/// Seconds left at that rate; NaN where nothing is left.
double wk_run_seconds_left(const wk_run_progress *progress, double rate);

/// The lock of a run directory: one process at a time writes there. The operating system releases
/// it when the process ends, however that happens. All zero while nothing is held.
typedef struct wk_lock {
    const wk_dir *dir; // borrowed
    int fd;
} wk_lock;

/// Takes DIR/lock; WK_E_INPUT when another process has it. The file's time of modification is then
/// when it was taken.
wk_status wk_lock_take(const wk_dir *dir, wk_lock *lock, wk_error *err);
/// As wk_lock_take, after waiting up to `seconds` for a process that holds it: one that was asked
/// to stop is still saving, and a file system of several machines frees the lock of a dead one
/// late. WK_E_STOPPED as soon as *stop (NULL: never) is set while it waits. The log (NULL: silent)
/// says that it waits.
wk_status wk_lock_take_within(const wk_dir *dir, double seconds, const volatile sig_atomic_t *stop,
                              const wk_log *log, wk_lock *lock, wk_error *err);
enum { WK_LOCK_WAIT_SECONDS = 10 }; // unless the caller asks for another time
/// Whether a process holds DIR/lock now. For a moment this process appears to hold it.
wk_status wk_lock_held(const wk_dir *dir, bool *held, wk_error *err);
/// Whether process `pid` of this machine has DIR/lock open, as every holder of the lock has. Check
/// it before a signal is sent to a pid that was read from a file.
bool wk_lock_is_open_in(const wk_dir *dir, long pid);
/// Whether the file that is locked is still DIR/lock. Check it before every save.
wk_status wk_lock_check(const wk_lock *lock, wk_error *err);
/// One that holds nothing is fine.
void wk_lock_release(wk_lock *lock);

/// Locks a folder while files are added to it by names that nothing has yet, after those who have
/// it locked; and unlocks it. A file system without locks of directories leaves it to chance.
void wk_folder_lock(const wk_dir *folder, bool lock);

#define WK_POPULATION_FILE "population.yaml"

/// A population: a directory with one ordinary run in each of its sub-directories, and the file
/// that lists them in order, so that the directory alone says what to go on with. The file is data
/// of others: names in it lead nowhere but into the directory itself. Zero-initialise.
typedef struct wk_population {
    char names[WK_POPULATION_MAX][WK_EACH_NAME_MAX];
    int count;
} wk_population;

/// Whether the directory has a population.yaml.
wk_status wk_population_exists(const char *directory, bool *exists, wk_error *err);

/// Reads the names from the directory's population.yaml.
wk_status wk_population_read(const char *directory, wk_population *out, wk_error *err);

/// Adds the names to those that are in the directory already (runs that were never begun are
/// dropped) and writes the file; makes the directory where there is none.
wk_status wk_population_record(const char *directory, const wk_population *added, wk_error *err);

/// Takes back what wk_population_record did for runs that could not be begun: their names, and with
/// the last of them the file and, where it `is_new` and empty, the directory.
void wk_population_retract(const char *directory, bool is_new);

/// The path of a run, and whether it has been begun. A symbolic link there is refused: it would
/// lead to a run of others.
wk_status wk_population_path(const char *directory, const char *name, char path[WK_PATH_MAX],
                             bool *begun, wk_error *err);

#endif
