// JSON (RFC 8259): a writer, a reader of tokens, and above it a reader of files whose layout is
// known. Reading is strict, because input may be hostile: no comments, no trailing commas, no NaN,
// valid UTF-8 only, nesting bounded.
#ifndef WK_BASE_JSON_H
#define WK_BASE_JSON_H

#include "base/memory.h"
#include "base/text.h"

/// Writes JSON into a text: commas, indentation and escaping are taken care of; nesting up to 32.
/// Non-finite numbers become null. Keys are given inside objects and NULL inside arrays.
typedef struct wk_json {
    wk_text *text;
    int depth;
    bool has_items[33];
} wk_json;

void wk_json_object(wk_json *json, const char *key);
void wk_json_array(wk_json *json, const char *key);
/// Closes the innermost object (`'}'`) or array (`']'`).
void wk_json_close(wk_json *json, char bracket);
/// NULL is written as "".
void wk_json_string(wk_json *json, const char *key, const char *value);
void wk_json_number(wk_json *json, const char *key, double value);
void wk_json_integer(wk_json *json, const char *key, int64_t value);
void wk_json_unsigned(wk_json *json, const char *key, uint64_t value);
void wk_json_bool(wk_json *json, const char *key, bool value);
/// A list of numbers, each `stride` bytes after the one before: a field of an array of structs.
void wk_json_numbers(wk_json *json, const char *key, const double *first, size_t stride, int count);
/// A value that is JSON already, as written at this depth.
void wk_json_raw(wk_json *json, const char *key, const char *value, size_t length);

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

// A file read member by member: unknown members are skipped, and the first error names the file.
//
//     while (wk_document_member(&d))
//         if (wk_document_take_integer(&d, "step", &step) ||
//             wk_document_take_number(&d, "mean", &mean))
//             continue;
//     status = wk_document_close(&d, err);
//
// After an error every call returns false or zero, so that one check at the end is enough.

/// A position in the file. The value that `wk_document_member` or `wk_document_item` stopped at is
/// read by one of the calls below, or skipped by the next one.
typedef struct wk_document {
    const char *path;
    char *bytes; // owned, or NULL when they are the caller's
    wk_json_reader reader;
    wk_json_token key, value;
    bool pending; // `value` has not been taken yet
    wk_error error;
} wk_document;

/// Reads the file, whose value must be an object, and enters it. Close it also after a failure.
wk_status wk_document_open(const char *path, wk_document *out, wk_error *err);
/// As wk_document_open, for text in memory; `path` is for messages.
wk_status wk_document_start(const char *path, const char *bytes, size_t size, wk_document *out,
                            wk_error *err);
/// Whether everything was read without an error; releases the file.
wk_status wk_document_close(wk_document *document, wk_error *err);

/// Reads a file of objects, one to a line, each with a call that reads its members. A line is
/// complete when its newline is there: the last one may just be being written. Errors name the
/// line.
typedef wk_status wk_document_line(void *context, wk_document *line, wk_error *err);
wk_status wk_document_lines(const char *path, wk_document_line *read, void *context, wk_error *err);

/// Moves to the next member of the object; false at its end.
bool wk_document_member(wk_document *document);
/// Whether the member is called `name`.
bool wk_document_is(const wk_document *document, const char *name);
/// Moves to the next item of the array; false at its end.
bool wk_document_item(wk_document *document);

/// Enters the object or array that the value must be.
bool wk_document_object(wk_document *document);
bool wk_document_array(wk_document *document);

/// The value as a number; null is NaN.
double wk_document_number(wk_document *document);
/// The value as a whole number from 0.
uint64_t wk_document_integer(wk_document *document);
/// The value as true or false; false after an error.
bool wk_document_bool(wk_document *document);
/// The value as a string kept in `arena`; "" after an error.
const char *wk_document_string(wk_document *document, wk_arena *arena);

/// True for the member called `name`, whose value is then in `out`; false for other members, which
/// stay to be read.
bool wk_document_take_number(wk_document *document, const char *name, double *out);
bool wk_document_take_integer(wk_document *document, const char *name, uint64_t *out);
/// As wk_document_take_integer, for counts: 0 to INT32_MAX.
bool wk_document_take_count(wk_document *document, const char *name, int *out);
bool wk_document_take_bool(wk_document *document, const char *name, bool *out);
bool wk_document_take_string(wk_document *document, const char *name, wk_arena *arena,
                             const char **out);

/// Records a format error, "'PATH': message". Only the first error is kept.
void wk_document_fail(wk_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
