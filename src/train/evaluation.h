// Evaluation of a run's task policies during training, which is read-only: with or without it a run
// computes the same bytes.
#ifndef WK_TRAIN_EVALUATION_H
#define WK_TRAIN_EVALUATION_H

#include "eval/evaluation.h"
#include "log/metrics.h"
#include "train/trainer.h"
#include <signal.h>

/// Evaluates every task policy of the trainer in the paper's cases with config.eval_envs episodes
/// of the default distribution (or of curriculum.theta), just as `waker eval --policy alongside`
/// does with a snapshot of this step: writes the same files under `directory`/eval and logs the
/// scores by dreamer's names. Stops early when *stop becomes nonzero (NULL: never).
typedef struct wk_evaluation_end {
    bool done;   // it was not stopped
    double mean; // over the tasks, of completion where there is one, else of the return
} wk_evaluation_end;
wk_status wk_evaluation_run(wk_trainer *trainer, const wk_dir *directory,
                            const volatile sig_atomic_t *stop, const wk_log *log,
                            wk_metrics *metrics, wk_evaluation_end *end, wk_error *err);

#endif
