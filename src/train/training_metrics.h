// The metrics of a run, under dreamer's names (docs/logs.md lists them): numbers, and stills and
// clips for TensorBoard. What an image shows depends on the run's seed and step alone, so that a
// resumed run logs the same ones.
#ifndef WK_TRAIN_TRAINING_METRICS_H
#define WK_TRAIN_TRAINING_METRICS_H

#include "eval/open_loop.h"
#include "log/metrics.h"
#include "train/trainer.h"

/// Adds the episodes that ended in an iteration: means over them, of θ too.
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

/// Adds env_sampler/heatmap, a still, and train_openl_image, a clip of up to 6 sequences side by
/// side as dreamer shows them: truth, model, error; the model sees 5 frames and imagines the rest.
/// There is no clip while no episode is long enough. `loop` keeps the graph of the predictions:
/// NULL before the first call, destroyed by the caller before the trainer.
wk_status wk_metrics_add_images(wk_metrics *metrics, wk_trainer *trainer, wk_open_loop **loop,
                                wk_error *err);

#endif
