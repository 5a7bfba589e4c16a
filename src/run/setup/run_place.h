// Where a new run may begin, and what a directory without a run holds instead.
#ifndef WK_RUN_SETUP_RUN_PLACE_H
#define WK_RUN_SETUP_RUN_PLACE_H

#include "waker/error.h"

/// Whether a run may begin in a directory that has none: WK_E_INPUT, with what to do instead, where
/// it is a file, the root of the file system, holds a sweep, a population or directories of runs,
/// or lies within a run. What cannot be looked at is no reason to refuse.
wk_status wk_run_place_check(const char *directory, wk_error *err);

/// Fails with `status`, for a directory that was to hold a run: says what it holds instead, and
/// names one of its runs.
wk_status wk_run_missing(const char *directory, wk_status status, wk_error *err);

#endif
