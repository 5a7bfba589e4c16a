// A JSON file read member by member, for files whose layout is known: unknown members are skipped,
// and the first error names the file.
//
//     while (wk_document_member(&d))
//         if (wk_document_take_integer(&d, "step", &step) ||
//             wk_document_take_number(&d, "mean", &mean))
//             continue;
//     status = wk_document_close(&d, err);
//
// After an error every call returns false or zero, so that one check at the end is enough.
#ifndef WK_BASE_DOCUMENT_H
#define WK_BASE_DOCUMENT_H

#include "base/arena.h"
#include "base/json_reader.h"
#include "waker/error.h"

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
