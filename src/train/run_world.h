// The world of a run: the domain its configuration names, built in or from a plug-in, with the
// domain's options.
#ifndef WK_TRAIN_RUN_WORLD_H
#define WK_TRAIN_RUN_WORLD_H

#include "train/config.h"
#include "waker/env.h"

/// Zero-initialise; close it after every environment made from it.
typedef struct wk_run_world {
    const wk_domain *domain;
    wk_plugin *plugin; // NULL for a built-in domain
    int options[WK_OPTIONS_MAX];
} wk_run_world;

wk_status wk_run_world_open(const wk_run_config *config, wk_run_world *out, wk_error *err);
/// A zeroed one is fine.
void wk_run_world_close(wk_run_world *world);

#endif
