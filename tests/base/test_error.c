// Errors and log lines.
#include "base/log.h"
#include "base/machine.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

TEST_CASE(a_failure_fills_status_and_message)
{
    wk_error err = {0};
    assert_int_equal(wk_fail(&err, WK_E_FORMAT, "%s has %d bytes", "x", 3), WK_E_FORMAT);
    assert_int_equal(err.status, WK_E_FORMAT);
    assert_string_equal(err.message, "x has 3 bytes");
}

TEST_CASE(a_missing_error_is_allowed)
{
    assert_int_equal(wk_fail(NULL, WK_E_IO, "nobody reads this"), WK_E_IO);
    assert_int_not_equal(wk_fail_context(NULL, "nor this"), WK_OK);
}

TEST_CASE(a_long_message_is_cut)
{
    wk_error err;
    wk_fail(&err, WK_E_INPUT, "%2000d", 1);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

TEST_CASE(context_comes_before_the_message)
{
    wk_error err = {0};
    wk_fail(&err, WK_E_NOT_FOUND, "no task");
    assert_int_equal(wk_fail_context(&err, "domain '%s'", "x"), WK_E_NOT_FOUND);
    assert_string_equal(err.message, "domain 'x': no task");
}

TEST_CASE(context_that_is_said_already_is_not_repeated)
{
    wk_error err = {0};
    wk_fail(&err, WK_E_IO, "cannot write '%s': No space left on device", "x");
    assert_int_equal(wk_fail_context(&err, "cannot write '%s'", "x"), WK_E_IO);
    assert_string_equal(err.message, "cannot write 'x': No space left on device");
    wk_fail_context(&err, "cannot write '%s'", "y");
    assert_string_equal(err.message, "cannot write 'y': cannot write 'x': No space left on device");
}

TEST_CASE(context_that_does_not_fit_is_left_out)
{
    wk_error err = {0};
    wk_fail(&err, WK_E_IO, "what to do");
    assert_int_equal(wk_fail_context(&err, "%1020d", 1), WK_E_IO);
    assert_string_equal(err.message, "what to do");
}

TEST_CASE(every_status_has_its_own_name)
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

TEST_CASE(try_returns_at_the_first_failure)
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
TEST_CASE(a_message_is_one_line)
{
    wk_error err = {0};
    (void)wk_fail(&err, WK_E_NOT_FOUND, "there is no file '%s'", "a\nb\tc\033d\x7f θ\u202e");
    assert_string_equal(err.message, "there is no file 'a b c?d? θ?\?\?'");
    (void)wk_fail_context(&err, "plug-in '%s'", "x\r\ny");
    assert_string_equal(err.message, "plug-in 'x? y': there is no file 'a b c?d? θ?\?\?'");
}

typedef struct last_line {
    int count;
    wk_log_level level;
    char line[2000];
} last_line;

static void keep(void *context, wk_log_level level, const char *line)
{
    last_line *last = context;
    last->count++;
    last->level = level;
    snprintf(last->line, sizeof last->line, "%s", line);
}

TEST_CASE(lines_are_formatted_and_handed_over)
{
    last_line last = {0};
    wk_log log = {.sink = keep, .context = &last};
    wk_log_line(&log, WK_LOG_WARN, "%d of %s", 3, "four");
    assert_string_equal(last.line, "3 of four");
    assert_int_equal(last.level, WK_LOG_WARN);
}

TEST_CASE(lines_below_the_level_are_dropped)
{
    last_line last = {0};
    wk_log log = {.sink = keep, .context = &last, .min_level = WK_LOG_WARN};
    wk_log_line(&log, WK_LOG_DEBUG, "a");
    wk_log_line(&log, WK_LOG_INFO, "b");
    assert_int_equal(last.count, 0);
    wk_log_line(&log, WK_LOG_WARN, "c");
    wk_log_line(&log, WK_LOG_ERROR, "d");
    assert_int_equal(last.count, 2);
}

TEST_CASE(a_log_without_a_sink_is_silent)
{
    wk_log log = {0};
    wk_log_line(&log, WK_LOG_ERROR, "a");
    wk_log_line(NULL, WK_LOG_ERROR, "b");
}

TEST_CASE(long_lines_end_in_dots)
{
    last_line last = {0};
    wk_log log = {.sink = keep, .context = &last};
    wk_log_line(&log, WK_LOG_INFO, "%1000d", 7);
    assert_int_equal(last.line[999], '7');
    wk_log_line(&log, WK_LOG_INFO, "%1001d", 7);
    assert_int_equal(strlen(last.line), 1000);
    assert_string_equal(last.line + 997, "...");
}

TEST_CASE(a_stream_gets_plain_lines_and_marked_ones)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    wk_log log = {.sink = wk_log_to_stream, .context = stream};
    wk_log_line(&log, WK_LOG_DEBUG, "one");
    wk_log_line(&log, WK_LOG_INFO, "two");
    wk_log_line(&log, WK_LOG_WARN, "three");
    wk_log_line(&log, WK_LOG_ERROR, "four");
    fclose(stream);
    assert_string_equal(text,
                        "waker: debug: one\ntwo\nwaker: warning: three\nwaker: error: four\n");
    free(text);
}

TEST_CASE(clocks_run_forward_and_thread_time_only_while_working)
{
    double wall = wk_clock_seconds(), cpu = wk_clock_thread_seconds();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    wall = wk_clock_seconds() - wall;
    cpu = wk_clock_thread_seconds() - cpu;
    assert_true(wall >= 0.05 && wall < 60);
    assert_true(cpu >= 0 && cpu < 0.04);
}

TEST_MAIN(NULL, NULL)
