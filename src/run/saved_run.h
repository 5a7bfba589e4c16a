// A saved run opened read-only: its configuration, its domain, and the curriculum of its newest
// checkpoint. Nothing is written, no learner is built, and no code is loaded: the run keeps a
// description of its plug-ins.
#ifndef WK_RUN_SAVED_RUN_H
#define WK_RUN_SAVED_RUN_H

#include "run/checkpoint.h"
#include "run/world.h"

/// Zero-initialise; close it also after a failed call.
typedef struct wk_saved_run {
    const char *directory;
    wk_run_config config;
    wk_plugin_record record;
    wk_run_world world;
    uint64_t step;            // of the newest checkpoint
    wk_checkpoint_summary at; // its summary
    wk_space *space;
    wk_curriculum *curriculum; // NULL until wk_saved_run_curriculum
} wk_saved_run;

/// Reads everything but the curriculum. WK_E_NOT_FOUND when the run has no checkpoint.
wk_status wk_saved_run_open(const char *directory, wk_saved_run *out, wk_error *err);
/// Reads the curriculum of the newest checkpoint.
wk_status wk_saved_run_curriculum(wk_saved_run *run, wk_error *err);
void wk_saved_run_close(wk_saved_run *run);

#endif
