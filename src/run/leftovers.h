// Temporary files that killed processes have left in the directory of a run.
#ifndef WK_RUN_LEFTOVERS_H
#define WK_RUN_LEFTOVERS_H

#include "base/dir.h"

/// Deletes them in the directory itself, among its checkpoints and snapshots. For adaptations and
/// fine-tunings too. Call it with the directory's lock held: no other process writes there then.
/// Only names that a save makes are touched.
wk_status wk_leftovers_remove(const wk_dir *run, wk_error *err);

#endif
