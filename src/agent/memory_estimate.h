// What a learner needs of its device's memory: added up after its graphs were planned and before
// anything large is allocated, so that a learner too large is refused with its whole need.
#ifndef WK_AGENT_MEMORY_ESTIMATE_H
#define WK_AGENT_MEMORY_ESTIMATE_H

#include "agent/learner_parts.h"

/// Bytes. Scratch memory of single kernels is not known before they are compiled and comes on top.
typedef struct wk_memory_estimate {
    size_t state;   // weights and optimiser
    size_t planned; // temporaries, inputs, batches, what graphs leave for each other
    size_t copies;  // bf16 copies of weights
    size_t working; // of matrix products
} wk_memory_estimate;

/// Bytes of temporaries: of the programs that run one after the other, which share the memory of
/// the largest, of the task program where it runs beside the update, and of the world model's where
/// it runs before its update, beside the one before.
typedef struct wk_temporaries {
    size_t shared, tasks, prefetch;
} wk_temporaries;
wk_temporaries wk_learner_temporaries(const wk_learner *learner);
size_t wk_temporaries_total(wk_temporaries temporaries);
/// Bytes of inputs, constants and the like of all its programs.
size_t wk_learner_owned(const wk_learner *learner);

/// The need of a learner whose programs are planned.
wk_memory_estimate wk_learner_estimate_memory(const wk_learner *learner);
size_t wk_memory_estimate_total(wk_memory_estimate estimate);
/// Whether what is needed beside what the learner has already is free on the device; and
/// WK_E_MEMORY, with all of the need, where it is not.
bool wk_learner_fits(const wk_learner *learner);
wk_status wk_learner_check_memory(const wk_learner *learner, wk_error *err);

#endif
