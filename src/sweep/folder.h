// The directory of a sweep: its runs, and in DIRECTORY/sweep what the sweep keeps for itself.
//
//   sweep/grid.yaml       the grid, values added later included
//   sweep/manifest.jsonl  the tasks (manifest.h)
//   sweep/lock            held while a launcher works here: one sweep at a time
//   sweep/tasks/NAME/     of each task (state.h)
//   sweep/report.log      what 'waker report' printed
//   report/               the report, and report/sweep.done once it was made of all tasks
#ifndef WK_SWEEP_FOLDER_H
#define WK_SWEEP_FOLDER_H

#include "run/disk.h"
#include "sweep/plan.h"

#define WK_SWEEP_FOLDER "sweep"

/// A sweep's directory, held by this process. Zero-initialise; close it also after a failure.
typedef struct wk_sweep_folder {
    wk_dir *dir; // DIRECTORY/sweep
    wk_lock lock;
} wk_sweep_folder;

/// Makes DIRECTORY/sweep where there is none and takes its lock; WK_E_INPUT when another sweep has
/// it, with its process id and host.
wk_status wk_sweep_folder_open(const char *directory, wk_sweep_folder *out, wk_error *err);
void wk_sweep_folder_close(wk_sweep_folder *folder);

/// Whether DIRECTORY/sweep is still what was opened, with the lock that is held. Ask before
/// anything is started there: tasks are found by path, and a sweep that was deleted or moved would
/// begin anew.
wk_status wk_sweep_folder_check(const wk_sweep_folder *folder, wk_error *err);

/// Whether a sweep was planned there, and its grid.
wk_status wk_sweep_folder_exists(const char *directory, bool *exists, wk_error *err);
wk_status wk_sweep_folder_grid(const char *directory, wk_sweep_grid *out, wk_error *err);
wk_status wk_sweep_folder_write(const wk_sweep_folder *folder, const wk_sweep_grid *grid,
                                wk_error *err);

/// Who holds the sweep's lock now, as a file there says. pid 0: nobody.
typedef struct wk_sweep_holder {
    long pid;
    char host[256];
    bool certain; // a process of this machine with that number has the lock open
} wk_sweep_holder;
wk_status wk_sweep_folder_holder(const char *directory, wk_sweep_holder *out, wk_error *err);

#endif
