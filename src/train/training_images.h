// Images of a run for its logs: the curriculum's heat map, and what the world model predicts.
// Read-only: with or without them a run computes the same bytes. Their random draws come from a
// stream of their own and depend on the step alone, so that a resumed run logs the same images.
#ifndef WK_TRAIN_TRAINING_IMAGES_H
#define WK_TRAIN_TRAINING_IMAGES_H

#include "log/metrics.h"
#include "train/trainer.h"

typedef struct wk_training_images wk_training_images;

/// Borrows the trainer. The graph of the predictions is made when the first is requested.
wk_status wk_training_images_create(wk_trainer *trainer, wk_training_images **out, wk_error *err);
/// NULL is allowed.
void wk_training_images_destroy(wk_training_images *images);

/// Logs `env_sampler/heatmap`, a still.
wk_status wk_training_images_heatmap(wk_training_images *images, wk_metrics *metrics,
                                     wk_error *err);

/// Logs `train_openl_image`, a clip of up to 6 sequences side by side as dreamer shows them: truth,
/// model, error; the model sees 5 frames and imagines the rest. Nothing while no episode is long
/// enough.
wk_status wk_training_images_open_loop(wk_training_images *images, wk_metrics *metrics,
                                       wk_error *err);

#endif
