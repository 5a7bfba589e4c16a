// File operations of the log, with errors that name the file and say what to do.
#ifndef WK_REPLAY_LOG_FILE_H
#define WK_REPLAY_LOG_FILE_H

#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WK_LOG_PATH_MAX = 4096 };

/// The path of segment `number`; refuses directories with too long a name.
wk_status wk_log_path(const char *directory, uint64_t number, char path[WK_LOG_PATH_MAX],
                      wk_error *err);

/// The lowest and highest segment numbers in the directory; false in `any` when there is none.
wk_status wk_log_list(const char *directory, bool *any, uint64_t *lowest, uint64_t *highest,
                      wk_error *err);

/// Opens a segment for writing, empty when `fresh`.
wk_status wk_log_open_file(const char *path, bool fresh, int *fd, wk_error *err);
wk_status wk_log_write(int fd, const char *path, uint64_t offset, const void *bytes, size_t size,
                       wk_error *err);
wk_status wk_log_cut(int fd, const char *path, uint64_t size, wk_error *err);
wk_status wk_log_sync_file(int fd, const char *path, wk_error *err);
/// Makes new and deleted names durable.
wk_status wk_log_sync_directory(const char *directory, wk_error *err);
/// Keeps a segment as damaged-replay-*.log, where the log does not see it: renamed, or copied while
/// the original stays.
wk_status wk_log_keep(const char *directory, uint64_t number, bool copy, wk_error *err);
/// A file that does not exist is fine.
wk_status wk_log_remove(const char *path, wk_error *err);

#endif
