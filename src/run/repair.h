// Repairing a run whose replay log is damaged: every undamaged episode is kept, the newest
// checkpoint gets a mark in the new log, and the run is recorded as no longer exact. Nothing is
// deleted: what is replaced stays under a name that begins with "damaged-".
//
// RUN/repairs.jsonl has one line for each repair. A run with that file continues, but not to the
// bytes of a run that was never damaged.
#ifndef WK_RUN_REPAIR_H
#define WK_RUN_REPAIR_H

#include "base/dir.h"
#include "log/status_line.h"
#include <stdbool.h>
#include <stdint.h>

#define WK_REPAIRS_FILE "repairs.jsonl"

/// What a repair did.
typedef struct wk_run_repair {
    uint64_t step;       // of the checkpoint
    bool sound;          // it can be continued exactly; nothing was done
    uint64_t kept, lost; // episodes
    uint64_t rows_lost;
    uint64_t stopped; // environments whose running episode was lost; they begin a new one
} wk_run_repair;

/// Repairs the newest checkpoint whose own files are undamaged, unless one can be continued as it
/// is. Takes the run's lock. A failure leaves the run as it was. `progress` may be NULL.
wk_status wk_run_repair_log(const char *directory, wk_progress_line *progress, wk_run_repair *out,
                            wk_error *err);

/// Adds a line to the repairs of the run, durably.
wk_status wk_run_repairs_add(const wk_dir *dir, const wk_run_repair *repair, wk_error *err);

/// The repairs a run has had.
typedef struct wk_run_repairs {
    uint64_t count;
    uint64_t step, lost; // of the last one
} wk_run_repairs;
wk_status wk_run_repairs_read(const char *directory, wk_run_repairs *out, wk_error *err);

enum { WK_REPAIRS_TEXT_MAX = 200 };
/// One sentence for the user; "" for a run that was never repaired.
wk_status wk_run_repairs_text(const char *directory, char out[WK_REPAIRS_TEXT_MAX], wk_error *err);

#endif
