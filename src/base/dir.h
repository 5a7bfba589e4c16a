// Directories held open. A name is looked up in the directory that was opened, wherever that has
// been moved since, and not in whatever has its path now. Nothing is deleted, emptied or entered
// for writing through a symbolic link: what it points to belongs to someone else.
#ifndef WK_BASE_DIR_H
#define WK_BASE_DIR_H

#include "base/array.h"
#include "waker/error.h"
#include <stdbool.h>
#include <stdint.h>

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

#endif
