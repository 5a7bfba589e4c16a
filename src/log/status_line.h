// The progress of a run in one line: rewritten in place on a terminal, as plain lines at longer
// intervals where output goes to a file or pipe. Messages go above the live line. The caller
// chooses where it is written; failing writes are ignored, because a closed terminal must not end a
// run.
#ifndef WK_LOG_STATUS_LINE_H
#define WK_LOG_STATUS_LINE_H

#include "base/log.h"
#include "base/text.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Where the time of a run goes.
typedef enum wk_phase {
    WK_PHASE_ENV,
    WK_PHASE_RENDER,
    WK_PHASE_REPLAY,
    WK_PHASE_LEARN,
    WK_PHASE_LOG,
    WK_PHASES
} wk_phase;

/// What the line shows. NaN means not known (yet); such parts are left out.
typedef struct wk_status_values {
    int64_t steps, total; // agent steps, and how many there will be
    int64_t control;      // steps of the simulator so far; 0: left out
    const char *unit;     // what is counted, if not "agent steps"; "": steps are left out
    int64_t updates;
    double updates_per_second;
    double rate;               // units a second, where it is not updates that are counted
    double seconds[WK_PHASES]; // time in each phase, any unit
    double seconds_left;
    double model_loss, mean_error;
    int64_t diverged;         // episodes; shown where there are any
    const char *device, *why; // which device, and why that; NULL: left out
} wk_status_values;

/// Values with nothing known.
wk_status_values wk_status_values_empty(void);

/// Appends the line in up to `width` columns (0: no limit); the least important parts are dropped
/// first.
void wk_status_values_text(const wk_status_values *progress, int width, wk_text *out);

/// A duration in two units: "12s", "5m02s", "2h13m", "3d04h"; "" for NaN. Returns `out`.
enum { WK_DURATION_TEXT_MAX = 24 };
const char *wk_duration_text(double seconds, char out[WK_DURATION_TEXT_MAX]);

/// A whole number with its thousands apart: "7,400,000".
enum { WK_COUNT_TEXT_MAX = 32 };
void wk_count_text(int64_t value, char out[WK_COUNT_TEXT_MAX]);

/// The line's state, set up by wk_status_line_start; `stamped`, `width` and `height` may be
/// changed.
typedef struct wk_status_line {
    int fd;
    bool live;           // rewrite one line; otherwise print lines
    bool stamped;        // lines that are printed begin with date and time
    int width, height;   // columns and rows; 0: ask the terminal each time
    double interval;     // minimum seconds between updates
    double last;         // time of the last one
    bool begun, visible; // something was shown; a live line stands there now
    wk_text shown;       // the live line, or lines; else what was printed last
} wk_status_line;

/// Writes to `fd`: in place if that is a terminal that can, else a line every `plain_seconds`.
void wk_status_line_start(wk_status_line *line, int fd, double plain_seconds);

/// Shows the progress if it is time; `now` is wk_clock_seconds().
void wk_status_line_update(wk_status_line *line, const wk_status_values *progress, double now);

/// The parts of wk_status_line_update, for other kinds of text. Whether it is time to show it:
bool wk_status_line_is_due(const wk_status_line *line, double now);
/// Shows lines separated by '\n' in place of what is shown, or prints them; takes over the text.
void wk_status_line_show(wk_status_line *line, wk_text *text);
/// Ends the line without showing more; frees its memory.
void wk_status_line_end(wk_status_line *line);
/// The terminal's size.
void wk_status_line_size(const wk_status_line *line, int *columns, int *rows);

/// Prints a message on a line of its own.
void wk_status_line_message(wk_status_line *line, const char *message);

/// As wk_status_line_message, as a log's sink with the line as context.
void wk_status_line_log(void *line, wk_log_level level, const char *message);

/// Shows the last state and ends the line; frees its memory. It may be started again.
void wk_status_line_finish(wk_status_line *line, const wk_status_values *progress);

/// The status line of work that counts one thing: how many of how many are done, how fast, and the
/// time left. Short work shows nothing. A zeroed one is silent: all calls do nothing.
typedef struct wk_progress_line {
    wk_status_line line;
    wk_status_values values;
    double started, began; // the line, and counting this unit; 0: not started
    atomic_llong done;
} wk_progress_line;

/// Begins counting `unit` ("episodes") on `fd`.
void wk_progress_start(wk_progress_line *progress, int fd, const char *unit);

/// Continues in the same line with `total` of another unit, counted from 0. NULL is silent too.
void wk_progress_next(wk_progress_line *progress, const char *unit, int64_t total);

/// Counts one more. Any thread of a pool may call it; only thread 0, the caller's, draws. NULL is
/// silent too.
void wk_progress_count(wk_progress_line *progress, int thread);

/// `done` of `total` now; `now` is wk_clock_seconds().
void wk_progress_show(wk_progress_line *progress, int64_t done, int64_t total, double now);

/// Ends the line, if one was shown; frees its memory.
void wk_progress_finish(wk_progress_line *progress);

#endif
