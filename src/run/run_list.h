// Runs below a directory, found by their config.yaml.
#ifndef WK_RUN_RUN_LIST_H
#define WK_RUN_RUN_LIST_H

#include "base/dir.h"

/// Whether a path leads to anything, and to a directory. What cannot be looked at is an error: a
/// run that is left out in silence would be a wrong conclusion.
wk_status wk_path_stat(const char *path, bool *there, bool *directory, wk_error *err);

/// Adds the paths of the run that `path` is and of all below it, sorted within each directory: also
/// of those that were begun within another run's directory. Hidden directories are left out. Free
/// the list also after a failure.
wk_status wk_run_list(const char *path, wk_names *out, wk_error *err);

#endif
