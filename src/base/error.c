// Filling errors: names of statuses, messages, context in front of them, and names like the one
// that was asked for.
#include "base/text.h"

#include <ctype.h>
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

enum { NAME_CHARS_MAX = 63 };

// Lower case, '_' as '-', cut to a length the distance table can hold.
static size_t normalise(const char *name, char out[NAME_CHARS_MAX + 1])
{
    size_t n = 0;
    for (; n < NAME_CHARS_MAX && name[n]; n++)
        out[n] = name[n] == '_' ? '-' : (char)tolower((unsigned char)name[n]);
    out[n] = 0;
    return n;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t wk_text_distance(const char *a, const char *b)
{
    char x[NAME_CHARS_MAX + 1], y[NAME_CHARS_MAX + 1];
    size_t m = normalise(a, x), n = normalise(b, y);
    size_t rows[3][NAME_CHARS_MAX + 1];
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = last[j - 1] + (x[i - 1] != y[j - 1]);
            best = min(best, min(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
                best = min(best, before[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[m % 3][n];
}

const char *wk_text_nearest(const char *name, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t best = min(strlen(name), NAME_CHARS_MAX) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = wk_text_distance(name, names[i]);
        if (distance <= best && (!nearest || distance < best)) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

void wk_text_suggestion(const char *prefix, const char *name, const char *const *names,
                        size_t count, char out[WK_SUGGESTION_MAX])
{
    const char *nearest = wk_text_nearest(name, names, count);
    *out = 0;
    if (nearest) snprintf(out, WK_SUGGESTION_MAX, "; did you mean '%s%s'?", prefix, nearest);
}

wk_status wk_fail_nearest(wk_error *err, wk_status status, const char *name,
                          const char *const *names, size_t count, const char *otherwise,
                          const char *format, ...)
{
    if (!err) return status;
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    char suggestion[WK_SUGGESTION_MAX];
    wk_text_suggestion("", name, names, count, suggestion);
    return wk_fail(err, status, "%s%s", message, *suggestion ? suggestion : otherwise);
}

wk_status wk_fail_unknown(wk_error *err, const char *what, const char *name,
                          const char *const *names, size_t count)
{
    wk_text known = {0};
    wk_text_puts(&known, count ? "; there is " : "; there is none");
    for (size_t i = 0; i < count; i++)
        wk_text_printf(&known, "%s%s", i ? ", " : "", names[i]);
    wk_status status = wk_fail_nearest(err, WK_E_NOT_FOUND, name, names, count, wk_text_get(&known),
                                       "no %s is called '%s'", what, name);
    wk_text_free(&known);
    return status;
}
