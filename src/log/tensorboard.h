// TensorBoard event files: length-prefixed records of the Event message, each part with a masked
// CRC-32C. Scalars are simple_value under their name, which TensorBoard groups by what is before
// the first slash; images are PNG, or GIF, which it animates. The settings of the run come first,
// as a text and as hyperparameters. A write is one event, so that a file never has half of it.
#ifndef WK_LOG_TENSORBOARD_H
#define WK_LOG_TENSORBOARD_H

#include "log/metrics.h"

/// Opens event file `name` in `dir` and cuts it back to `max` bytes, or, where it is shorter, to
/// its last complete record. An empty name, or one that does not exist, begins a new file. `used`
/// gets the file's name. A new file begins with the config's settings.
wk_status wk_tensorboard_open(const wk_dir *dir, const char *name, uint64_t max,
                              const wk_metrics_config *config, char used[WK_METRICS_FILE_MAX],
                              wk_metrics_sink *out, wk_error *err);

/// Removes the event files that waker wrote into `dir`; those of others stay.
wk_status wk_tensorboard_remove(const wk_dir *dir, wk_error *err);

/// The newest event file that waker wrote into `dir`, "" if there is none.
wk_status wk_tensorboard_newest(const wk_dir *dir, char name[WK_METRICS_FILE_MAX], wk_error *err);

/// CRC-32C as records store it: rotated and shifted, so that a checksum of checksums stays a good
/// one.
uint32_t wk_tensorboard_crc(const void *bytes, size_t size);

#endif
