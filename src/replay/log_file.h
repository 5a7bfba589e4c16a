// File operations of the log, with errors that name the file and say what to do.
#ifndef WK_REPLAY_LOG_FILE_H
#define WK_REPLAY_LOG_FILE_H

#include "base/file.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WK_LOG_NAME_MAX = 64 };

/// The name of segment `number`.
void wk_log_name(uint64_t number, char name[WK_LOG_NAME_MAX]);
/// Its path, for messages; refuses directories with too long a name.
wk_status wk_log_path(const wk_dir *dir, uint64_t number, char path[WK_PATH_MAX], wk_error *err);

/// Opens it for reading; `path` gets its path, for messages.
wk_status wk_log_open_reader(const wk_dir *dir, uint64_t number, char path[WK_PATH_MAX],
                             wk_file_reader **out, wk_error *err);

/// The lowest and highest segment numbers in the directory; false in `any` when there is none.
wk_status wk_log_list(const wk_dir *dir, bool *any, uint64_t *lowest, uint64_t *highest,
                      wk_error *err);

/// Opens a segment for writing, when `fresh` made durably and empty; never through a link.
wk_status wk_log_open_file(const wk_dir *dir, uint64_t number, bool fresh, int *fd, wk_error *err);
wk_status wk_log_truncate(int fd, const char *path, uint64_t size, wk_error *err);
wk_status wk_log_sync_file(int fd, const char *path, wk_error *err);
/// Keeps a segment as damaged-replay-*.log, where the log does not see it: renamed, or copied while
/// the original stays.
wk_status wk_log_keep_damaged(const wk_dir *dir, uint64_t number, bool copy, wk_error *err);
/// A file that does not exist is fine.
wk_status wk_log_remove(const wk_dir *dir, uint64_t number, wk_error *err);

#endif
