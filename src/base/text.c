#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>
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
    if (length > 0) memcpy(text->chars + text->length, chars, length);
    text->length += length;
    text->chars[text->length] = 0;
}

void wk_text_puts(wk_text *text, const char *chars)
{
    wk_text_append(text, chars, strlen(chars));
}

void wk_text_vprintf(wk_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int needed = vsnprintf(NULL, 0, format, args);
    if (needed >= 0 && reserve(text, (size_t)needed)) {
        vsnprintf(text->chars + text->length, (size_t)needed + 1, format, again);
        text->length += (size_t)needed;
    }
    va_end(again);
}

void wk_text_printf(wk_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    wk_text_vprintf(text, format, args);
    va_end(args);
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

void wk_text_repeat(wk_text *text, char letter, size_t count)
{
    for (; count > 0; count--)
        wk_text_append(text, &letter, 1);
}

void wk_text_number(wk_text *text, double value)
{
    wk_text_number_digits(text, value, 6);
}

void wk_text_number_digits(wk_text *text, double value, int digits)
{
    if (!isfinite(value)) {
        wk_text_puts(text, "null");
        return;
    }
    char number[40];
    for (; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value) break;
    }
    wk_text_puts(text, number);
}

void wk_text_quote(wk_text *text, const char *value)
{
    wk_text_puts(text, "\"");
    for (const char *c = value; *c;) {
        uint32_t code = 0;
        size_t length = wk_utf8_decode(c, SIZE_MAX, &code);
        if (code == '"' || code == '\\')
            wk_text_printf(text, "\\%c", *c);
        else if (length && wk_utf8_is_control(code))
            wk_text_printf(text, "\\u%04x", (unsigned)code);
        else
            wk_text_append(text, c, length ? length : 1);
        c += length ? length : 1;
    }
    wk_text_puts(text, "\"");
}

void wk_text_shell_quote(wk_text *out, const char *text)
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

int wk_text_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (int place = 0;; place++) {
        size_t end = strcspn(choices, "|");
        if (end == length && memcmp(choices, text, length) == 0) return place;
        if (!choices[end]) return -1;
        choices += end + 1;
    }
}

int wk_text_choices(const char *choices)
{
    int count = 1;
    while ((choices = strchr(choices, '|')))
        choices++, count++;
    return count;
}

size_t wk_utf8_decode(const char *chars, size_t left, uint32_t *code)
{
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000}; // anything below is overlong
    const unsigned char *u = (const unsigned char *)chars;
    if (left == 0) return 0;
    *code = u[0];
    if (u[0] < 0x80) return 1;
    if (u[0] < 0xc2 || u[0] > 0xf4) return 0;
    size_t length = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (left < length) return 0;
    *code = u[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (u[i] & 0x3f);
    }
    bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return *code >= min[length] && *code <= 0x10ffff && !surrogate ? length : 0;
}

size_t wk_utf8_width(const char *chars, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)chars[i] & 0xc0) != 0x80;
    return width;
}

bool wk_utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t wk_utf8_control(const char *chars)
{
    uint32_t code;
    size_t length = wk_utf8_decode(chars, SIZE_MAX, &code);
    return length && wk_utf8_is_control(code) ? length : 0;
}

void wk_utf8_sanitise(char *text, bool lines)
{
    while (*text) {
        uint32_t code = 0;
        size_t length = wk_utf8_decode(text, SIZE_MAX, &code);
        bool control = wk_utf8_is_control(code) && !(lines && code == '\n');
        size_t wrong = length == 0 ? 1 : control ? length : 0; // bytes
        memset(text, '?', wrong);
        text += length ? length : 1;
    }
}

bool wk_text_to_number(const char *text, double *out)
{
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false;
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

bool wk_text_to_integer(const char *text, double *out)
{
    return wk_text_to_number(text, out) && *out == floor(*out);
}

bool wk_text_to_unsigned(const char *text, uint64_t *out)
{
    double number;
    if (!wk_text_to_integer(text, &number) || number < 0) return false;
    errno = 0;
    char *end;
    *out = strtoull(text, &end, 10);
    if (!*end) return errno == 0;
    static const double whole_max = 9007199254740992; // beyond it doubles have gaps
    *out = (uint64_t)fmin(number, whole_max);
    return number <= whole_max;
}

void wk_locale_use_c(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(c); // the C library has it built in
    uselocale(c);
}
