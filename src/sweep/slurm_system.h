// The system that a sweep on Slurm has outside of simulations: programs found by PATH, and the
// folder DIRECTORY/sweep/slurm.
#ifndef WK_SWEEP_SLURM_SYSTEM_H
#define WK_SWEEP_SLURM_SYSTEM_H

#include "sweep/slurm.h"

/// Zero-initialise; close it also after a failed open. `system` points into it.
typedef struct wk_slurm_folder {
    wk_dir *dir;
    char directory[WK_PATH_MAX], program[WK_PATH_MAX];
    const wk_sweep_plan *plan;
    wk_slurm_system system;
} wk_slurm_folder;

/// Opens the folder, made where there is none. WK_E_INPUT for a path that a batch script cannot
/// name.
wk_status wk_slurm_folder_open(const char *directory, const wk_sweep_plan *plan, const wk_log *log,
                               wk_slurm_folder *out, wk_error *err);
/// As wk_slurm_folder_open, but makes nothing: `out->dir` is NULL where nothing was submitted.
wk_status wk_slurm_folder_open_existing(const char *directory, const wk_sweep_plan *plan,
                                        const wk_log *log, wk_slurm_folder *out, wk_error *err);
void wk_slurm_folder_close(wk_slurm_folder *folder);

#endif
