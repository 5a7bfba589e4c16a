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

/// Steps that a member has made and skipped so far.
typedef struct wk_optimizer_counts {
    uint64_t steps, skipped;
} wk_optimizer_counts;

/// An optimizer. Others only read its set and its memory, where the moments have the layout of the
/// set: first m, then v, then the counts of each member. The handoff follows and is not part of
/// the state.
typedef struct wk_optimizer {
    wk_params *params;
    wk_buffer *buffer; // NULL before wk_optimizer_bind
    wk_optimizer_config config;
    wk_graph *g; // the one graph that makes the step, or NULL
    wk_scope *scope;
    WK_ARRAY(wk_tensor) moments; // m and v of each weight of the scope, alternating
    WK_ARRAY(wk_tensor) gradients;
    wk_tensor norm, counts;
    const wk_scope *source;       // of the graph that exports the gradients, if that is another
    WK_ARRAY(wk_tensor) exported; // parallel to its weights: where they are exported to
    wk_tensor exported_norm;
    bool failed; // memory ran out while recording
} wk_optimizer;

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

/// Reads the counts of member `member` (0 without a stack) from the device.
wk_status wk_optimizer_get_counts(const wk_optimizer *optimizer, int member,
                                  wk_optimizer_counts *counts, wk_error *err);

/// Members of the set's stack; 1 without one.
static inline int wk_optimizer_members(const wk_optimizer *optimizer)
{
    return optimizer->params->stack > 0 ? optimizer->params->stack : 1;
}
/// Where the counts begin in the buffer, in bytes.
static inline size_t wk_optimizer_counts_offset(const wk_optimizer *optimizer)
{
    return 2 * optimizer->params->buffer->size;
}
/// Where the handoff begins: gradients in the layout of the set, then the norm.
size_t wk_optimizer_handoff_offset(const wk_optimizer *optimizer);

#endif
