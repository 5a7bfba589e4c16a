// The status line: what it says, how it fits, and what reaches a terminal and a pipe; and the line
// of work that counts one thing.
#include "log/logs.h"
#include "log/status_line.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static wk_status_values sample(void)
{
    return (wk_status_values){
        .steps = 1234560,
        .total = 7400000,
        .control = 2469120,
        .updates = 141820,
        .updates_per_second = 52.14,
        .seconds = {5, 2, 3, 88, 2},
        .seconds_left = 2 * 3600 + 13 * 60,
        .model_loss = 4321.5,
        .mean_error = 0.1234,
        .device = "cuda:0 H200",
        .why = "device auto, first of 2 GPUs",
    };
}

static const char whole[] =
    "1,234,560/7,400,000 agent steps  2,469,120 control steps  16.7%  52.1 updates/s  env 5% "
    "render 2% replay 3% learn 88% "
    "log 2%  loss 4322  error 0.123  2h13m left  cuda:0 H200: device auto, first of 2 GPUs";

TEST_CASE(a_line_says_everything_that_is_known)
{
    wk_text text = {0};
    wk_status_values p = sample();
    wk_status_values_text(&p, 0, &text);
    assert_string_equal(wk_text_get(&text), whole);
    wk_text_free(&text);
    p = wk_status_values_empty();
    p.steps = 999;
    wk_status_values_text(&p, 0, &text);
    assert_string_equal(wk_text_get(&text), "999 agent steps");
    wk_text_free(&text);
}

TEST_CASE(a_round_beyond_the_end_is_100_percent)
{
    wk_text text = {0};
    wk_status_values p = wk_status_values_empty();
    p.steps = 1004, p.total = 1000;
    wk_status_values_text(&p, 0, &text);
    assert_string_equal(wk_text_get(&text), "1,004/1,000 agent steps  100.0%");
    wk_text_free(&text);
}

TEST_CASE(a_line_fits_any_width_and_loses_the_least_important_first)
{
    const wk_status_values p = sample();
    size_t last = 0;
    for (int width = 1; width < 240; width++) {
        wk_text text = {0};
        wk_status_values_text(&p, width, &text);
        assert_true(text.length <= (size_t)width);
        assert_true(text.length >= last); // more room never says less
        last = text.length;
        wk_text_free(&text);
    }
    assert_int_equal(last, strlen(whole));
    wk_text text = {0};
    wk_status_values_text(&p, 80, &text);
    assert_string_equal(wk_text_get(&text),
                        "1,234,560/7,400,000 agent steps  16.7%  52.1 updates/s  "
                        "loss 4322  2h13m left");
    wk_text_free(&text);
}

TEST_CASE(durations_have_two_units)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{-5, "0s"},      {0.4, "0s"},       {59.6, "1m00s"},  {302, "5m02s"},
                 {7980, "2h13m"}, {3599.7, "1h00m"}, {273600, "3d04h"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[WK_DURATION_TEXT_MAX];
        assert_string_equal(wk_duration_text(cases[i].seconds, text), cases[i].text);
    }
}

TEST_CASE(a_pipe_gets_plain_lines_at_the_interval)
{
    wk_status_line line;
    wk_status_line_start(&line, pipe_open(), 10);
    assert_false(line.live);
    wk_status_values p = wk_status_values_empty();
    for (int second = 0; second < 25; second++) {
        p.steps = second;
        wk_status_line_update(&line, &p, 1000 + second);
        if (second == 15) wk_status_line_message(&line, "checkpoint saved");
    }
    wk_status_line_finish(&line, &p);
    assert_string_equal(
        pipe_close(),
        "0 agent steps\n10 agent steps\ncheckpoint saved\n20 agent steps\n24 agent steps\n");
}

TEST_CASE(lines_of_a_log_have_the_time_if_wanted)
{
    int year, month, day, hour, minute, second, used = 0;
    wk_status_line line;
    wk_status_line_start(&line, pipe_open(), 10);
    line.stamped = true;
    wk_status_line_message(&line, "saved");
    sscanf(pipe_close(), "%d-%d-%d %d:%d:%d  saved%n", &year, &month, &day, &hour, &minute, &second,
           &used);
    assert_int_equal(used, 19 + 2 + 5);
}

TEST_CASE(a_terminal_sees_one_line_rewritten_in_place)
{
    wk_status_line line;
    wk_status_line_start(&line, pipe_open(), 10);
    line.live = true;
    line.interval = 0.2;
    line.width = 60;
    wk_status_values p = sample();
    wk_status_line_update(&line, &p, 0);
    wk_status_line_update(&line, &p, 0.1); // too soon
    wk_status_line_update(&line, &p, 0.5); // nothing new
    p.steps++;
    wk_status_line_update(&line, &p, 1);
    wk_status_line_log(&line, WK_LOG_WARN, "careful");
    wk_status_line_finish(&line, &p);
    assert_string_equal(pipe_close(),
                        "\r1,234,560/7,400,000 agent steps  52.1 updates/s  2h13m left\x1b[K"
                        "\r1,234,561/7,400,000 agent steps  52.1 updates/s  2h13m left\x1b[K"
                        "\r\x1b[Jwaker: warning: careful\n"
                        "1,234,561/7,400,000 agent steps  52.1 updates/s  2h13m left\n");
}

TEST_CASE(a_closed_pipe_is_no_error)
{
    wk_status_line line;
    wk_status_line_start(&line, -1, 0);
    const wk_status_values p = sample();
    wk_status_line_update(&line, &p, 0);
    wk_status_line_message(&line, "nobody reads this");
    wk_status_line_finish(&line, &p);
}

// Shows 3 of 12 after `seconds`, and ends.
static const char *show_after(double seconds, bool live)
{
    wk_progress_line progress = {0};
    wk_progress_start(&progress, pipe_open(), "episodes");
    progress.line.live = live;
    progress.line.interval = live ? 0.2 : progress.line.interval;
    wk_progress_show(&progress, 3, 12, progress.began + seconds);
    wk_status_line_log(&progress.line, WK_LOG_INFO, "a message");
    wk_progress_finish(&progress);
    return pipe_close();
}

TEST_CASE(done_rate_and_time_left_are_shown)
{
    assert_string_equal(show_after(30, false),
                        "3/12 episodes  25.0%  0.1 episodes/s  1m30s left\na message\n");
    assert_non_null(strstr(show_after(1, true), "\r3/12 episodes  25.0%  3 episodes/s  3s left"));
}

TEST_CASE(short_work_shows_nothing)
{
    assert_string_equal(show_after(0.1, true), "a message\n");
    assert_string_equal(show_after(5, false), "a message\n");
    wk_progress_line silent = {0};
    wk_progress_show(&silent, 1, 2, 1e9);
    wk_progress_finish(&silent);
}

// Another unit counts from 0, also for the rate, and the line stays; short parts of long work show.
TEST_CASE(parts_of_long_work_share_the_line)
{
    wk_progress_line progress = {0};
    wk_progress_start(&progress, pipe_open(), "runs");
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
    assert_string_equal(pipe_close(), "2/4 tables  50.0%  1 tables/s  2s left\n"
                                      "3/4 tables  75.0%  1 tables/s  1s left\n");
}

TEST_MAIN(NULL, NULL)
