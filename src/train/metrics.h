// The metrics of a run, under dreamer's names (docs/training.md lists them): numbers, and stills
// and clips for TensorBoard. What an image shows depends on the run's seed and step alone, so that
// a resumed run logs the same ones.
//
// Also the watch on episodes that nothing is learned from: those that diverge (the simulation broke
// down, or a reward was no finite number) and those that end before a sequence is full. They are
// counted; a run in which all episodes are such stops with advice.
#ifndef WK_TRAIN_METRICS_H
#define WK_TRAIN_METRICS_H

#include "base/log.h"
#include "env/plugins/plugin.h"
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

/// Adds stills of the heat maps (train_env/...), and train_openl_image, a clip of up to 6 sequences
/// side by side as dreamer shows them: truth, model, error; the model sees 5 frames and imagines
/// the rest. There is no clip while no episode is long enough. `loop` keeps the graph of the
/// predictions: NULL before the first call, destroyed by the caller before the trainer.
wk_status wk_metrics_add_images(wk_metrics *metrics, wk_trainer *trainer, wk_open_loop **loop,
                                wk_error *err);

/// Such episodes of a run so far. Zero-initialise.
typedef struct wk_divergence {
    int diverged_in_a_row, empty_in_a_row, short_in_a_row; // episodes
    int longest;                                           // rows of those too short
    bool warned, warned_short;
    char why[WK_PYTHON_WHY_MAX]; // the last failure of an environment, where its plug-in knows it
} wk_divergence;

/// Looks at the episodes that ended in an iteration: warns at the first that diverged and at the
/// first that is shorter than a sequence, and fails when so many in a row diverged, were too short,
/// or ended without a step, that all will.
wk_status wk_divergence_check(wk_divergence *divergence, const wk_run_config *config,
                              const wk_iteration *done, const wk_log *log, wk_error *err);

/// Fails when every episode of a finished run diverged, or when none was long enough to learn from.
wk_status wk_divergence_finish(const wk_divergence *divergence, const wk_run_config *config,
                               const wk_progress *now, wk_error *err);

#endif
