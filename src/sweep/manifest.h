// The manifest of a sweep, DIRECTORY/sweep/manifest.jsonl, for people, schedulers and scripts: a
// line of JSON for each task, in the order of the plan.
//
//   {"task": 0, "name": "waker-m-seed0", "shape": "clean-up", "command": "waker sweep run ...",
//    "directory": "runs/paper/waker-m-seed0", "state": "waiting"}
//
// The states are those of the moment it was written; 'waker sweep status' reads them anew.
#ifndef WK_SWEEP_MANIFEST_H
#define WK_SWEEP_MANIFEST_H

#include "sweep/state.h"

#define WK_SWEEP_MANIFEST "manifest.jsonl"

/// Appends the lines.
void wk_sweep_manifest_print(const wk_sweep_plan *plan, const char *directory,
                             const wk_sweep_state *states, wk_text *out);

/// Replaces DIRECTORY/sweep/manifest.jsonl.
wk_status wk_sweep_manifest_write(const wk_sweep_plan *plan, const char *directory,
                                  const wk_sweep_state *states, wk_error *err);

#endif
