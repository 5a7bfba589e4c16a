// The table of a population: what it says, how it fits, and what reaches a terminal and a pipe.
#include "log/logs.h"
#include "log/run_table.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { RUNS = 3, WIDEST = 120, SCREEN_ROWS = 40 };

static wk_run_row rows[20]; // RUNS of them, made for every test
static wk_run_table table;

static int make_rows(void **state)
{
    rows[0] = wk_run_row_empty("waker-m-seed0", "running");
    rows[0].values = (wk_status_values){.steps = 12345,
                                        .total = 50000,
                                        .updates = 1000,
                                        .updates_per_second = 52.14,
                                        .seconds = {5, 2, 3, 88, 2},
                                        .seconds_left = 600,
                                        .model_loss = 4321.5,
                                        .mean_error = 0.1234,
                                        .device = "cuda:0 H200"};
    rows[0].visited = 35;
    rows[0].last_eval = 0.5125;
    rows[1] = wk_run_row_empty("dr-seed0", "evaluating");
    rows[1].values = rows[0].values;
    rows[1].values.steps = 25000;
    rows[1].values.seconds_left = 900;
    rows[1].values.model_loss = 99.25;
    rows[2] = wk_run_row_empty("dr-seed1", "failed");
    rows[2].values.total = 50000;
    return 0;
}

// A table on the pipe: of a terminal of that size, or with width 0 as lines.
static void start(int width, int height)
{
    wk_run_table_start(&table, pipe_open(), 10);
    table.line.live = width > 0;
    table.line.interval = width > 0 ? 0.2 : 10;
    table.line.width = width;
    table.line.height = height;
}

static void expect_text(int count, int width, int height, const char *text)
{
    wk_text out = {0};
    wk_run_table_text(rows, count, width, height, &out);
    assert_string_equal(wk_text_get(&out), text);
    wk_text_free(&out);
}

static const char whole[] =
    "3 runs  24.9%  104 updates/s  env 7% replay 3% learn 88% log 2%  15m00s left  cuda:0 H200\n"
    "run            state         agent steps   done  updates/s    left   loss  error  visited    "
    "eval\n"
    "waker-m-seed0  running     12,345/50,000  24.7%       52.1  10m00s   4322  0.123       35  "
    "0.5125\n"
    "dr-seed0       evaluating  25,000/50,000  50.0%       52.1  15m00s  99.25  0.123        -     "
    " "
    " -\n"
    "dr-seed1       failed           0/50,000   0.0%          -       -      -      -        -     "
    " "
    " -";

TEST_CASE(a_table_says_everything_that_is_known)
{
    expect_text(RUNS, 0, 0, whole);
}

TEST_CASE(a_narrow_table_loses_the_least_important_columns_first)
{
    expect_text(RUNS, 60, 0,
                "3 runs  104 updates/s  15m00s left\n"
                "run            state         agent steps   done  updates/s\n"
                "waker-m-seed0  running     12,345/50,000  24.7%       52.1\n"
                "dr-seed0       evaluating  25,000/50,000  50.0%       52.1\n"
                "dr-seed1       failed           0/50,000   0.0%          -");
    expect_text(RUNS, 8, 0, "3 runs  \nrun\nwaker-m-\ndr-seed0\ndr-seed1");
}

TEST_CASE(a_long_name_loses_its_middle_before_columns_go)
{
    rows[0].name = "waker-m-exploration_rate0.0001-saturation_scale1-seed0";
    expect_text(RUNS, 68, 0,
                "3 runs  104 updates/s  15m00s left\n"
                "run                      state         agent steps   done  updates/s\n"
                "waker-m-ex...ale1-seed0  running     12,345/50,000  24.7%       52.1\n"
                "dr-seed0                 evaluating  25,000/50,000  50.0%       52.1\n"
                "dr-seed1                 failed           0/50,000   0.0%          -");
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        size_t width = wk_utf8_width(text, length);
        if (width > widest) widest = width;
    }
    return widest;
}

