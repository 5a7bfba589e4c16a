// Tests that a bug of the caller is caught: the call is made in a child process, which must end by
// the signal of a failed assert.
#ifndef WK_TESTS_ABORT_H
#define WK_TESTS_ABORT_H

#include <stdbool.h>

/// Whether `fn(context)` ends in a failed assert. Its message is not shown.
bool aborts(void (*fn)(void *context), void *context);

#endif
