// Files with a user's code: shared objects, and Python functions, which are accepted wherever the
// path of a plug-in is: FILE.py:FUNCTION, or MODULE:FUNCTION, whose file Python finds. FUNCTION may
// have dots: a static method. Runs record the files of their plug-ins, so that a changed one is
// noticed. A shared object was usually just compiled: each way it can fail has its message.
#ifndef WK_BASE_CODE_FILE_H
#define WK_BASE_CODE_FILE_H

#include "base/hash.h"
#include "base/text.h"

/// Bytes of FILE.py or MODULE, which end at the colon; 0 for any other text, such as the path of a
/// shared object.
size_t wk_python_spec_source_length(const char *text);

/// Whether the source is FILE.py, not a module.
bool wk_python_spec_has_file(const char *text);

enum { WK_CODE_PATH_MAX = 4096 };

typedef struct wk_code_file {
    char path[WK_CODE_PATH_MAX]; // absolute, without links
    char sha256[WK_SHA256_CHARS];
} wk_code_file;

/// Looks at the file that the caller calls `name` here. Of FILE.py:FUNCTION
/// the path keeps the function: it is what runs.
wk_status wk_code_file_read(const char *name, wk_code_file *out, wk_error *err);

/// Whether `path` can be recorded and printed: absolute, not too long, no control
/// characters.
bool wk_code_path_valid(const char *path);

/// Loads the file `path`; a name without a folder is a file in the current directory, not one of
/// the system's.
wk_status wk_shared_object_open(const char *path, void **handle, wk_error *err);
/// NULL is allowed.
void wk_shared_object_close(void *handle);

/// A function without arguments of an object; the caller converts it to its true type.
typedef void wk_shared_object_function(void);
/// The function called `name`, which returns a pointer to a constant `type`. Where it is missing,
/// the error says how to write it, so that it returns the user's `what` ("rule", "reward").
wk_status wk_shared_object_find(void *handle, const char *name, const char *type, const char *what,
                                wk_shared_object_function **out, wk_error *err);

#endif
