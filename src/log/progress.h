// The status line for work that counts one thing: how many of how many are done, how fast, and the
// time left. Short work shows nothing; piped output gets plain lines at longer intervals.
#ifndef WK_LOG_PROGRESS_H
#define WK_LOG_PROGRESS_H

#include "log/status_line.h"
#include <stdatomic.h>

/// Zeroed it is silent: all calls are allowed and do nothing.
typedef struct wk_progress_line {
    wk_status_line line;
    wk_status_values values;
    double started, began; // the line, and counting this unit; 0: not started
    atomic_llong done;
} wk_progress_line;

/// Begins counting `unit` ("episodes") on `fd`.
void wk_progress_start(wk_progress_line *progress, int fd, const char *unit);

/// Goes on in the same line with `total` of another unit, counted from 0. NULL is silent too.
void wk_progress_next(wk_progress_line *progress, const char *unit, int64_t total);

/// One more is done. Any thread of a pool may call it; only thread 0, the caller's, draws. NULL is
/// silent too.
void wk_progress_count(wk_progress_line *progress, int thread);

/// `done` of `total` now; `now` is wk_clock_seconds().
void wk_progress_show(wk_progress_line *progress, int64_t done, int64_t total, double now);

/// Ends the line, if one was shown; frees its memory.
void wk_progress_finish(wk_progress_line *progress);

#endif
