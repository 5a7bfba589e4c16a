// The progress of a population of runs: on a terminal a line about all of them and a row for each,
// redrawn in place; plain lines at longer intervals where output goes to a file or pipe.
// Throttling, messages and failing writes are as for the status line, on which it is built.
#ifndef WK_LOG_RUN_TABLE_H
#define WK_LOG_RUN_TABLE_H

#include "log/status_line.h"

/// What a row shows. `values.seconds` and `values.device` are used in the line about all runs only.
typedef struct wk_run_row {
    const char *name, *state; // "waker-m-seed0", "running"
    wk_status_values values;
    int64_t visited;  // environments visited: distinct θ; -1: not known
    double last_eval; // mean score of the tasks in the last evaluation; NaN: none
} wk_run_row;

/// A row with nothing known but its name and state.
wk_run_row wk_run_row_empty(const char *name, const char *state);

typedef struct wk_run_table {
    wk_status_line line; // its choices (width, height, stamped) are the table's
} wk_run_table;

/// As wk_status_line_start.
void wk_run_table_start(wk_run_table *table, int fd, double plain_seconds);

/// Shows the rows if it is time; `now` is wk_clock_seconds().
void wk_run_table_update(wk_run_table *table, const wk_run_row *rows, int count, double now);

/// Shows a line of the caller's with the table below it; a file or pipe gets that line alone. It is
/// shown at once: ask wk_status_line_is_due first.
void wk_run_table_show_under(wk_run_table *table, const char *heading, const wk_run_row *rows,
                             int count);

/// Prints a message above the table; a log's sink with the table as context.
void wk_run_table_log(void *table, wk_log_level level, const char *message);

/// Shows the last state and ends the table; frees its memory. It may be started again.
void wk_run_table_finish(wk_run_table *table, const wk_run_row *rows, int count);

/// Appends what is shown in up to `width` columns and `height` lines (0: no limit), without a last
/// line break: the least important columns go first, then the last rows. Time left, visited and
/// eval are columns where a row has them.
void wk_run_table_text(const wk_run_row *rows, int count, int width, int height, wk_text *out);

#endif
