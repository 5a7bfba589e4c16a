#include "base/document.h"

#include "base/file.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t FILE_LIMIT = (size_t)256 << 20, LINES_LIMIT = (size_t)4 << 30;

void wk_document_fail(wk_document *document, const char *format, ...)
{
    if (document->error.status != WK_OK) return;
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    wk_fail(&document->error, WK_E_FORMAT, "'%s': %s", document->path, message);
}

// The next token, passing over a value that nobody took.
static wk_json_token next(wk_document *d)
{
    if (d->pending) {
        d->pending = false;
        wk_json_reader_skip(&d->reader, d->value);
    }
    wk_json_token token = wk_json_reader_next(&d->reader);
    if (token.kind == WK_JSON_ERROR)
        wk_document_fail(d, "not JSON at byte %zu: %s", d->reader.at, d->reader.problem);
    return token;
}

static void expect(wk_document *d, wk_json_kind kind, const char *what)
{
    if (d->error.status == WK_OK && d->value.kind != kind)
        wk_document_fail(d, "'%.*s' is not %s", (int)d->key.length,
                         d->key.chars ? d->key.chars : "", what);
    d->pending = false;
}

wk_status wk_document_start(const char *path, const char *bytes, size_t size, wk_document *out,
                            wk_error *err)
{
    *out = (wk_document){.path = path, .reader = wk_json_reader_start(bytes, size)};
    if (next(out).kind != WK_JSON_OBJECT) wk_document_fail(out, "not a JSON object");
    if (out->error.status != WK_OK && err) *err = out->error;
    return out->error.status;
}

wk_status wk_document_open(const char *path, wk_document *out, wk_error *err)
{
    char *bytes;
    size_t size;
    *out = (wk_document){.path = path};
    wk_status status = wk_file_read(path, FILE_LIMIT, &bytes, &size, &out->error);
    if (status == WK_OK) {
        status = wk_document_start(path, bytes, size, out, &out->error);
        out->bytes = bytes;
    }
    if (status != WK_OK && err) *err = out->error;
    return status;
}

wk_status wk_document_close(wk_document *d, wk_error *err)
{
    if (d->error.status == WK_OK && next(d).kind != WK_JSON_END)
        wk_document_fail(d, "more than one value");
    if (d->error.status != WK_OK && err) *err = d->error;
    free(d->bytes);
    d->bytes = NULL;
    return d->error.status;
}

static wk_status read_line(const char *path, const char *line, size_t size, wk_document_line *read,
                           void *context, wk_error *err)
{
    wk_document d;
    WK_TRY(wk_document_start(path, line, size, &d, err));
    wk_status status = read(context, &d, err), end = wk_document_close(&d, err);
    return end != WK_OK ? end : status;
}

wk_status wk_document_lines(const char *path, wk_document_line *read, void *context, wk_error *err)
{
    char *bytes;
    size_t size, number = 1;
    WK_TRY(wk_file_read(path, LINES_LIMIT, &bytes, &size, err));
    wk_status status = WK_OK;
    for (char *line = bytes, *end; status == WK_OK; line = end + 1, number++) {
        end = memchr(line, '\n', size - (size_t)(line - bytes));
        if (!end) break;
        status = read_line(path, line, (size_t)(end - line), read, context, err);
        if (status != WK_OK) wk_fail_context(err, "line %zu", number);
    }
    free(bytes);
    return status;
}

bool wk_document_member(wk_document *d)
{
    wk_json_token token = next(d);
    if (token.kind != WK_JSON_KEY) return false;
    d->key = token;
    d->value = next(d);
    d->pending = d->error.status == WK_OK;
    return d->pending;
}

bool wk_document_is(const wk_document *d, const char *name)
{
    return wk_json_equals(d->key, name);
}

bool wk_document_item(wk_document *d)
{
    wk_json_token token = next(d);
    if (d->error.status != WK_OK || token.kind == WK_JSON_ARRAY_END) return false;
    d->value = token;
    d->pending = true;
    return true;
}

bool wk_document_object(wk_document *d)
{
    expect(d, WK_JSON_OBJECT, "an object");
    return d->error.status == WK_OK;
}

bool wk_document_array(wk_document *d)
{
    expect(d, WK_JSON_ARRAY, "a list");
    return d->error.status == WK_OK;
}

double wk_document_number(wk_document *d)
{
    double value = 0;
    if (d->value.kind == WK_JSON_NULL) {
        d->pending = false;
        return NAN;
    }
    expect(d, WK_JSON_NUMBER, "a number");
    if (d->error.status == WK_OK && !wk_json_to_double(d->value, &value))
        wk_document_fail(d, "the number %.*s is too large", (int)d->value.length, d->value.chars);
    return d->error.status == WK_OK ? value : 0;
}

uint64_t wk_document_integer(wk_document *d)
{
    uint64_t value = 0;
    expect(d, WK_JSON_NUMBER, "a number");
    if (d->error.status == WK_OK && !wk_json_to_u64(d->value, &value))
        wk_document_fail(d, "'%.*s' is no whole number from 0", (int)d->key.length, d->key.chars);
    return value;
}

bool wk_document_bool(wk_document *d)
{
    bool value = d->value.kind == WK_JSON_TRUE;
    expect(d, value ? WK_JSON_TRUE : WK_JSON_FALSE, "true or false");
    return value;
}

const char *wk_document_string(wk_document *d, wk_arena *arena)
{
    expect(d, WK_JSON_STRING, "a string");
    if (d->error.status != WK_OK) return "";
    char *copy = wk_arena_alloc(arena, d->value.length + 1);
    if (!copy) {
        wk_fail(&d->error, WK_E_MEMORY, "'%s': no memory to read it", d->path);
        return "";
    }
    copy[wk_json_unescape(d->value, copy)] = 0;
    return copy;
}

bool wk_document_take_number(wk_document *d, const char *name, double *out)
{
    if (!wk_document_is(d, name)) return false;
    *out = wk_document_number(d);
    return true;
}

bool wk_document_take_integer(wk_document *d, const char *name, uint64_t *out)
{
    if (!wk_document_is(d, name)) return false;
    *out = wk_document_integer(d);
    return true;
}

bool wk_document_take_count(wk_document *d, const char *name, int *out)
{
    uint64_t value;
    if (!wk_document_take_integer(d, name, &value)) return false;
    *out = value <= INT32_MAX ? (int)value : 0;
    if (value > INT32_MAX) wk_document_fail(d, "a count of %" PRIu64 " is too large", value);
    return true;
}

bool wk_document_take_bool(wk_document *d, const char *name, bool *out)
{
    if (!wk_document_is(d, name)) return false;
    *out = wk_document_bool(d);
    return true;
}

bool wk_document_take_string(wk_document *d, const char *name, wk_arena *arena, const char **out)
{
    if (!wk_document_is(d, name)) return false;
    *out = wk_document_string(d, arena);
    return true;
}
