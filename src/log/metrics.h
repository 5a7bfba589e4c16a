// Metrics of a run: scalars and images by name, collected and then written together at a step to
// metrics.jsonl and TensorBoard. Nothing here feeds back into a run: with or without metrics it
// computes the same.
//
// A checkpoint stores wk_metrics_mark; a resumed run opens with it, and whatever was written after
// the checkpoint is truncated, so that the files end up as if the run had never stopped.
#ifndef WK_LOG_METRICS_H
#define WK_LOG_METRICS_H

#include "base/file.h"
#include "base/log.h"
#include "media/image.h"
#include "waker/error.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/// Where a scalar goes.
typedef enum wk_scalar_kind {
    WK_SCALAR_PLAIN,  // everywhere
    WK_SCALAR_TIMING, // differs between two runs that are otherwise the same: metrics.jsonl has it
                      // only if asked
    WK_SCALAR_DETAIL, // one of many of a kind: metrics.jsonl alone, TensorBoard has an image of all
} wk_scalar_kind;

/// A number with its name, as dreamer names it ("train/model_loss"; docs/training.md lists them).
typedef struct wk_scalar {
    const char *name;
    double value; // may be NaN or infinite
    wk_scalar_kind kind;
} wk_scalar;

/// An encoded image: a PNG still or an animated GIF.
typedef struct wk_metric_image {
    const char *name;
    int width, height;
    const uint8_t *bytes;
    size_t size;
} wk_metric_image;

enum { WK_METRICS_FILE_MAX = 256 };

/// Where the files of a logdir end; plain bytes for a checkpoint. All zero: nothing written yet.
typedef struct wk_metrics_mark {
    uint64_t jsonl;                        // bytes
    uint64_t events;                       // bytes
    char events_file[WK_METRICS_FILE_MAX]; // name inside the logdir, "" for none
} wk_metrics_mark;

typedef struct wk_metrics wk_metrics;

/// Whether an actor's gradient has vanished: its norm is negligible against the value that the
/// critic expects, as when all outputs of the actor are saturated. Such a policy learns nothing.
static inline bool wk_actor_gradient_vanished(double actor_norm, double value)
{
    return actor_norm < 1e-5 * fabs(value);
}

/// The file of scalars in a logdir.
#define WK_METRICS_JSONL "metrics.jsonl"

/// A setting of the run, for TensorBoard's pages of texts and hyperparameters.
typedef struct wk_log_setting {
    const char *key, *value;
    bool is_number; // `number` is the value
    double number;
} wk_log_setting;

/// Where metrics go: `logdir`/metrics.jsonl and, if wanted, a TensorBoard event file there.
typedef struct wk_metrics_config {
    const wk_dir *in; // where `logdir` is; NULL: it is any path, made when it does not exist
    const char *logdir;
    bool tensorboard;
    bool timing;       // timings go to metrics.jsonl too, whose bytes then differ from run to run
    int action_repeat; // of the domain
    const wk_log *log; // for warnings; NULL: silent
    const wk_log_setting *settings; // shown by TensorBoard; may be none
    size_t n_settings;
    bool part; // of another run, in a folder of it: it gets no row of hyperparameters of its own
} wk_metrics_config;

/// Opens the files. With a mark they are truncated to it (zeros: emptied, our earlier event files
/// removed); with NULL writing continues after the last complete record. Files that are not as the
/// mark says are used as far as they go, with a warning.
wk_status wk_metrics_open(const wk_metrics_config *config, const wk_metrics_mark *mark,
                          wk_metrics **out, wk_error *err);
/// Drops what was not written. NULL is allowed.
void wk_metrics_close(wk_metrics *metrics);

/// Adds a scalar to the next write; the last one of a name wins. Names are copied.
void wk_metrics_scalar(wk_metrics *metrics, const char *name, double value);
/// As wk_metrics_scalar, for a timing (a speed, a share of time), or for one of many of a kind.
void wk_metrics_timing(wk_metrics *metrics, const char *name, double value);
void wk_metrics_detail(wk_metrics *metrics, const char *name, double value);

/// Adds a still or a clip to the next write, encoded at once.
wk_status wk_metrics_image(wk_metrics *metrics, const char *name, const wk_image *image,
                           wk_error *err);
wk_status wk_metrics_clip(wk_metrics *metrics, const char *name, const wk_image *frames,
                          size_t count, wk_error *err);

/// Writes what was added, in that order, and clears it; without any it writes nothing. After an
/// error no file has any of it, it is still pending, and the call may be repeated.
wk_status wk_metrics_write(wk_metrics *metrics, int64_t agent_step, wk_error *err);

/// Syncs the files and returns where they end: what to store in a checkpoint.
wk_status wk_metrics_position(wk_metrics *metrics, wk_metrics_mark *out, wk_error *err);

#endif
