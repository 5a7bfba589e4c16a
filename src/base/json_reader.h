// Reads JSON (RFC 8259) without copying: a pull parser that hands out one token at a time, each a
// slice of the caller's bytes. Strict, because its input may be hostile: no comments, no trailing
// commas, no NaN, valid UTF-8 only, nesting bounded. It allocates nothing and reads every byte
// once.
#ifndef WK_BASE_JSON_READER_H
#define WK_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Deepest nesting that is read; deeper input is an error.
#define WK_JSON_DEPTH_MAX 64

/// What a token is. Every value of an object comes right after its key.
typedef enum wk_json_kind {
    WK_JSON_ERROR, // the input is not JSON; `problem` says why, and every later call says it again
    WK_JSON_END,   // the one value of the input is complete; the rest was white space
    WK_JSON_OBJECT,
    WK_JSON_OBJECT_END,
    WK_JSON_ARRAY,
    WK_JSON_ARRAY_END,
    WK_JSON_KEY,
    WK_JSON_STRING,
    WK_JSON_NUMBER,
    WK_JSON_TRUE,
    WK_JSON_FALSE,
    WK_JSON_NULL,
} wk_json_kind;

/// One token: for keys and strings the characters between the quotes, still escaped; for numbers
/// the literal.
typedef struct wk_json_token {
    wk_json_kind kind;
    const char *chars;
    size_t length;
} wk_json_token;

/// A position in JSON text. Start it with wk_json_reader_start; plain data.
typedef struct wk_json_reader {
    const char *bytes;
    size_t size, at;
    const char *problem; // NULL until an error; a static string
    int depth;
    int expect;
    uint64_t in_object; // bit d: whether the container at depth d+1 is an object
} wk_json_reader;

/// A reader at the beginning of `size` bytes, which must outlive it.
wk_json_reader wk_json_reader_start(const char *bytes, size_t size);

/// The next token. After an error, `at` is the byte where it was found.
wk_json_token wk_json_reader_next(wk_json_reader *reader);

/// Reads past the rest of the value whose first token is `first`; false on an error.
bool wk_json_reader_skip(wk_json_reader *reader, wk_json_token first);

/// Writes the text a key or string stands for to `out` (room for token.length bytes; may be
/// token.chars itself) and returns its length. It may contain zero bytes.
size_t wk_json_unescape(wk_json_token token, char *out);

/// Whether the text a key or string stands for equals `text`.
bool wk_json_equals(wk_json_token token, const char *text);

/// The value of a number written as plain digits (no sign, fraction, or exponent) that fits; false
/// for any other token.
bool wk_json_to_u64(wk_json_token token, uint64_t *value);

/// The value of a number; false for other tokens and for magnitudes beyond double.
bool wk_json_to_double(wk_json_token token, double *value);

#endif