static int line_count(const char *text)
{
    int count = 1;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

TEST_CASE(a_table_fits_every_terminal)
{
    for (int i = RUNS; i < 20; i++)
        rows[i] = rows[i % RUNS];
    for (int width = 1; width < 150; width++)
        for (int height = 1; height < 26; height++) {
            wk_text out = {0};
            wk_run_table_text(rows, 20, width, height, &out);
            assert_true(widest_line(wk_text_get(&out)) <= (size_t)width);
            assert_true(line_count(wk_text_get(&out)) <= height);
            wk_text_free(&out);
        }
}

TEST_CASE(rows_that_do_not_fit_are_counted)
{
    for (int i = 0; i < 20; i++)
        rows[i] = wk_run_row_empty("a", "running");
    expect_text(20, 20, 5,
                "20 runs  \n"
                "run  state    done\n"
                "a    running     -\n"
                "a    running     -\n"
                "… and 18 more");
    expect_text(3, 20, 5,
                "3 runs  \n"
                "run  state    done\n"
                "a    running     -\n"
                "a    running     -\n"
                "a    running     -");
}

TEST_CASE(names_cannot_steer_the_terminal)
{
    wk_run_row row = wk_run_row_empty("a\x1b[2Jb\nc", "run\rning");
    wk_text out = {0};
    wk_run_table_text(&row, 1, 0, 0, &out);
    assert_null(strchr(wk_text_get(&out), '\x1b'));
    assert_non_null(strstr(wk_text_get(&out), "\na?[2Jb?c  run?ning"));
    wk_text_free(&out);
}

TEST_CASE(a_pipe_gets_a_line_for_each_run_at_the_interval)
{
    start(0, 0);
    wk_run_table_update(&table, rows, RUNS, 100);
    rows[0].values.steps++;
    wk_run_table_update(&table, rows, RUNS, 105); // too soon
    wk_run_table_log(&table, WK_LOG_WARN, "dr-seed1: disk full");
    wk_run_table_finish(&table, rows + 2, 1);
    assert_string_equal(
        pipe_close(),
        "3 runs  24.9%  104 updates/s  env 7% replay 3% learn 88% log 2%  15m00s left  "
        "cuda:0 H200\n"
        "waker-m-seed0: running  12,345/50,000 agent steps  24.7%  52.1 updates/s  loss 4322  "
        "error 0.123  10m00s left  35 visited  eval 0.5125\n"
        "dr-seed0: evaluating  25,000/50,000 agent steps  50.0%  52.1 updates/s  loss 99.25  "
        "error 0.123  15m00s left\n"
        "dr-seed1: failed  0/50,000 agent steps  0.0%\n"
        "waker: warning: dr-seed1: disk full\n"
        "1 run  0.0%\n"
        "dr-seed1: failed  0/50,000 agent steps  0.0%\n");
}

TEST_CASE(a_terminal_sees_the_table_redrawn_in_place)
{
    rows[0] = wk_run_row_empty("a", "running");
    rows[1] = wk_run_row_empty("b", "running");
    start(25, 10);
    wk_run_table_update(&table, rows, 2, 0);
    wk_run_table_update(&table, rows, 2, 0.1); // too soon
    wk_run_table_update(&table, rows, 2, 0.5); // nothing new
    rows[1].state = "failed";
    wk_run_table_update(&table, rows, 2, 1);
    wk_run_table_log(&table, WK_LOG_INFO, "saved");
    wk_run_table_finish(&table, rows, 2);
    assert_string_equal(pipe_close(), "\r2 runs  \x1b[K\n"
                                      "run  state    done\x1b[K\n"
                                      "a    running     -\x1b[K\n"
                                      "b    running     -\x1b[K"
                                      "\r\x1b[3A2 runs  \x1b[K\n"
                                      "run  state    done\x1b[K\n"
                                      "a    running     -\x1b[K\n"
                                      "b    failed      -\x1b[K\x1b[J"
                                      "\r\x1b[3A\x1b[Jsaved\n"
                                      "2 runs  \x1b[K\n"
                                      "run  state    done\x1b[K\n"
                                      "a    running     -\x1b[K\n"
                                      "b    failed      -\n");
}

// A terminal of one size: text, line breaks, moves up and clearing. Behind a row that is full the
// cursor stays on the last character until the next one comes, as in all terminals.
typedef struct screen {
    int columns, row, column;
    bool full; // the cursor stands on the last character, which is written
    char rows[SCREEN_ROWS][WIDEST + 1];
} screen;

static void clear_from(screen *s, int row, int column)
{
    for (int i = column; i < s->columns; i++)
        s->rows[row][i] = ' ';
}

// What follows "\x1b["; returns the bytes of it.
static size_t obey(screen *s, const char *bytes)
{
    int number, used = 0;
    if (*bytes == 'K' || *bytes == 'J') clear_from(s, s->row, s->column);
    for (int i = s->row + 1; *bytes == 'J' && i < SCREEN_ROWS; i++)
        clear_from(s, i, 0);
    if (*bytes == 'K' || *bytes == 'J') return 1;
    assert_int_equal(sscanf(bytes, "%dA%n", &number, &used), 1);
    assert_true(used > 0 && number <= s->row);
    s->row -= number;
    return (size_t)used;
}

static void put_char(screen *s, char c)
{
    if (c == '\r' || c == '\n' || s->full) s->column = 0;
    if (c == '\n' || (s->full && c != '\r')) s->row++;
    s->full = false;
    assert_true(s->row < SCREEN_ROWS);
    if (c == '\r' || c == '\n') return;
    s->rows[s->row][s->column] = c;
    s->full = s->column == s->columns - 1;
    if (!s->full) s->column++;
}

static void show_on(screen *s, int columns, const char *bytes)
{
    *s = (screen){.columns = columns};
    for (int i = 0; i < SCREEN_ROWS; i++)
        clear_from(s, i, 0);
    while (*bytes)
        if (strncmp(bytes, "\x1b[", 2) == 0)
            bytes += 2 + obey(s, bytes + 2);
        else
            put_char(s, *bytes++);
}

static void assert_row(const screen *s, int row, const char *text, size_t length)
{
    char padded[WIDEST + 1];
    snprintf(padded, sizeof padded, "%-*.*s", s->columns, (int)length, text);
    assert_string_equal(s->rows[row], padded);
}

// In every width, that in which a row just fits too, nothing of what was written is missing.
TEST_CASE(a_terminal_of_any_width_shows_all_of_the_heading_table_and_message)
{
    static const char heading[] = "3 of 4 runs done, 1 running, 0 failed";
    for (int columns = 9; columns <= WIDEST; columns++) {
        wk_text text = {0};
        screen s;
        char message[WIDEST + 1] = "";
        memset(message, 'm', (size_t)columns); // fills its row
        start(columns, 24);
        wk_run_table_show_under(&table, "", rows, RUNS);
        wk_run_table_show_under(&table, heading, rows, RUNS);
        wk_run_table_log(&table, WK_LOG_INFO, message);
        wk_run_table_show_under(&table, heading, rows, RUNS - 1);
        show_on(&s, columns, pipe_close());
        wk_run_table_text(rows, RUNS - 1, columns - 1, 22, &text);
        assert_row(&s, 0, message, strlen(message));
        assert_row(&s, 1, heading,
                   strlen(heading) < (size_t)columns ? strlen(heading) : (size_t)columns - 1);
        int row = 2;
        for (const char *at = wk_text_get(&text); *at; row++) {
            size_t length = strcspn(at, "\n");
            assert_row(&s, row, at, length);
            at += length + (at[length] == '\n');
        }
        for (; row < SCREEN_ROWS; row++)
            assert_row(&s, row, "", 0);
        wk_text_free(&text);
        wk_status_line_end(&table.line);
    }
}

TEST_CASE(a_pipe_gets_the_heading_alone)
{
    start(0, 0);
    wk_run_table_show_under(&table, "3 of 4 runs done", rows, RUNS);
    wk_status_line_end(&table.line);
    assert_string_equal(pipe_close(), "3 of 4 runs done\n");
}

TEST_CASE(a_terminal_that_became_narrower_is_cleared_where_lines_wrapped)
{
    wk_run_row row = wk_run_row_empty("a", "running");
    start(25, 10);
    wk_run_table_update(&table, &row, 1, 0);
    pipe_drain();
    table.line.width = 10; // 7, 18 and 18 characters: five rows
    wk_run_table_update(&table, &row, 1, 1);
    wk_run_table_finish(&table, &row, 1);
    assert_int_equal(strncmp(pipe_close(), "\r\x1b[4A", 5), 0);
}

int main(void)
{
    return run_each_test(make_rows, NULL);
}
