// Runs below a directory, found by their config.yaml.
#ifndef WK_RUN_RUN_LIST_H
#define WK_RUN_RUN_LIST_H

#include "base/dir.h"

/// Whether a path leads to anything, and to a directory. What cannot be looked at is an error: a
/// run that is left out in silence would be a wrong conclusion.
wk_status wk_path_stat(const char *path, bool *there, bool *directory, wk_error *err);

/// Adds the path of the run that `path` is, or those of all below it, sorted within each directory;
/// hidden directories, and runs within runs, are left out. Free the list also after a failure.
wk_status wk_run_list(const char *path, wk_names *out, wk_error *err);

#endif
