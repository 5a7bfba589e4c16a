// A run as it lies on disk, opened for looking: its configuration, its domain, and the curriculum
// of its newest checkpoint. Nothing is written, and no learner is built.
#ifndef WK_CLI_SAVED_RUN_H
#define WK_CLI_SAVED_RUN_H

#include "cli/run_config.h"
#include "train/checkpoint.h"
#include "train/run_curriculum.h"

/// Zero-initialise; close it also after a failed open.
typedef struct wk_saved_run {
    const char *directory;
    wk_run_config config;
    wk_run_world world;
    wk_space *space;
    wk_run_curriculum curriculum;
    wk_checkpoint_summary at; // the newest checkpoint
} wk_saved_run;

wk_status wk_saved_run_open(const char *directory, wk_saved_run *out, wk_error *err);
void wk_saved_run_close(wk_saved_run *run);

#endif
