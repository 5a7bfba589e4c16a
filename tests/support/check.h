// cmocka with the headers it wants, and assertions that print a useful message.
#ifndef WK_TESTS_CHECK_H
#define WK_TESTS_CHECK_H

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "waker/error.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Defines a test of the program: TEST_CASE(name) { ... }, with `void **state`.
#define TEST_CASE(name)                                                                            \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        check_register(#name, name, __LINE__);                                                     \
    }                                                                                              \
    static void name(void **state)
void check_register(const char *name, void (*function)(void **state), int line);

/// Runs all tests, in the order in which the file defines them, after `setup` and before `teardown`
/// (NULL: nothing); returns the exit code.
int run_all_tests(int (*setup)(void **state), int (*teardown)(void **state));
/// The same with `setup` before and `teardown` after each test.
int run_each_test(int (*setup)(void **state), int (*teardown)(void **state));
/// Main functions that do only that.
#define TEST_MAIN(setup, teardown)                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        return run_all_tests(setup, teardown);                                                     \
    }
#define TEST_MAIN_EACH(setup, teardown)                                                            \
    int main(void)                                                                                 \
    {                                                                                              \
        return run_each_test(setup, teardown);                                                     \
    }

/// Fails with the error's message unless `call` returns WK_OK. Needs a `wk_error err` in scope.
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != WK_OK) fail_msg("%s: %s", #call, err.message);                               \
    } while (0)

/// Fails unless `call` returns `status` with a message containing `part`. Needs a `wk_error err`.
#define assert_refused(call, expected_status, part)                                                \
    do {                                                                                           \
        err = (wk_error){0};                                                                       \
        wk_status got_ = (call);                                                                   \
        if (got_ != (expected_status))                                                             \
            fail_msg("%s: status '%s' (%s)", #call, wk_status_name(got_), err.message);            \
        if (!strstr(err.message, (part)))                                                          \
            fail_msg("%s: the message '%s' lacks '%s'", #call, err.message, (part));               \
    } while (0)

/// Whether a file or directory is there.
static inline bool wk_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/// Fails unless |a - b| <= tolerance.
#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (!(fabs(a_ - b_) <= (tolerance)))                                                       \
            fail_msg("%s = %.17g, %s = %.17g, more than %g apart", #a, a_, #b, b_,                 \
                     (double)(tolerance));                                                         \
    } while (0)

#endif
