// Status codes and error messages, shared by every part of waker.
//
// A function that can fail for reasons outside the program (a file, a config value, memory, a
// device) returns a wk_status and fills the caller's wk_error with one message that says what is
// wrong, where, and what to do; none of these prints or ends the process. Bugs are asserts, not
// statuses: a NULL that is not allowed, or an index out of range where no status is returned.
#ifndef WAKER_ERROR_H
#define WAKER_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/// What kind of failure it was; WK_OK is zero.
typedef enum wk_status {
    WK_OK = 0,
    WK_E_INPUT,       // a value, name or combination the caller gave is not acceptable
    WK_E_NOT_FOUND,   // a named thing (file, domain, task, key) does not exist
    WK_E_IO,          // the operating system refused a file operation
    WK_E_FORMAT,      // a file exists but its content is not what it claims to be
    WK_E_MEMORY,      // an allocation failed
    WK_E_UNSUPPORTED, // valid, but this build or machine cannot do it
    WK_E_DIVERGED,    // numbers became non-finite
    WK_E_STOPPED,     // asked to stop before the work began; the same call does it
} wk_status;

/// One failure, owned by the caller. Zero-initialise it; a successful call leaves it untouched.
typedef struct wk_error {
    wk_status status;
    char message[1024]; // one line of text without a trailing newline
} wk_error;

/// Short lower-case name of a status ("ok", "bad input", ...), never NULL.
const char *wk_status_name(wk_status status);

/// Writes a formatted message into `err` (ignored when NULL) and returns `status`.
wk_status wk_fail(wk_error *err, wk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__
// Lets static analysis see that what wk_fail returns is `status`, so never WK_OK.
#define wk_fail(err, status, ...) ((void)(wk_fail)(err, status, __VA_ARGS__), (status))
#endif

/// Puts "context: " before the message already in `err`; for callers that know where it happened.
/// Returns err's status.
wk_status wk_fail_context(wk_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// Returns the status of `call` from the calling function if it is not WK_OK.
#define WK_TRY(call)                                                                               \
    do {                                                                                           \
        wk_status wk_try_status_ = (call);                                                         \
        if (wk_try_status_ != WK_OK) return wk_try_status_;                                        \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
