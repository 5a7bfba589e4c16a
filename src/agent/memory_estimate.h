// An estimate of a learner's device memory, made after its graphs are planned and before anything
// large is allocated, so that a learner that is too large is refused with the full amount.
#ifndef WK_AGENT_MEMORY_ESTIMATE_H
#define WK_AGENT_MEMORY_ESTIMATE_H

#include "agent/learner_parts.h"

/// Bytes. Scratch memory of single kernels is known only after compilation and not included.
typedef struct wk_memory_estimate {
    size_t state;   // weights and optimiser
    size_t planned; // temporaries, inputs, batches, handoff buffers
    size_t copies;  // bf16 copies of weights
    size_t working; // workspace of matrix products
} wk_memory_estimate;

/// Bytes of temporaries: shared by the programs that run in sequence (the largest counts), of the
/// task program where it overlaps the update, and of the world model's program where it is
/// prefetched.
typedef struct wk_temporaries {
    size_t shared, tasks, prefetch;
} wk_temporaries;
wk_temporaries wk_learner_temporaries(const wk_learner *learner);
size_t wk_temporaries_total(wk_temporaries temporaries);
/// Bytes of inputs, constants and the like of all its programs.
size_t wk_learner_input_bytes(const wk_learner *learner);

/// The estimate for a learner whose programs are planned.
wk_memory_estimate wk_learner_estimate_memory(const wk_learner *learner);
size_t wk_memory_estimate_total(wk_memory_estimate estimate);
/// Whether the device has enough free memory for what is not allocated yet; and WK_E_MEMORY, with
/// the whole estimate, where it has not.
bool wk_learner_fits(const wk_learner *learner);
wk_status wk_learner_check_memory(const wk_learner *learner, wk_error *err);

#endif
