#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(wk_text *text, size_t extra)
{
    if (text->failed) return false;
    size_t wanted = text->length + extra + 1;
    if (wanted <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < wanted)
        capacity *= 2;
    char *grown = realloc(text->chars, capacity);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->chars = grown;
    text->capacity = capacity;
    return true;
}

void wk_text_append(wk_text *text, const char *chars, size_t length)
{
    if (!reserve(text, length)) return;
    memcpy(text->chars + text->length, chars, length);
    text->length += length;
    text->chars[text->length] = 0;
}

void wk_text_puts(wk_text *text, const char *chars)
{
    wk_text_append(text, chars, strlen(chars));
}

void wk_text_printf(wk_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int needed = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (needed >= 0 && reserve(text, (size_t)needed)) {
        vsnprintf(text->chars + text->length, (size_t)needed + 1, format, again);
        text->length += (size_t)needed;
    }
    va_end(again);
}

const char *wk_text_get(const wk_text *text)
{
    return text->chars ? text->chars : "";
}

void wk_text_free(wk_text *text)
{
    free(text->chars);
    *text = (wk_text){0};
}

void wk_text_number(wk_text *text, double value)
{
    if (!isfinite(value)) {
        wk_text_puts(text, "null");
        return;
    }
    char digits[40];
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    wk_text_puts(text, digits);
}

void wk_text_quote(wk_text *text, const char *value)
{
    wk_text_puts(text, "\"");
    for (const char *c = value; *c; c++) {
        unsigned char u = (unsigned char)*c;
        if (u == '"' || u == '\\')
            wk_text_printf(text, "\\%c", u);
        else if (u < 0x20)
            wk_text_printf(text, "\\u%04x", u);
        else
            wk_text_append(text, c, 1);
    }
    wk_text_puts(text, "\"");
}

void wk_text_shell(wk_text *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+=:,@%";
    if (*text && text[strspn(text, plain)] == 0) {
        wk_text_puts(out, text);
        return;
    }
    wk_text_puts(out, "'");
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            wk_text_puts(out, "'\\''");
        else
            wk_text_append(out, c, 1);
    }
    wk_text_puts(out, "'");
}

// Comma and new line before an item, then its key.
static void json_item(wk_json *json, const char *key)
{
    if (json->has_items[json->depth]) wk_text_puts(json->text, ",");
    if (json->depth > 0) wk_text_printf(json->text, "\n%*s", 2 * json->depth, "");
    json->has_items[json->depth] = true;
    if (key) {
        wk_text_quote(json->text, key);
        wk_text_puts(json->text, ": ");
    }
}

static void json_open(wk_json *json, const char *key, const char *bracket)
{
    json_item(json, key);
    wk_text_puts(json->text, bracket);
    assert(json->depth < 32);
    json->has_items[++json->depth] = false;
}

void wk_json_object(wk_json *json, const char *key)
{
    json_open(json, key, "{");
}

void wk_json_array(wk_json *json, const char *key)
{
    json_open(json, key, "[");
}

void wk_json_close(wk_json *json, char bracket)
{
    assert(json->depth > 0);
    bool had_items = json->has_items[json->depth--];
    if (had_items) wk_text_printf(json->text, "\n%*s", 2 * json->depth, "");
    wk_text_append(json->text, &bracket, 1);
    if (json->depth == 0) wk_text_puts(json->text, "\n");
}

void wk_json_string(wk_json *json, const char *key, const char *value)
{
    json_item(json, key);
    wk_text_quote(json->text, value);
}

void wk_json_number(wk_json *json, const char *key, double value)
{
    json_item(json, key);
    wk_text_number(json->text, value);
}

void wk_json_integer(wk_json *json, const char *key, int64_t value)
{
    json_item(json, key);
    wk_text_printf(json->text, "%lld", (long long)value);
}

void wk_json_unsigned(wk_json *json, const char *key, uint64_t value)
{
    json_item(json, key);
    wk_text_printf(json->text, "%llu", (unsigned long long)value);
}

void wk_json_raw(wk_json *json, const char *key, const char *value, size_t length)
{
    json_item(json, key);
    wk_text_append(json->text, value, length);
}

void wk_json_bool(wk_json *json, const char *key, bool value)
{
    json_item(json, key);
    wk_text_puts(json->text, value ? "true" : "false");
}

enum { NAME_MAX_CHARS = 63 };

// Lower case, '_' as '-', cut to a length the distance table can hold.
static size_t normalise(const char *name, char out[NAME_MAX_CHARS + 1])
{
    size_t n = 0;
    for (; n < NAME_MAX_CHARS && name[n]; n++)
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
    char x[NAME_MAX_CHARS + 1], y[NAME_MAX_CHARS + 1];
    size_t m = normalise(a, x), n = normalise(b, y);
    size_t rows[3][NAME_MAX_CHARS + 1];
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
    size_t best = min(strlen(name), NAME_MAX_CHARS) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = wk_text_distance(name, names[i]);
        if (distance <= best && (!nearest || distance < best)) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
