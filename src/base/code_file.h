// A file with code: where it is and what is in it. Runs record the files of their plug-ins, so that
// a changed one is noticed.
#ifndef WK_BASE_CODE_FILE_H
#define WK_BASE_CODE_FILE_H

#include "base/sha256.h"
#include "base/text.h"

enum { WK_CODE_PATH_MAX = 4096 };

typedef struct wk_code_file {
    char path[WK_CODE_PATH_MAX]; // absolute, without links
    char sha256[WK_SHA256_CHARS];
} wk_code_file;

/// Looks at the file that the caller calls `name` here. Of FILE.py:FUNCTION (base/python_spec.h)
/// the path keeps the function: it is what runs.
wk_status wk_code_file_read(const char *name, wk_code_file *out, wk_error *err);

/// Whether `path` can be recorded and printed: absolute, not too long, no control
/// characters.
bool wk_code_path_valid(const char *path);

#endif
