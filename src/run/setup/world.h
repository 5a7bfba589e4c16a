// The world of a run, as its configuration names it: the domain, built in or from a plug-in, with
// its options; the environments to choose from, which are the domain's default distribution or the
// list of θ in curriculum.theta; and the curriculum that chooses. Nothing is ever loaded here.
#ifndef WK_RUN_SETUP_WORLD_H
#define WK_RUN_SETUP_WORLD_H

#include "run/setup/plugins.h"

/// Plain data; what it points to belongs to the code or the record it was opened with.
typedef struct wk_run_world {
    const wk_domain *domain;
    const wk_description *description; // where only a description is known; else NULL
    int options[WK_OPTIONS_MAX];
} wk_run_world;

/// Finds the domain: built in, that of the plug-in, or, for reading a saved run, the description in
/// its `record`. Both may be NULL.
wk_status wk_run_world_open(const wk_run_config *config, const wk_run_plugins *code,
                            const wk_plugin_record *record, wk_run_world *out, wk_error *err);

enum { WK_RUN_THETAS_MAX = WK_RUN_TEXT_MAX / 2 };

/// The θ of curriculum.theta as a case to evaluate in; its count is 0 where the key is empty.
typedef struct wk_run_thetas {
    wk_case train_case;
    double params[WK_RUN_THETAS_MAX * WK_PARAMS_MAX]; // [count, n_params]
} wk_run_thetas;

/// Reads the key; errors name it. `out` points into itself: do not copy it.
wk_status wk_run_config_thetas(const wk_run_config *config, const wk_domain *domain,
                               wk_run_thetas *out, wk_error *err);

/// The case, or NULL where the run has the default distribution; `thetas` may be NULL.
const wk_case *wk_run_thetas_case(const wk_run_thetas *thetas);

/// The θ that the run's curriculum chooses from.
wk_status wk_run_space_create(const wk_run_config *config, const wk_run_world *world,
                              wk_space **out, wk_error *err);

/// The curriculum over the θ of `space` (borrowed, like the domain), with the rule of `code` or,
/// for reading a saved run, the one described in its `record`. Both may be NULL.
wk_status wk_run_curriculum_create(const wk_run_config *config, const wk_run_plugins *code,
                                   const wk_plugin_record *record, const wk_domain *domain,
                                   const wk_space *space, wk_curriculum **out, wk_error *err);

#endif
