// The world of a run: the domain its configuration names, built in or from a plug-in, with the
// domain's options.
#ifndef WK_RUN_WORLD_H
#define WK_RUN_WORLD_H

#include "run/plugins.h"

/// Plain data; what it points to belongs to the code or the record it was opened with.
typedef struct wk_run_world {
    const wk_domain *domain;
    const wk_described *described; // where only a description is known; else NULL
    int options[WK_OPTIONS_MAX];
} wk_run_world;

/// Finds the domain: built in, that of the plug-in, or, for reading a saved run, the description in
/// its `record`. Both may be NULL, and nothing is ever loaded here.
wk_status wk_run_world_open(const wk_run_config *config, const wk_run_plugins *code,
                            const wk_plugin_record *record, wk_run_world *out, wk_error *err);

/// The θ of its default distribution.
wk_status wk_run_world_space(const wk_run_world *world, wk_space **out, wk_error *err);

#endif
