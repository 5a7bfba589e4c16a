// Finds an unrolled recurrence in a plan. The model observes a sequence by some fifteen small nodes
// a step, forward and backward; run one by one they are short launches that leave the GPU
// mostly idle. Where the nodes of a plan are exactly these, in order, the backend runs all steps in
// one kernel instead (observe.cuh); where they are not, only time is lost.
#ifndef WK_TENSOR_CUDA_PASSES_RECURRENCE_H
#define WK_TENSOR_CUDA_PASSES_RECURRENCE_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/plan.h"

/// The tensors of a recurrence: what every step shares, what a step forward reads and makes, and
/// what a step backward adds.
typedef enum wk_role {
    // Shared by all steps.
    WK_ROLE_IN_W,    // [F,H], F = variables * classes
    WK_ROLE_IN_B,    // [H]
    WK_ROLE_GRU_X,   // [H,3D]
    WK_ROLE_GRU_H,   // [D,3D]
    WK_ROLE_GATE_B,  // [3D]
    WK_ROLE_GAIN,    // [3D]
    WK_ROLE_OFFSET,  // [3D]
    WK_ROLE_POST_W,  // [D,H]
    WK_ROLE_POST_B,  // [H]
    WK_ROLE_OUT_W,   // [H,F]
    WK_ROLE_OUT_B,   // [F]
    WK_ROLE_COUNTER, // u64 [1]
    WK_ROLES_SHARED,
    // Of a step: read.
    WK_ROLE_STOCH_BEFORE = WK_ROLES_SHARED,
    WK_ROLE_DETER_BEFORE,
    WK_ROLE_KEEP, // [B], 0 where an episode begins, else 1: the factor on the state before
    WK_ROLE_ACTION,
    WK_ROLE_IMAGE,
    // Made and kept.
    WK_ROLE_KEPT_STOCH, // the state before times KEEP
    WK_ROLE_KEPT_DETER,
    WK_ROLE_X,
    WK_ROLE_GATES,
    WK_ROLE_DETER,
    WK_ROLE_STATS,
    WK_ROLE_POST_X,
    WK_ROLE_LOGITS,
    WK_ROLE_STOCH,
    WK_ROLE_PROBS,
    // Backward: read.
    WK_ROLE_DSTOCH, // of the step's sample: complete in the first backward step, else made by the
                    // backward step before
    WK_ROLE_DLOGITS_MORE,
    WK_ROLE_DDETER_MORE,
    WK_ROLE_DDETER_CARRIED,
    WK_ROLE_DSTOCH_MORE, // of the sample before
    // Made and kept.
    WK_ROLE_DLOGITS,
    WK_ROLE_DPOST,
    WK_ROLE_DGATES,
    WK_ROLE_DX,
    WK_ROLE_DGATE_B,
    WK_ROLE_DGAIN,
    WK_ROLE_DOFFSET,
    WK_ROLES_KEPT,
    // Not visible outside.
    WK_ROLE_INNER = WK_ROLES_KEPT,
    WK_ROLES = WK_ROLE_INNER + 8,
} wk_role;

/// One step: for each role a tensor id, or 0.
typedef struct wk_recurrence_step {
    int tensor[WK_ROLES];
    int node_of[WK_ROLES]; // which of the recurrence's nodes makes it
} wk_recurrence_step;

enum { WK_RECURRENCE_STEPS_MAX = 128, WK_RECURRENCE_ROWS_MAX = 16 };

/// A recurrence that was found: the nodes of all its steps, and nothing else, are neighbours in the
/// plan, before and after the schedule moves them (wk_group.what).
typedef struct wk_recurrence {
    bool backward;
    int nodes;      // steps of the plan
    int count;      // steps of the recurrence, in the order in which they run
    bool truncated; // forward: it goes on after these, node by node
    int rows, hidden, deter, variables, classes;
    float epsilon;
    wk_recurrence_step step[WK_RECURRENCE_STEPS_MAX + 1]; // the last is for looking further
} wk_recurrence;

/// Looks for a recurrence that begins at a step of the plan. `last_use` holds for every root the
/// last step that reads it, node_count for outputs.
bool wk_recurrence_find(const wk_plan *plan, const int *last_use, int begin, wk_recurrence *out);

/// Whether the kernels of observe.cuh cannot run a recurrence on a device; the reason, for users,
/// is written to `why`.
bool wk_recurrence_why_not(const wk_recurrence *r, const wk_cuda_limits *limits, char *why,
                           size_t size);

/// Fills last_use (one int for every tensor).
void wk_recurrence_last_use(const wk_plan *plan, int *last_use);

#endif
