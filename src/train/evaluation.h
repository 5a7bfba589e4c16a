// Evaluation of a run's task policies during training, which is read-only: with or without it a run
// computes the same bytes.
//
// Also how well the world model predicts an episode that has just ended, for curricula that need
// it: a window of a batch's length, at a random place, as the replay has stored it.
#ifndef WK_TRAIN_EVALUATION_H
#define WK_TRAIN_EVALUATION_H

#include "agent/prediction.h"
#include "base/memory.h"
#include "eval/evaluation.h"
#include "log/metrics.h"
#include "replay/replay.h"
#include <signal.h>

typedef struct wk_trainer wk_trainer;

/// How an evaluation ended.
typedef struct wk_evaluation_end {
    bool done;   // it was not stopped
    double mean; // over the tasks, of completion where there is one, else of the return
} wk_evaluation_end;

/// Evaluates every task policy of the trainer in the paper's cases with config.eval_envs episodes
/// of the default distribution (or of curriculum.theta), just as `waker eval --policy alongside`
/// does with a snapshot of this step: writes the same files under `directory`/eval and logs the
/// scores by dreamer's names, with clips for TensorBoard. Stops early when *stop becomes nonzero
/// (NULL: never).
wk_status wk_evaluation_run(wk_trainer *trainer, const wk_dir *directory,
                            const volatile sig_atomic_t *stop, const wk_log *log,
                            wk_metrics *metrics, wk_evaluation_end *end, wk_error *err);

/// Zero-initialise; free it also after a failed create.
typedef struct wk_episode_error {
    wk_prediction *prediction;
    int length; // rows of the window
    uint8_t *images, *first;
    float *vectors, *actions, *error;
    wk_arena arena; // of the arrays
} wk_episode_error;

/// The learner is borrowed.
wk_status wk_episode_error_create(wk_learner *learner, wk_episode_error *out, wk_error *err);
void wk_episode_error_free(wk_episode_error *e);

/// Mean squared error of the predicted next images, or vectors where there are no images, in the
/// store's episode `id`; NaN where it is shorter than a window or not in the store. Reads the
/// weights as they are: no update may be in flight.
wk_status wk_episode_error_measure(wk_episode_error *e, wk_replay *replay, uint64_t seed,
                                   uint64_t id, double *out, wk_error *err);

#endif
