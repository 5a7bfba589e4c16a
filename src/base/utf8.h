// UTF-8: the only decoder, strict, for everything that reads text of users.
#ifndef WK_BASE_UTF8_H
#define WK_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes of the character at `chars` (1 to 4) and its number, or 0 when it is cut off after `left`
/// bytes, malformed, overlong or a surrogate. A zero-terminated string may say SIZE_MAX.
size_t wk_utf8_decode(const char *chars, size_t left, uint32_t *code);

/// Number of characters in the first `length` bytes.
size_t wk_utf8_width(const char *chars, size_t length);

/// Replaces control characters by '?', so that text of others cannot steer a terminal; line breaks
/// stay where `lines` says so.
void wk_utf8_tame(char *text, bool lines);

#endif
