// The files of metrics: append-only files of records that can be truncated, metrics.jsonl and
// TensorBoard event files. Records are written completely or not at all: a failed write is rolled
// back. What a crash leaves half-written is cut off when a file is opened again.
#ifndef WK_LOG_FILES_H
#define WK_LOG_FILES_H

#include "log/metrics.h"

/// Everything that is written at one step.
typedef struct wk_metrics_record {
    int64_t step;       // agent steps times the domain's action repeat, as dreamer counts
    int64_t agent_step; // actions
    const wk_scalar *scalars;
    size_t n_scalars;
    const wk_metric_image *images;
    size_t n_images;
} wk_metrics_record;

/// An open file and the offset where its records end.
typedef struct wk_append_file {
    int fd;
    char *path;
    uint64_t end;
} wk_append_file;

/// Opens `name` in `dir`, never through a link, or makes it, durably; `end` is its size.
wk_status wk_append_file_open(const wk_dir *dir, const char *name, wk_append_file *out,
                              wk_error *err);
/// Closes it; a zeroed struct or one closed before is fine.
void wk_append_file_close(wk_append_file *file);

/// Adds a record. After an error the file is as it was (if the disk lets it be).
wk_status wk_append_file_append(wk_append_file *file, const void *bytes, size_t size,
                                wk_error *err);

/// Truncates to `size` <= `end`.
wk_status wk_append_file_truncate(wk_append_file *file, uint64_t size, wk_error *err);

/// Makes everything so far durable.
wk_status wk_append_file_sync(wk_append_file *file, wk_error *err);

/// Opens or creates the file `name` in `dir`, removes a torn last line, and truncates it to byte
/// `max` (UINT64_MAX: nothing; always at the beginning of a line).
wk_status wk_jsonl_open(const wk_dir *dir, const char *name, uint64_t max, wk_append_file *out,
                        wk_error *err);

/// Adds one JSON object as a line: "step" and "agent_step" first, then the scalars by name; null
/// for numbers that are not finite. Measured numbers are left out unless `timing`: without them the
/// same run gives the same bytes. Images are omitted.
wk_status wk_jsonl_write(wk_append_file *file, const wk_metrics_record *record, bool timing,
                         wk_error *err);

/// Opens event file `name` in `dir` and cuts it back to `max` bytes, or, where it is shorter, to
/// its last complete record. An empty name, or one that does not exist, begins a new file. `used`
/// gets the file's name. A new file begins with the config's settings.
wk_status wk_tensorboard_open(const wk_dir *dir, const char *name, uint64_t max,
                              const wk_metrics_config *config, char used[WK_METRICS_FILE_MAX],
                              wk_append_file *out, wk_error *err);

/// Adds the record as one event, so that a file never has half of it.
wk_status wk_tensorboard_write(wk_append_file *file, const wk_metrics_record *record,
                               wk_error *err);

/// Removes the event files that waker wrote into `dir`; those of others stay.
wk_status wk_tensorboard_remove(const wk_dir *dir, wk_error *err);
/// The newest event file that waker wrote into `dir`, "" if there is none.
wk_status wk_tensorboard_newest(const wk_dir *dir, char name[WK_METRICS_FILE_MAX], wk_error *err);

/// CRC-32C as records store it: rotated and shifted, so that a checksum of checksums stays a good
/// one.
uint32_t wk_tensorboard_crc(const void *bytes, size_t size);

#endif
