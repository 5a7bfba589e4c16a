// The built-in domains. What each is stands at the top of its file.
#ifndef WK_ENV_DOMAINS_DOMAINS_H
#define WK_ENV_DOMAINS_DOMAINS_H

#include "waker/env.h"

extern const wk_domain wk_terrain_walker, wk_terrain_hopper;
/// The walker with gravity, friction, motor strength and limb length in θ too: six parameters.
extern const wk_domain wk_terrain_body;
extern const wk_domain wk_clean_up, wk_car_clean_up;
extern const wk_domain wk_combined;
extern const wk_domain wk_dmc_walker, wk_dmc_hopper;
extern const wk_domain wk_toy;

/// The domain that a task of wk_combined comes from, and the value of θ's first number for its
/// environments.
const wk_domain *wk_combined_part(int task, double *domain);

#endif
