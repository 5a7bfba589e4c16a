// Names and small files of DIRECTORY/sweep/slurm.
#ifndef WK_SWEEP_SLURM_STORE_H
#define WK_SWEEP_SLURM_STORE_H

#include "sweep/slurm.h"

#define WK_SLURM_CANCELLED "cancelled"
enum { WK_SLURM_NAME_MAX = 512, WK_SLURM_ID_MAX = 32 };

/// Reads a file; `there` is false and `out` empty where there is none.
wk_status wk_slurm_read(const wk_slurm_system *system, const char *name, bool *there, wk_text *out,
                        wk_error *err);

/// The id of the sweep's jobs; "" where nothing was submitted yet.
wk_status wk_slurm_id(const wk_slurm_system *system, char out[WK_SLURM_ID_MAX], wk_error *err);
/// As wk_slurm_id, made where there is none.
wk_status wk_slurm_id_make(const wk_slurm_system *system, char out[WK_SLURM_ID_MAX], wk_error *err);

/// The number of the newest submission; 0: none.
wk_status wk_slurm_newest(const wk_slurm_system *system, int *out, wk_error *err);

/// The plan's task of array task `index` of a submission; -1 where the file, the line or the task
/// is not there. Reads the file once for neighbouring calls: keep `cache` zeroed at first, and free
/// its text.
typedef struct wk_slurm_cache {
    int submission;
    wk_text text;
} wk_slurm_cache;
wk_status wk_slurm_task_of(const wk_slurm_system *system, wk_slurm_cache *cache, int submission,
                           int index, int *task, wk_error *err);

/// The options of the sweep's jobs as lines: kept, and read back. Texts of options that were read
/// point into `text`.
void wk_slurm_options_print(const wk_slurm_options *options, wk_text *out);
wk_status wk_slurm_options_parse(wk_text *text, wk_slurm_options *out, wk_error *err);

/// Runs a program of Slurm that has to succeed; the error has its output.
wk_status wk_slurm_call(const wk_slurm_system *system, const char *const *words, wk_text *output,
                        wk_error *err);

/// Nodes that are excluded, with commas between; appended to `out`. None, while they would be more
/// than half of those that the sweep has seen.
wk_status wk_slurm_excluded(const wk_slurm_system *system, wk_text *out, wk_error *err);
/// Forgets the failures of a node.
wk_status wk_slurm_clear_failures(const wk_slurm_system *system, const char *node, wk_error *err);
/// Whether `node` is among them.
bool wk_slurm_is_excluded(const char *list, const char *node);

#endif
