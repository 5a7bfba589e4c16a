// The environments that a run chooses from: its domain's default distribution, or the list of θ
// that curriculum.theta names.
#ifndef WK_RUN_SPACE_H
#define WK_RUN_SPACE_H

#include "run/world.h"

enum { WK_RUN_THETAS_MAX = WK_RUN_TEXT_MAX / 2 };

/// The θ of curriculum.theta as a set to evaluate in; its count is 0 where the key is empty.
typedef struct wk_run_thetas {
    wk_case set;
    double params[WK_RUN_THETAS_MAX * WK_PARAMS_MAX]; // [count, n_params]
} wk_run_thetas;

/// Reads the key; errors name it. `out` points into itself: do not copy it.
wk_status wk_run_config_thetas(const wk_run_config *config, const wk_domain *domain,
                               wk_run_thetas *out, wk_error *err);

/// The set, or NULL where the run has the default distribution; `thetas` may be NULL.
const wk_case *wk_run_thetas_case(const wk_run_thetas *thetas);

/// The space of the run's curriculum.
wk_status wk_run_space_create(const wk_run_config *config, const wk_run_world *world,
                              wk_space **out, wk_error *err);

#endif
