// The line of work that counts one thing: what it says, when it says nothing, and that messages
// stand above it.
#include "log/progress.h"
#include "support/check.h"
#include <stdio.h>
#include <string.h>

static char shown[4096];

// Shows 3 of 12 after `seconds`, and ends.
static const char *show_after(double seconds, bool live)
{
    FILE *file = tmpfile();
    wk_progress_line progress = {0};
    assert_non_null(file);
    wk_progress_start(&progress, fileno(file), "episodes");
    progress.line.live = live;
    progress.line.interval = live ? 0.2 : progress.line.interval;
    wk_progress_show(&progress, 3, 12, progress.began + seconds);
    wk_status_line_log(&progress.line, WK_LOG_INFO, "a message");
    wk_progress_finish(&progress);
    rewind(file);
    size_t size = fread(shown, 1, sizeof shown - 1, file);
    shown[size] = 0;
    fclose(file);
    return shown;
}

static void done_rate_and_time_left_are_shown(void **state)
{
    (void)state;
    assert_string_equal(show_after(30, false),
                        "3/12 episodes  25.0%  0.1 episodes/s  1m30s left\na message\n");
    assert_non_null(strstr(show_after(1, true), "\r3/12 episodes  25.0%  3 episodes/s  3s left"));
}

static void short_work_shows_nothing(void **state)
{
    (void)state;
    assert_string_equal(show_after(0.1, true), "a message\n");
    assert_string_equal(show_after(5, false), "a message\n");
    wk_progress_line silent = {0};
    wk_progress_show(&silent, 1, 2, 1e9);
    wk_progress_finish(&silent);
}

// Another unit counts from 0, also for the rate, and the line stays; short parts of long work show.
static void parts_of_long_work_share_the_line(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    wk_progress_line progress = {0};
    assert_non_null(file);
    wk_progress_start(&progress, fileno(file), "runs");
    progress.started -= 60;
    progress.began -= 60;
    progress.line.interval = 0;
    wk_progress_next(&progress, "tables", 4);
    progress.began -= 2;
    wk_progress_count(&progress, 1); // another thread's is counted and not drawn
    wk_progress_count(&progress, 0);
    wk_progress_count(&progress, 1);
    wk_progress_finish(&progress);
    wk_progress_next(NULL, "figures", 1);
    wk_progress_count(NULL, 0);
    rewind(file);
    shown[fread(shown, 1, sizeof shown - 1, file)] = 0;
    fclose(file);
    assert_string_equal(shown, "2/4 tables  50.0%  1 tables/s  2s left\n"
                               "3/4 tables  75.0%  1 tables/s  1s left\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(done_rate_and_time_left_are_shown),
        cmocka_unit_test(short_work_shows_nothing),
        cmocka_unit_test(parts_of_long_work_share_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
