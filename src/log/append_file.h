// An append-only file of records that can be truncated, for metrics. Records are written completely
// or not at all: a failed write is rolled back. What a crash leaves half-written is detected by the
// formats (jsonl.h, tensorboard.h).
#ifndef WK_LOG_APPEND_FILE_H
#define WK_LOG_APPEND_FILE_H

#include "base/dir.h"
#include <stddef.h>
#include <stdint.h>

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

/// Reads exactly `size` bytes at `offset`; they must be there.
wk_status wk_append_file_read(const wk_append_file *file, uint64_t offset, void *bytes, size_t size,
                              wk_error *err);

/// Makes everything so far durable.
wk_status wk_append_file_sync(wk_append_file *file, wk_error *err);

#endif
