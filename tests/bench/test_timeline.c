// The tables that bench/kernel_timeline makes of a trace, on a trace written by hand.
#include "support/check.h"
#include "support/python.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TRACE[] = "timeline.txt";

static void write_trace(const char *text)
{
    FILE *file = fopen(TRACE, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// What the script says of the trace; fails where its exit status is not `status`.
static void expect_output(const char *arguments, int status, char *out, size_t size)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %s/bench/kernel_timeline %s %s 2>&1",
             python_with("argparse"), WAKER_SOURCE_DIR, TRACE, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    int ended = pclose(pipe);
    if (WEXITSTATUS(ended) != status) fail_msg("%s: status %d, '%s'", command, ended, out);
}

// Two segments: one kernel; then two that overlap, a pause of 3 us, and a copy.
static const char SEGMENTS[] = "kernel 1000 2000 7 4,1,1 256 first\n"
                               "kernel 500000 510000 7 8,2,1 128 second\n"
                               "kernel 504000 512000 9 16,1,1 64 second\n"
                               "copy 515000 516000 7 0 4096 memcpy\n";

TEST_CASE(segments_are_cut_where_the_device_is_idle)
{
    char out[4096];
    write_trace(SEGMENTS);
    expect_output("--list", 0, out, sizeof out);
    assert_non_null(strstr(out, "      0       1        1.0\n"));
    assert_non_null(strstr(out, "      1       3       16.0\n"));
    expect_output("--list --idle 1000", 0, out, sizeof out);
    assert_non_null(strstr(out, "      0       4      515.0\n"));
}

TEST_CASE(a_timeline_has_starts_durations_and_gaps)
{
    char out[4096];
    write_trace(SEGMENTS);
    expect_output("--timeline", 0, out, sizeof out);
    assert_string_equal(strchr(out, '\n') + 1,
                        "      0.0    10.00    0.00        8,2,1       128  second\n"
                        "      4.0     8.00  beside       16,1,1        64  second\n"
                        "     15.0     1.00    3.00            0      4096  memcpy\n");
}

TEST_CASE(a_summary_adds_up_by_kernel)
{
    char out[4096];
    write_trace(SEGMENTS);
    expect_output("--top 1", 0, out, sizeof out);
    assert_non_null(strstr(out, "span 16.0 us, 3 kernels, copies and fills of 19.0 us in all, "
                                "idle 3.0 us\n"));
    assert_non_null(strstr(out, "     18.0      2     9.00  second\n"));
    assert_non_null(strstr(out, "      1.0      1           1 others\n"));
}

TEST_CASE(a_file_that_is_no_trace_is_refused_with_its_line)
{
    char out[4096];
    write_trace("kernel 1000 2000 7 4,1,1 256 first\nsomething else\n");
    expect_output("", 1, out, sizeof out);
    assert_string_equal(out, "kernel_timeline: timeline.txt:2: not a line of a kernel trace\n");
}

TEST_MAIN(NULL, NULL)
