// Clips of an evaluation during training for the logs: an episode of each task policy, and what the
// world model imagines about the first episodes. Recorded while the episodes are played.
#ifndef WK_TRAIN_EVAL_CLIPS_H
#define WK_TRAIN_EVAL_CLIPS_H

#include "eval/episodes.h"
#include "log/metrics.h"

typedef struct wk_eval_clips wk_eval_clips;

/// For predictions of `steps` frames; the learner is borrowed.
wk_status wk_eval_clips_create(wk_learner *learner, const wk_domain *domain, int steps,
                               wk_eval_clips **out, wk_error *err);
/// NULL is allowed.
void wk_eval_clips_destroy(wk_eval_clips *clips);

/// Adds a row of the running evaluation.
wk_status wk_eval_clips_add_row(wk_eval_clips *clips, const wk_eval_row *row, wk_error *err);

/// Logs `eval_TASK_uniform_policy_image`, the first episode of the first case, and after the first
/// task `eval_openl_image`; then ready for the next task.
wk_status wk_eval_clips_log(wk_eval_clips *clips, const char *task, wk_metrics *metrics,
                            wk_error *err);

#endif
