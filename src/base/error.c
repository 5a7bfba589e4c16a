// Filling errors: names of statuses, messages, and context in front of them.
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *wk_status_name(wk_status status)
{
    switch (status) {
    case WK_OK:
        return "ok";
    case WK_E_INPUT:
        return "bad input";
    case WK_E_NOT_FOUND:
        return "not found";
    case WK_E_IO:
        return "input/output error";
    case WK_E_FORMAT:
        return "bad format";
    case WK_E_MEMORY:
        return "out of memory";
    case WK_E_UNSUPPORTED:
        return "unsupported";
    case WK_E_DIVERGED:
        return "diverged";
    case WK_E_STOPPED:
        return "stopped";
    }
    return "unknown status";
}

// A message is one line: a path or a plug-in's text may hold anything.
static void make_one_line(char *message)
{
    for (char *c = message; *c; c++)
        memset(c, *c == '\n' || *c == '\t' ? ' ' : '?', wk_utf8_control(c));
}

wk_status(wk_fail)(wk_error *err, wk_status status, const char *format, ...)
{
    if (err) {
        err->status = status;
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        make_one_line(err->message);
    }
    return status;
}

wk_status wk_fail_context(wk_error *err, const char *format, ...)
{
    if (!err) return WK_E_INPUT;
    char context[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    make_one_line(context);

    // "cannot write 'X': cannot write 'X': No space left on device" says it twice.
    if (*context && strncmp(err->message, context, strlen(context)) == 0) return err->status;

    // Keep the end of the message: it says what to do.
    size_t have = strlen(err->message), more = strlen(context) + 2;
    if (more + have >= sizeof err->message) return err->status;
    memmove(err->message + more, err->message, have + 1);
    memcpy(err->message, context, more - 2);
    memcpy(err->message + more - 2, ": ", 2);
    return err->status;
}
