// When the steps of a plan may run: one after another, except those of branches, which may come
// earlier or later than their place in the list as far as the others do not need them.
#ifndef WK_TENSOR_WINDOW_H
#define WK_TENSOR_WINDOW_H

#include "tensor/plan.h"

/// Fills windows (one for every step): the steps of branch 0 beside which it may run. `spans` says
/// which steps run as one with it. False when memory ran out.
bool wk_plan_windows(const wk_plan *plan, const wk_group *spans, wk_group *windows);

#endif
