// When the steps of a plan may run: in sequence, except those of branches, which may run earlier or
// later than their place in the list as far as dependencies allow.
#ifndef WK_TENSOR_WINDOW_H
#define WK_TENSOR_WINDOW_H

#include "tensor/plan.h"

/// Fills windows (one for every step): the steps of branch 0 that it may overlap. `spans` says
/// which steps run as one with it. False when memory ran out.
bool wk_plan_windows(const wk_plan *plan, const wk_group *spans, wk_group *windows);

#endif
