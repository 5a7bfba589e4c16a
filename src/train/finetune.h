// Fine-tuning: an adapted policy continues with environment steps and its task's reward. World
// model, reward head and policy keep learning, on the run's episodes and on new ones in which the
// policy acts. It is a run like any other, in RUN/finetune/step-000000500000-TASK (.NAME where it
// has a name): the same loop, logs, checkpoints and exact resumption, with the episodes of the
// first run copied into its replay at the beginning. At the end weights.safetensors holds the
// result.
#ifndef WK_TRAIN_FINETUNE_H
#define WK_TRAIN_FINETUNE_H

#include "train/train.h"

/// What to fine-tune and how.
typedef struct wk_finetune_config {
    const char *directory;  // of the run
    int64_t snapshot;       // step of the policy's world model, or WK_STEP_LAST
    const char *task;       // one
    const char *name;       // one of several of a snapshot and task; NULL: that without a name
    int64_t steps;          // agent steps to collect
    const char *curriculum; // rule, "run" for the run's own; NULL: domain randomisation
    const uint64_t *seed;   // NULL: one made from the run's
    const char *device;     // NULL: as the run was configured
    int threads;            // 0: as the run was configured
    wk_named_plugins named; // plug-ins that the caller allows
} wk_finetune_config;

/// Begins with the adapted policy, that of the same name if there is one, or, where there is none,
/// with the one trained alongside.
wk_status wk_finetune(const wk_finetune_config *config, const wk_run_control *control,
                      wk_run_end *end, wk_error *err);

#endif
