// Runs Python scripts of tests: WAKER_PYTHON, else python3.
#ifndef WK_TESTS_REPORT_PYTHON_H
#define WK_TESTS_REPORT_PYTHON_H

#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

static inline const char *python(void)
{
    const char *named = getenv("WAKER_PYTHON");
    return named ? named : "python3";
}

/// The exit status of a script with one argument.
static inline int run_python(const char *script, const char *argument)
{
    char command[8192];
    int length = snprintf(command, sizeof command, "%s - '%s' <<'END'\n%s\nEND\n", python(),
                          argument, script);
    assert_true(length < (int)sizeof command);
    return system(command);
}

/// Skips the test where there is no Python.
static inline void need_python(void)
{
    if (run_python("", "") == 0) return;
    print_message("skipped: no %s; set WAKER_PYTHON\n", python());
    skip();
}

#endif
