// Files: whole-file reads with a size limit, reads at any offset, and atomic whole-file writes
// (temporary file, fsync, rename, directory fsync), so that a reader sees the old content or the
// new one and a crash leaves no half-written file under the final name.
#ifndef WK_BASE_FILE_H
#define WK_BASE_FILE_H

#include "base/dir.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Fails with "WHAT 'PATH': errno's text" and what to do about it.
wk_status wk_file_error(wk_error *err, const char *what, const char *path);

/// Functions ending in _in take a name in `in`; NULL stands for the working directory, where it may
/// be any path. Reading may lead through links.

/// Reads a whole file into malloc'd memory with one extra zero byte; refuses files over `limit`
/// bytes.
wk_status wk_file_read(const char *path, size_t limit, char **bytes, size_t *size, wk_error *err);
wk_status wk_file_read_in(const wk_dir *in, const char *name, size_t limit, char **bytes,
                          size_t *size, wk_error *err);

/// A file open for reading at any offset.
typedef struct wk_file_reader wk_file_reader;

wk_status wk_file_reader_open(const char *path, wk_file_reader **out, wk_error *err);
wk_status wk_file_reader_open_in(const wk_dir *in, const char *name, wk_file_reader **out,
                                 wk_error *err);
/// Bytes in the file when it was opened.
uint64_t wk_file_reader_size(const wk_file_reader *reader);
/// Reads exactly `size` bytes from `offset` on; asking for more than the file has is a bug.
wk_status wk_file_reader_read(const wk_file_reader *reader, uint64_t offset, void *bytes,
                              size_t size, wk_error *err);
/// NULL is allowed.
void wk_file_reader_close(wk_file_reader *reader);

/// Reads or writes exactly `size` bytes of an open file from `offset` on; `path` is for messages.
wk_status wk_fd_read(int fd, const char *path, uint64_t offset, void *bytes, size_t size,
                     wk_error *err);
wk_status wk_fd_write(int fd, const char *path, uint64_t offset, const void *bytes, size_t size,
                      wk_error *err);

/// Replaces `path` by `size` bytes, atomically and durably.
wk_status wk_file_write(const char *path, const void *bytes, size_t size, wk_error *err);
wk_status wk_file_write_in(const wk_dir *in, const char *name, const void *bytes, size_t size,
                           wk_error *err);

/// As wk_file_write_in, with a finished text, which is freed; WK_E_MEMORY if its memory had run
/// out.
wk_status wk_file_write_text(const wk_dir *in, const char *name, wk_text *text, wk_error *err);

/// An atomic write in pieces. Begin, append, then commit; discard (or a failed call) removes the
/// temporary file and leaves the old content of `path` as it was.
typedef struct wk_file_writer wk_file_writer;

wk_status wk_file_writer_begin(const char *path, wk_file_writer **out, wk_error *err);
/// Borrows `in` until the commit.
wk_status wk_file_writer_begin_in(const wk_dir *in, const char *name, wk_file_writer **out,
                                  wk_error *err);
wk_status wk_file_writer_append(wk_file_writer *writer, const void *bytes, size_t size,
                                wk_error *err);
/// Makes the content durable under its name. The writer is gone afterwards, also on failure.
wk_status wk_file_writer_commit(wk_file_writer *writer, wk_error *err);
/// Gives the write up; NULL is allowed.
void wk_file_writer_discard(wk_file_writer *writer);
/// Copies a file within `in`, atomically.
wk_status wk_file_copy_in(const wk_dir *in, const char *from, const char *to, wk_error *err);

/// Creates a directory and its parents, durably; existing ones are fine.
wk_status wk_dir_create(const char *path, wk_error *err);

/// Whether a name in `in` (NULL: a path) leads to anything, links followed. Only ENOENT, and a file
/// where a directory would have to be, say that it does not; what else keeps it from being looked
/// up is an error.
wk_status wk_file_exists_in(const wk_dir *in, const char *name, bool *exists, wk_error *err);

#endif
