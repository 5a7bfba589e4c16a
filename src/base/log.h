// A log is a sink chosen by the program: the library formats a line and hands it over, so that a
// terminal, a file or a test decides what becomes of it. A NULL log or sink is silent.
#ifndef WK_BASE_LOG_H
#define WK_BASE_LOG_H

/// Severity of a line, in rising order.
typedef enum wk_log_level { WK_LOG_DEBUG, WK_LOG_INFO, WK_LOG_WARN, WK_LOG_ERROR } wk_log_level;

/// Receives one finished line (no newline). Called from any thread, one call at a time per thread.
typedef void wk_log_sink(void *context, wk_log_level level, const char *line);

/// Where lines go. Plain data: copy it freely.
typedef struct wk_log {
    wk_log_sink *sink;
    void *context;
    wk_log_level min_level; // lines below this level are dropped without formatting
} wk_log;

/// Formats and hands over one line; lines over 1000 characters end in "...".
void wk_log_line(const wk_log *log, wk_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// "debug", "info", "warning", "error".
const char *wk_log_level_name(wk_log_level level);

/// A sink that writes "waker: warning: line" to the FILE* given as context (plain lines for info).
void wk_log_to_stream(void *file, wk_log_level level, const char *line);

#endif
