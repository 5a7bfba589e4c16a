// What the steps of a plan are expected to cost on a device of many processors, and what they must
// wait for. Estimates, from ops and shapes alone: they decide what overlaps what, never what is
// computed.
#ifndef WK_TENSOR_COST_H
#define WK_TENSOR_COST_H

#include "tensor/plan.h"

/// What one step costs.
typedef struct wk_cost {
    double latency; // microseconds during which the device is idle: launch, first loads, tail
    double work;    // microseconds during which the step uses `share` of the processors
    double share;   // in (0, 1]
} wk_cost;

/// Fills costs, one for every step, for a device with this many processors. Steps of a group run as
/// one kernel that fills the device; lazy steps, and concatenations produced in place, cost
/// nothing.
void wk_plan_costs(const wk_plan *plan, int processors, wk_cost *costs);

/// The arithmetic of a plan's matrix products and convolutions: a multiplication and an addition
/// count as two.
double wk_plan_flops(const wk_plan *plan);

static inline double wk_cost_time(wk_cost cost)
{
    return cost.latency + cost.work;
}

/// Microseconds that are left for others while a step runs.
static inline double wk_cost_idle(wk_cost cost)
{
    return cost.latency + cost.work * (1 - cost.share);
}

/// Steps that each step of a plan must come after: it touches what they touched, and one of both
/// writes. Those of step i are steps[begin[i]] ... steps[begin[i + 1] - 1], recorded before it.
typedef struct wk_dependencies {
    int *begin; // node_count + 1
    WK_ARRAY(int) steps;
} wk_dependencies;

/// False when memory ran out. Persistent tensors that share memory count as one.
bool wk_dependencies_find(const wk_plan *plan, wk_dependencies *out);
void wk_dependencies_free(wk_dependencies *dependencies);

#endif
