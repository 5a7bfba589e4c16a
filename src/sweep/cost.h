// What a sweep takes, before it begins: updates, hours, disk and memory, from the time and memory
// of one update of each shape.
#ifndef WK_SWEEP_COST_H
#define WK_SWEEP_COST_H

#include "sweep/queue.h"

/// Of one update of a shape's learner.
typedef struct wk_sweep_rate {
    double seconds;         // NaN: not known
    uint64_t learner_bytes; // weights, optimiser and temporaries; 0: not known
    uint64_t weights_bytes; // weights and optimiser alone
} wk_sweep_rate;

/// What is left to do of a shape, or of all.
typedef struct wk_sweep_cost {
    int runs, left;          // in all; not trained yet
    uint64_t steps, updates; // left
    double hours;            // of a device that trains one run; NaN: not known
    double disk;             // bytes of all runs once they are done
    double memory;           // bytes of a process that trains one
} wk_sweep_cost;

/// Of the i-th shape.
wk_sweep_cost wk_sweep_cost_of(const wk_sweep_plan *plan, const wk_sweep_entry *entries, int shape,
                               const wk_sweep_rate *rate);
/// Adds one to a sum; of memory the sum has the largest.
void wk_sweep_cost_add(wk_sweep_cost *sum, const wk_sweep_cost *cost);

/// Whether two shapes have the same learner but for the numbers in an action, and so the same rate.
bool wk_sweep_same_rate(const wk_run_config *a, const wk_run_config *b);

#endif
