// Files and directories.
//
// Files are read whole, up to a limit, or at any offset. They are written whole and atomically
// (temporary file, fsync, rename, directory fsync): a reader sees the old content or the new one,
// and a crash leaves no half-written file under the final name.
//
// Directories are held open. A name is looked up in the directory that was opened, wherever that
// has been moved since, and not in whatever has its path now. Nothing is deleted, emptied or
// entered for writing through a symbolic link: what it points to belongs to someone else.
#ifndef WK_BASE_FILE_H
#define WK_BASE_FILE_H

#include "base/memory.h"
#include "base/text.h"

/// Bytes of a path, more than the system takes: one that was cut is refused, not taken for another.
enum { WK_PATH_MAX = 4200 };

/// DIRECTORY/NAME; WK_E_INPUT when it was cut.
wk_status wk_path_join(const char *directory, const char *name, char out[WK_PATH_MAX],
                       wk_error *err);
/// DIRECTORY/NAME, malloc'd; NULL when memory is short.
char *wk_path_joined(const char *directory, const char *name);
/// A path by printf's format; WK_E_INPUT when it was cut.
wk_status wk_path_print(char out[WK_PATH_MAX], wk_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct wk_dir wk_dir;

/// Opens a directory. `path` begins in `in` (NULL: the working directory) and may lead through
/// links.
wk_status wk_dir_open(const wk_dir *in, const char *path, wk_dir **out, wk_error *err);
/// Opens the directory `name` of `in` to change things in it, as with O_NOFOLLOW: WK_E_INPUT when
/// it is a link. WK_E_NOT_FOUND when it is not there.
wk_status wk_dir_open_nofollow(const wk_dir *in, const char *name, wk_dir **out, wk_error *err);
/// As wk_dir_open_nofollow; makes the directory, durably, where it is missing.
wk_status wk_dir_make(const wk_dir *in, const char *name, wk_dir **out, wk_error *err);
/// Opens DIRECTORY/PATH to change things in it: the way to the directory may lead through links, no
/// part of the path may be one (WK_E_INPUT). `make` makes what is missing, else that is
/// WK_E_NOT_FOUND.
wk_status wk_dir_open_below(const char *directory, const char *path, bool make, wk_dir **out,
                            wk_error *err);
/// Makes all of it, and no more.
wk_status wk_dir_make_below(const char *directory, const char *path, wk_error *err);
/// NULL is allowed.
void wk_dir_close(wk_dir *dir);

/// The path it was opened with, for messages.
const char *wk_dir_path(const wk_dir *dir);
/// For calls that are not here; AT_FDCWD for NULL.
int wk_dir_fd(const wk_dir *dir);

/// What a name stands for.
typedef enum wk_entry {
    WK_ENTRY_NONE,
    WK_ENTRY_FILE, // regular
    WK_ENTRY_DIR,
    WK_ENTRY_LINK, // symbolic
    WK_ENTRY_OTHER,
} wk_entry;

/// Only a name that does not exist is WK_ENTRY_NONE; anything that keeps it from being looked up is
/// an error. `size` may be NULL.
wk_status wk_dir_stat(const wk_dir *dir, const char *name, wk_entry *entry, uint64_t *size,
                      wk_error *err);

/// All names but "." and "..", sorted by their bytes. Add to a zeroed list, free it also after a
/// failure.
typedef WK_ARRAY(char *) wk_names;
wk_status wk_dir_list(const wk_dir *dir, wk_names *out, wk_error *err);
/// As wk_dir_list, of a path.
wk_status wk_path_list(const char *path, wk_names *out, wk_error *err);
void wk_names_free(wk_names *names);

/// Opens a regular file with the flags of open(2), never through a link.
wk_status wk_dir_open_file(const wk_dir *dir, const char *name, int flags, int *fd, wk_error *err);

/// As wk_dir_open_file, to read and write; makes the file where it is missing. Its name is durable
/// afterwards, also where a process that was killed had made it.
wk_status wk_dir_make_file(const wk_dir *dir, const char *name, int flags, int *fd, wk_error *err);

/// Deletes a regular file; one that is not there is fine, anything else under the name is
/// WK_E_INPUT.
wk_status wk_dir_remove(const wk_dir *dir, const char *name, wk_error *err);
/// Deletes an empty directory.
wk_status wk_dir_remove_dir(const wk_dir *dir, const char *name, wk_error *err);
wk_status wk_dir_rename(const wk_dir *dir, const char *from, const char *to, wk_error *err);
/// Makes new, renamed and deleted names durable.
wk_status wk_dir_sync(const wk_dir *dir, wk_error *err);

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

/// A text file compiled into the program (MJCF models, configurations, Python), so that it needs no
/// data files; `content` ends in a zero byte that `size` does not count.
typedef struct wk_asset {
    const char *name; // file name without its folder; "sweeps/NAME" of those in configs/sweeps
    const char *content;
    size_t size;
} wk_asset;

/// All embedded files; the last has a NULL name. Generated by the build from assets/ and configs/.
extern const wk_asset wk_assets[];

/// The embedded file called `name`; asking for one that does not exist is a bug.
const wk_asset *wk_asset_find(const char *name);

#endif
