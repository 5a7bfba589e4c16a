#include "base/log.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_CHARS_MAX = 1000 };

void wk_log_line(const wk_log *log, wk_log_level level, const char *format, ...)
{
    if (!log || !log->sink || level < log->min_level) return;
    char line[LINE_CHARS_MAX + 1];
    va_list args;
    va_start(args, format);
    int needed = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (needed >= (int)sizeof line) memcpy(line + sizeof line - 4, "...", 4);
    wk_utf8_sanitise(line, false);
    log->sink(log->context, level, line);
}

const char *wk_log_level_name(wk_log_level level)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return names[level];
}

void wk_log_to_stream(void *file, wk_log_level level, const char *line)
{
    if (level == WK_LOG_INFO)
        fprintf(file, "%s\n", line);
    else
        fprintf(file, "waker: %s: %s\n", wk_log_level_name(level), line);
}
