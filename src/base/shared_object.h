// Loading a user's shared object, with a message for each way it can fail, because the reader
// usually just compiled it.
#ifndef WK_BASE_SHARED_OBJECT_H
#define WK_BASE_SHARED_OBJECT_H

#include "waker/error.h"

/// Whether the file can be a shared object at all; nothing of it is run.
wk_status wk_shared_object_check(const char *path, wk_error *err);

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
