// Which steps of a plan run on which stream, inferred from dependencies and estimated costs
// (cost.h). The longest chain of dependent steps stays on stream 0, in recorded order. What is not
// on it and has something to hide behind, steps of stream 0 that leave processors idle, goes to
// other streams:
//
//   stream 0      critical path                  ──a──b──c──d──e──f──g──
//   streams 1, 2  chains that stream 0 needs late, or never  ╰─x──y──╯
//   stream 3      chains that it needs soon, and deferred weight gradients: those that only the
//                 optimiser or a store reads, and optimiser steps on weights that nothing reads
//                 again
//
// Steps of side streams move in the list to where they are expected to run; whatever touches the
// same memory keeps its order. A wrong estimate costs time, never correctness: which step waits for
// which of another stream is decided by what they access.
#ifndef WK_TENSOR_SCHEDULE_H
#define WK_TENSOR_SCHEDULE_H

#include "tensor/plan.h"

/// The stream of chains that stream 0 needs soon.
enum { WK_URGENT_STREAM = WK_BRANCHES - 1 };

/// Chooses plan->branches and plan->meets for a device with this many processors, and reorders the
/// plan's steps; its groups and lazy nodes are known. False when memory ran out.
bool wk_plan_schedule(wk_plan *plan, int processors);

#endif
