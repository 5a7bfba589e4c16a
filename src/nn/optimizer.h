// Adam on one parameter set: gradient of a loss, clipping by the set's global norm, decay, step. A
// member whose gradient is not finite skips the step, which is counted and leaves its weights and
// moments as they were.
#ifndef WK_NN_OPTIMIZER_H
#define WK_NN_OPTIMIZER_H

#include "nn/params.h"

/// Settings of one optimizer.
typedef struct wk_optimizer_config {
    float rate;          // learning rate
    wk_adam_config adam; // usually wk_adam_config_default()
} wk_optimizer_config;

typedef struct wk_optimizer wk_optimizer;

/// An optimizer of `params` (borrowed).
wk_status wk_optimizer_create(wk_params *params, const wk_optimizer_config *config,
                              wk_optimizer **out, wk_error *err);
/// NULL is allowed; programs that use it must be gone.
void wk_optimizer_destroy(wk_optimizer *optimizer);

/// Records the update of all weights that `scope` uses (a scope of the same set) to reduce `loss`
/// [1], in one graph only. A nonzero `skip` (u64 [1], may be absent) skips the step. Gives the
/// gradient's global norm before clipping: [1], or [S]. The loss of a stack is the sum over its
/// members.
wk_tensor wk_optimizer_record(wk_optimizer *optimizer, wk_scope *scope, wk_tensor loss,
                              wk_tensor skip);
/// As wk_optimizer_record, in two graphs: the first exports gradients and norm to a handoff buffer
/// of the optimiser, the second imports them, may read the weights, and makes the step. Its scope
/// uses all weights of the set. Both return the norm, each in its graph.
wk_tensor wk_optimizer_export_gradients(wk_optimizer *optimizer, wk_scope *scope, wk_tensor loss);
wk_tensor wk_optimizer_import_gradients(wk_optimizer *optimizer, wk_scope *scope);
void wk_optimizer_step(wk_optimizer *optimizer, wk_tensor skip);

/// Places moments and counters in memory, at zero, and binds them; after wk_scope_bind of the
/// scopes it was recorded with, before a program is made.
wk_status wk_optimizer_bind(wk_optimizer *optimizer, wk_backend *backend, wk_error *err);

/// What a member's optimizer has done so far.
typedef struct wk_optimizer_counts {
    uint64_t steps, skipped;
} wk_optimizer_counts;
/// Reads the counts of member `member` (0 without a stack) from the device.
wk_status wk_optimizer_get_counts(const wk_optimizer *optimizer, int member,
                                  wk_optimizer_counts *counts, wk_error *err);

/// Where the state lies, for nn/state.h: moments have the layout of the set, first m, then v, then
/// the counts u64 [S,2]. The handoff buffer follows and is not part of the state.
const wk_params *wk_optimizer_params(const wk_optimizer *optimizer);
wk_buffer *wk_optimizer_buffer(const wk_optimizer *optimizer);
size_t wk_optimizer_m_offset(const wk_optimizer *optimizer, size_t index);
size_t wk_optimizer_v_offset(const wk_optimizer *optimizer, size_t index);
size_t wk_optimizer_counts_offset(const wk_optimizer *optimizer);
size_t wk_optimizer_handoff_offset(const wk_optimizer *optimizer);

#endif
