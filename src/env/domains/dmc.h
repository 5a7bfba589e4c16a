// The walker and the hopper of the DeepMind Control Suite as the suite has them: its floor, camera,
// rewards and timing, for answers that are known. There is one environment of each, so θ has one
// value.
#ifndef WK_ENV_DOMAINS_DMC_H
#define WK_ENV_DOMAINS_DMC_H

#include "waker/env.h"

extern const wk_domain wk_dmc_walker;
extern const wk_domain wk_dmc_hopper;

#endif
