// Text: growing strings, "did you mean", UTF-8, and the locale that numbers are written in.
#ifndef WK_BASE_TEXT_H
#define WK_BASE_TEXT_H

#include "waker/error.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A zero-terminated string that grows. Zero-initialise. After a failed allocation `failed` is set,
/// further appends do nothing, and the text so far stays valid: check once at the end.
typedef struct wk_text {
    char *chars; // NULL while empty
    size_t length, capacity;
    bool failed;
} wk_text;

void wk_text_append(wk_text *text, const char *chars, size_t length);
void wk_text_puts(wk_text *text, const char *chars);
void wk_text_printf(wk_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wk_text_vprintf(wk_text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/// Appends a character `count` times.
void wk_text_repeat(wk_text *text, char letter, size_t count);
/// Appends a JSON string: `value` in quotes, escaped.
void wk_text_quote(wk_text *text, const char *value);
/// Appends a number with the fewest digits, from 6 up, that read back as the same value; "null" if
/// it is not finite.
void wk_text_number(wk_text *text, double value);
/// As wk_text_number, with the fewest digits from `digits` up. printf's %g: a number of more digits
/// than that before the point has an exponent.
void wk_text_number_digits(wk_text *text, double value, int digits);
/// Appends `text` as one word of a shell's command line: as it is where that is safe, else in
/// quotes.
void wk_text_shell_quote(wk_text *out, const char *text);
/// The string, "" while empty.
const char *wk_text_get(const wk_text *text);
void wk_text_free(wk_text *text);

/// "" for one, else "s": the end of a word that is counted.
static inline const char *wk_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/// The entry of `names` most like `name` (edit distance, at most a third of its length off), or
/// NULL.
const char *wk_text_nearest(const char *name, const char *const *names, size_t count);

enum { WK_SUGGESTION_MAX = 1024 };
/// "; did you mean 'PREFIXNEAREST'?" where one of `names` is like `name`, else "".
void wk_text_suggestion(const char *prefix, const char *name, const char *const *names,
                        size_t count, char out[WK_SUGGESTION_MAX]);
/// Fails with the message, then "; did you mean 'NEAREST'?" where one of `names` is like `name`,
/// else `otherwise`.
wk_status wk_fail_nearest(wk_error *err, wk_status status, const char *name,
                          const char *const *names, size_t count, const char *otherwise,
                          const char *format, ...) __attribute__((format(printf, 7, 8)));
/// WK_E_NOT_FOUND, "no WHAT is called 'NAME'", with the nearest of `names` or all of them.
wk_status wk_fail_unknown(wk_error *err, const char *what, const char *name,
                          const char *const *names, size_t count);

/// Index of `text` among choices written as "a|b|c", or -1; and the number of choices.
int wk_text_choice(const char *choices, const char *text);
int wk_text_choices(const char *choices);

/// Edit distance with insertions, deletions, substitutions and swaps of neighbours, ignoring case
/// and -_.
size_t wk_text_distance(const char *a, const char *b);

// UTF-8: the only decoder, strict, for everything that reads text of users.

/// Bytes of the character at `chars` (1 to 4) and its number, or 0 when it is cut off after `left`
/// bytes, malformed, overlong or a surrogate. A zero-terminated string may say SIZE_MAX.
size_t wk_utf8_decode(const char *chars, size_t left, uint32_t *code);

/// Number of characters in the first `length` bytes.
size_t wk_utf8_width(const char *chars, size_t length);

/// Whether nothing that is printed may have the character: control characters steer a terminal, and
/// those that set the direction of text (U+061C, U+200E, U+202E, ...) show a name as another one.
bool wk_utf8_is_control(uint32_t code);
/// Bytes of the character at `chars` if it is such a one, else 0.
size_t wk_utf8_control(const char *chars);

/// Replaces these, and bytes that are no UTF-8, by '?', so that text of others can neither steer a
/// terminal nor spoil a file; line breaks stay where `lines` says so.
void wk_utf8_sanitise(char *text, bool lines);

// Numbers that users write, in options and configurations alike: decimal, all of the text, without
// blanks, hexadecimal digits or infinities. An integer may be written as 1e3 and is then exact up
// to 2^53.
bool wk_text_to_number(const char *text, double *out);
bool wk_text_to_integer(const char *text, double *out);
bool wk_text_to_unsigned(const char *text, uint64_t *out);

// Numbers are written and read with a point, whatever the process's locale is: a plug-in, or a
// library behind it, may call setlocale at any time.

/// Gives the calling thread the C locale, which setlocale does not change. The program calls it
/// first in every thread that formats or parses numbers.
void wk_locale_use_c(void);

#endif
