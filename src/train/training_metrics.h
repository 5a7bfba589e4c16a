// The metrics of a run, under dreamer's names (docs/logs.md lists them).
#ifndef WK_TRAIN_TRAINING_METRICS_H
#define WK_TRAIN_TRAINING_METRICS_H

#include "log/metrics.h"
#include "train/trainer.h"

/// Adds the episodes that ended in an iteration: means over them, and the θ of the last.
void wk_metrics_add_episodes(wk_metrics *metrics, const wk_domain *domain,
                             const wk_iteration *done);

/// Adds the metrics of the learner's task k, called `name`.
void wk_metrics_add_task(wk_metrics *metrics, const char *name, const wk_task_metrics *m, int k);

/// Adds the learner's losses, the curriculum's state and the counters.
void wk_metrics_add_learner(wk_metrics *metrics, wk_trainer *trainer, const wk_iteration *done,
                            const wk_progress *now);

/// wk_metrics_open with the run's configuration as the settings that TensorBoard shows.
wk_status wk_training_metrics_open(const wk_run_config *config, const wk_metrics_config *where,
                                   const wk_metrics_mark *mark, wk_metrics **out, wk_error *err);

#endif
