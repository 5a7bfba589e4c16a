// The log: which lines reach the sink and what they look like on a stream; and the clocks.
#include "base/log.h"
#include "base/machine.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

static void lines_are_formatted_and_handed_over(void **state)
{
    last_line last = {0};
    wk_log log = {.sink = keep, .context = &last};
    wk_log_line(&log, WK_LOG_WARN, "%d of %s", 3, "four");
    assert_string_equal(last.line, "3 of four");
    assert_int_equal(last.level, WK_LOG_WARN);
}

static void lines_below_the_level_are_dropped(void **state)
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

static void a_log_without_a_sink_is_silent(void **state)
{
    wk_log log = {0};
    wk_log_line(&log, WK_LOG_ERROR, "a");
    wk_log_line(NULL, WK_LOG_ERROR, "b");
}

static void long_lines_end_in_dots(void **state)
{
    last_line last = {0};
    wk_log log = {.sink = keep, .context = &last};
    wk_log_line(&log, WK_LOG_INFO, "%1000d", 7);
    assert_int_equal(last.line[999], '7');
    wk_log_line(&log, WK_LOG_INFO, "%1001d", 7);
    assert_int_equal(strlen(last.line), 1000);
    assert_string_equal(last.line + 997, "...");
}

static void a_stream_gets_plain_lines_and_marked_ones(void **state)
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

static void clocks_run_forward_and_thread_time_only_while_working(void **state)
{
    double wall = wk_clock_seconds(), cpu = wk_clock_thread_seconds();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    wall = wk_clock_seconds() - wall;
    cpu = wk_clock_thread_seconds() - cpu;
    assert_true(wall >= 0.05 && wall < 60);
    assert_true(cpu >= 0 && cpu < 0.04);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_formatted_and_handed_over),
        cmocka_unit_test(lines_below_the_level_are_dropped),
        cmocka_unit_test(a_log_without_a_sink_is_silent),
        cmocka_unit_test(long_lines_end_in_dots),
        cmocka_unit_test(a_stream_gets_plain_lines_and_marked_ones),
        cmocka_unit_test(clocks_run_forward_and_thread_time_only_while_working),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
