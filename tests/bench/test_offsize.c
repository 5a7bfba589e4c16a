// bench/offsize with a program that stands in for bench_update: predictions, and the sizes that are
// slow in silence.
#include "support/check.h"
#include "support/python.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The preset takes 2 ms for 10 GFLOP; other sizes 6 ms for 20, and warn of batches alone.
static const char program[] =
    "#!/bin/sh\n"
    "case $1 in\n"
    "*,*) echo 'arithmetic: 20.0 GFLOP'; echo 'update as in a run: 6.000 ms (median)';;\n"
    "small) echo 'arithmetic: 10.0 GFLOP'; echo 'update as in a run: 2.000 ms (median)';;\n"
    "*) echo 'no such sizes' >&2; exit 1;;\n"
    "esac\n"
    "case $1 in *batch*) echo 'slow path: too many sequences';; esac\n";

static int run_offsize(const char *sizes, char *out, size_t size)
{
    char command[1024];
    FILE *file = fopen("fake-bench", "w");
    assert_non_null(file);
    assert_true(fputs(program, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod("fake-bench", 0755), 0);
    snprintf(command, sizeof command, "%s %s/bench/offsize --bench ./fake-bench --sizes %s 2>&1",
             python_with("argparse"), WAKER_SOURCE_DIR, sizes);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

TEST_CASE(a_slow_size_that_warns_is_a_row)
{
    char out[4096];
    assert_int_equal(run_offsize("small small,batch=24", out, sizeof out), 0);
    assert_non_null(strstr(out, "| small | 10.0 | 2.00 ms | 2.00 ms | 1.00 | none |\n"));
    assert_non_null(
        strstr(out, "| small,batch=24 | 20.0 | 4.00 ms | 6.00 ms | 1.50 | too many sequences |\n"));
}

TEST_CASE(a_slow_size_without_a_warning_fails)
{
    char out[4096];
    assert_int_equal(run_offsize("small,deter=512", out, sizeof out), 1);
    assert_non_null(strstr(out, "| small,deter=512 | 20.0 | 4.00 ms | 6.00 ms | 1.50 | none |\n"));
    assert_non_null(strstr(out, "without a warning: small,deter=512\n"));
}

TEST_CASE(a_program_that_fails_is_named)
{
    char out[4096];
    assert_int_equal(run_offsize("large", out, sizeof out), 1);
    assert_non_null(strstr(out, "./fake-bench large cuda 0 30: no such sizes"));
}

TEST_MAIN(NULL, NULL)
