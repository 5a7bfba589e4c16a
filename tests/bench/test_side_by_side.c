// bench/side-by-side with programs that stand in for waker and for a Python with JAX: the table and
// its summary where one of them is missing.
#include "support/check.h"
#include "support/python.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Writes a shell script of this name into the test's folder.
static void write_program(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", text) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(name, 0755), 0);
}

static void expect_output(const char *arguments, int status, char *out, size_t size)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %s/bench/side-by-side %s 2>&1", python_with("argparse"),
             WAKER_SOURCE_DIR, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    int ended = pclose(pipe);
    if (WEXITSTATUS(ended) != status) fail_msg("%s: status %d, '%s'", command, ended, out);
}

static void write_waker(void)
{
    write_program("fake-waker", "echo '{\"update\": {\"median_ms\": 6}, \"device\": \"card\", "
                                "\"task_update\": {\"median_ms\": 5}, \"both_ms\": 10, "
                                "\"device_bytes\": 104857600}'");
}

// JAX sees `platform`; an update takes it `ms`.
static void write_jax(const char *platform, const char *ms)
{
    char text[512];
    snprintf(text, sizeof text,
             "[ \"$1\" = -c ] && echo 0.1.2 %s && exit\n"
             "echo '{\"update\": {\"median_ms\": %s}, \"device\": \"card\", "
             "\"device_bytes\": 52428800}'",
             platform, ms);
    write_program("fake-python", text);
}

static void times_of_both_are_a_row_with_ratios(void **state)
{
    (void)state;
    char out[4096];
    write_waker();
    write_jax("gpu", "25");
    expect_output("--waker ./fake-waker --python ./fake-python --tasks 5 --rounds 2", 0, out,
                  sizeof out);
    assert_non_null(strstr(out, "card, bf16, JAX 0.1.2, 2 x 30 updates\n"));
    assert_non_null(
        strstr(out, "\n| paper | 5 | 10.00 ms | 25.00 ms | 2.50 | 100 MiB | 50 MiB | 0.50 |\n"));
}

static void a_population_is_passed_on_and_named(void **state)
{
    (void)state;
    char out[4096];
    write_program("fake-waker", "case \"$*\" in *'--population 10'*) ;; *) exit 1 ;; esac\n"
                                "echo '{\"update\": {\"median_ms\": 6}, \"device\": \"card\", "
                                "\"device_bytes\": 0}'");
    write_jax("gpu", "25");
    expect_output("--waker ./fake-waker --python ./fake-python --tasks 0 --rounds 1 "
                  "--population 10",
                  0, out, sizeof out);
    assert_non_null(strstr(out, "1 x 30 updates, 10 runs together\n"));
}

static void a_missing_waker_is_named(void **state)
{
    (void)state;
    char out[4096];
    expect_output("--waker ./no-waker", 1, out, sizeof out);
    assert_non_null(strstr(out, "side-by-side: there is no ./no-waker; build it"));
}

static void a_python_without_jax_is_named(void **state)
{
    (void)state;
    char out[4096];
    write_waker();
    write_program("fake-python", "echo \"No module named 'jax'\" >&2; exit 1");
    expect_output("--waker ./fake-waker --python ./fake-python", 1, out, sizeof out);
    assert_string_equal(out, "side-by-side: JAX of ./fake-python (--python names another): "
                             "No module named 'jax'\n");
}

static void a_jax_without_gpu_is_refused(void **state)
{
    (void)state;
    char out[4096];
    write_waker();
    write_jax("cpu", "25");
    expect_output("--waker ./fake-waker --python ./fake-python", 1, out, sizeof out);
    assert_non_null(strstr(out, "JAX 0.1.2 of ./fake-python sees no GPU, only cpu; install"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_both_are_a_row_with_ratios),
        cmocka_unit_test(a_population_is_passed_on_and_named),
        cmocka_unit_test(a_missing_waker_is_named),
        cmocka_unit_test(a_python_without_jax_is_named),
        cmocka_unit_test(a_jax_without_gpu_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
