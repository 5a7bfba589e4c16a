// Which files of code a user trusts. Plug-ins are loaded when the caller names them, or when they
// are on a list that the user keeps in
//
//   $XDG_CONFIG_HOME/waker/trusted        (~/.config/waker/trusted)
//
// in the format of sha256sum: a line "HASH  /absolute/path" for each file, '#' begins a comment. An
// entry stands for that content under that path and for nothing else. A list that others can
// write is refused.
#ifndef WK_BASE_TRUSTED_H
#define WK_BASE_TRUSTED_H

#include "base/array.h"
#include "base/sha256.h"
#include "base/text.h"

enum { WK_CODE_PATH_MAX = 4096 };

/// A file with code in it: where it is and what is in it.
typedef struct wk_code_file {
    char path[WK_CODE_PATH_MAX]; // absolute, without links
    char sha256[WK_SHA256_CHARS];
} wk_code_file;

/// Looks at the file that the caller calls `name` here. Of FILE.py:FUNCTION (base/python_spec.h)
/// the path keeps the function: it is what runs.
wk_status wk_code_file_read(const char *name, wk_code_file *out, wk_error *err);

/// Whether `path` can stand in the list and in messages: absolute, not too long, no control
/// characters.
bool wk_code_path_valid(const char *path);

/// The path of the list; WK_E_NOT_FOUND when the user has no home directory.
wk_status wk_trusted_path(char path[WK_CODE_PATH_MAX], wk_error *err);

/// The list. Zero-initialise.
typedef struct wk_trusted {
    WK_ARRAY(wk_code_file) files;
} wk_trusted;

/// Reads it; one that is not there is empty.
wk_status wk_trusted_read(wk_trusted *out, wk_error *err);
/// Replaces it, with the folders it lies in; only the user may read or write it.
wk_status wk_trusted_write(const wk_trusted *trusted, wk_error *err);
void wk_trusted_free(wk_trusted *trusted);

/// The entry for a path, or NULL.
const wk_code_file *wk_trusted_find(const wk_trusted *trusted, const char *path);
/// Adds a file, in place of an older entry for its path.
wk_status wk_trusted_add(wk_trusted *trusted, const wk_code_file *file, wk_error *err);
/// Takes the entry for a path out; false when there is none.
bool wk_trusted_remove(wk_trusted *trusted, const char *path);

#endif
