#include "support/check.h"

enum { TESTS_MAX = 128 };

static struct CMUnitTest tests[TESTS_MAX];
static int lines[TESTS_MAX];
static size_t count;

// Constructors run in any order.
void check_register(const char *name, void (*function)(void **state), int line)
{
    size_t at = count++;
    if (count > TESTS_MAX) abort();
    for (; at > 0 && lines[at - 1] > line; at--) {
        tests[at] = tests[at - 1];
        lines[at] = lines[at - 1];
    }
    tests[at] = (struct CMUnitTest){.name = name, .test_func = function};
    lines[at] = line;
}

int run_all_tests(int (*setup)(void **state), int (*teardown)(void **state))
{
    return _cmocka_run_group_tests("tests", tests, count, setup, teardown);
}

int run_each_test(int (*setup)(void **state), int (*teardown)(void **state))
{
    for (size_t i = 0; i < count; i++) {
        tests[i].setup_func = setup;
        tests[i].teardown_func = teardown;
    }
    return run_all_tests(NULL, NULL);
}
