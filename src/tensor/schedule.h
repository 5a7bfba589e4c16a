// Which steps of a plan run on which stream, inferred from dependencies and estimated costs
// (cost.h). Stream 0 has the critical path, in recorded order. What is not on it runs on the
// processors that it leaves idle:
//
//   recorded     a  b  x  y  c  d  w  e  f          e needs y; only the optimiser reads w
//
//   processors
//   of the       ┌──────┐         ┌────┐┌────────┐
//   device       │      │┌───────┐│    ││        │┌─────┐
//                │  a   ││   b   ││ c  ││   d    ││  e  │┌───┐   stream 0, the longest chain
//                │      ││       ││    ││        ││     ││ f │
//                └──────┘└───────┘└────┘└────────┘└─────┘└───┘
//                         ░░░x░░░░ ░░░y░░                        streams 1, 2: a chain
//                                                 ░░░░w░░░       stream 3: deferred, or urgent
//                ─────────────────────────────────────────▶ time
//
//   1. costs     how long a step takes, and how much of the device it leaves idle
//   2. chains    the critical path is a b c d e f; x y is a chain, w is deferred
//   3. places    x y leaves stream 0 if the time that b, c, d leave idle is enough for it, and its
//                memory fits below 1.15 times the peak; else it stays there
//   4. order     side streams' steps move to where they are expected to run
//
// Streams 1 and 2 have chains that stream 0 needs late or never. Stream 3 has those that it needs
// soon, and deferred weight gradients: those that only the optimiser or a store reads, and
// optimiser steps on weights that nothing reads again.
//
// Whatever touches the same memory keeps its order. A wrong estimate costs time, never correctness:
// which step waits for which of another stream is decided by what they access.
#ifndef WK_TENSOR_SCHEDULE_H
#define WK_TENSOR_SCHEDULE_H

#include "tensor/plan.h"

/// The stream of chains that stream 0 needs soon.
enum { WK_URGENT_STREAM = WK_STREAMS_MAX - 1 };

/// Chooses plan->streams and plan->finish_by for a device with this many processors, and reorders
/// the plan's steps; its groups and lazy nodes are known. False when memory ran out.
bool wk_plan_schedule(wk_plan *plan, int processors);

#endif
