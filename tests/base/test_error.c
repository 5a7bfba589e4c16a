// Errors: messages, contexts, and the macro that passes them on.
#include "support/check.h"

static void a_failure_fills_status_and_message(void **state)
{
    wk_error err = {0};
    assert_int_equal(wk_fail(&err, WK_E_FORMAT, "%s has %d bytes", "x", 3), WK_E_FORMAT);
    assert_int_equal(err.status, WK_E_FORMAT);
    assert_string_equal(err.message, "x has 3 bytes");
}

static void a_missing_error_is_allowed(void **state)
{
    assert_int_equal(wk_fail(NULL, WK_E_IO, "nobody reads this"), WK_E_IO);
    assert_int_not_equal(wk_fail_context(NULL, "nor this"), WK_OK);
}

static void a_long_message_is_cut(void **state)
{
    wk_error err;
    wk_fail(&err, WK_E_INPUT, "%2000d", 1);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void context_comes_before_the_message(void **state)
{
    wk_error err = {0};
    wk_fail(&err, WK_E_NOT_FOUND, "no task");
    assert_int_equal(wk_fail_context(&err, "domain '%s'", "x"), WK_E_NOT_FOUND);
    assert_string_equal(err.message, "domain 'x': no task");
}

static void context_that_is_said_already_is_not_repeated(void **state)
{
    wk_error err = {0};
    wk_fail(&err, WK_E_IO, "cannot write '%s': No space left on device", "x");
    assert_int_equal(wk_fail_context(&err, "cannot write '%s'", "x"), WK_E_IO);
    assert_string_equal(err.message, "cannot write 'x': No space left on device");
    wk_fail_context(&err, "cannot write '%s'", "y");
    assert_string_equal(err.message, "cannot write 'y': cannot write 'x': No space left on device");
}

static void context_that_does_not_fit_is_left_out(void **state)
{
    wk_error err = {0};
    wk_fail(&err, WK_E_IO, "what to do");
    assert_int_equal(wk_fail_context(&err, "%1020d", 1), WK_E_IO);
    assert_string_equal(err.message, "what to do");
}

static void every_status_has_its_own_name(void **state)
{
    for (int a = WK_OK; a <= WK_E_STOPPED; a++)
        for (int b = WK_OK; b < a; b++)
            assert_string_not_equal(wk_status_name((wk_status)a), wk_status_name((wk_status)b));
    assert_string_equal(wk_status_name(WK_OK), "ok");
    assert_string_equal(wk_status_name((wk_status)99), "unknown status");
}

static wk_status try_twice(wk_status first, wk_status second, int *reached)
{
    WK_TRY(first);
    *reached = 1;
    WK_TRY(second);
    *reached = 2;
    return WK_OK;
}

static void try_returns_at_the_first_failure(void **state)
{
    int reached = 0;
    assert_int_equal(try_twice(WK_E_IO, WK_OK, &reached), WK_E_IO);
    assert_int_equal(reached, 0);
    assert_int_equal(try_twice(WK_OK, WK_E_INPUT, &reached), WK_E_INPUT);
    assert_int_equal(reached, 1);
    assert_int_equal(try_twice(WK_OK, WK_OK, &reached), WK_OK);
    assert_int_equal(reached, 2);
}

// Paths and texts of plug-ins may hold anything.
static void a_message_is_one_line(void **state)
{
    wk_error err = {0};
    (void)wk_fail(&err, WK_E_NOT_FOUND, "there is no file '%s'", "a\nb\tc\033d\x7f θ\u202e");
    assert_string_equal(err.message, "there is no file 'a b c?d? θ?\?\?'");
    (void)wk_fail_context(&err, "plug-in '%s'", "x\r\ny");
    assert_string_equal(err.message, "plug-in 'x? y': there is no file 'a b c?d? θ?\?\?'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_fills_status_and_message),
        cmocka_unit_test(a_missing_error_is_allowed),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(context_comes_before_the_message),
        cmocka_unit_test(context_that_is_said_already_is_not_repeated),
        cmocka_unit_test(context_that_does_not_fit_is_left_out),
        cmocka_unit_test(every_status_has_its_own_name),
        cmocka_unit_test(try_returns_at_the_first_failure),
        cmocka_unit_test(a_message_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
