// waker bench curriculum: table, JSON, files, the same output for any number of threads; what a
// rule must do where the learning curves are made for it; waker curriculum --rules.
#include "support/check.h"
#include "support/program.h"

#include <stdio.h>
#include <stdlib.h>

#define SHORT "bench curriculum --quiet --episodes 400 --seeds 2 "

static void the_output_does_not_depend_on_threads_but_on_the_seed(void **state)
{
    (void)state;
    program_result r = program_run(SHORT "--json --threads 1 --rules waker-m,accel,traced");
    program_expect_success(r);
    program_expect_json(r.out);
    char *one = strdup(r.out);
    assert_string_equal(one,
                        program_run(SHORT "--json --threads 3 --rules waker-m,accel,traced").out);
    r = program_run(SHORT "--json --threads 3 --rules waker-m,accel,traced --seed 1");
    assert_string_not_equal(one, r.out);
    free(one);
}

// The number of a rule in a column of the table.
static double cell(const char *table, const char *rule, int column)
{
    char start[64];
    snprintf(start, sizeof start, "\n%s ", rule);
    const char *at = strstr(table, start);
    if (!at) fail_msg("no row '%s' in:\n%s", rule, table);
    char *next = (char *)at + strlen(start);
    double value = NAN;
    for (int i = 0; i < column; i++)
        value = strtod(next, &next);
    return value;
}

static void rules_do_what_the_scenarios_are_made_for(void **state)
{
    (void)state;
    enum { GRADED = 1, RARE, NOISE };
    program_result r = program_run(SHORT);
    program_expect_success(r);
    assert_near(cell(r.out, "dr", GRADED), 1, 0);
    assert_near(cell(r.out, "uniform", RARE), 1, 0.01); // dr is uniform here
    static const char *const by_error[] = {"waker-m", "disagreement", "plr", "accel", "ncc"};
    for (size_t i = 0; i < sizeof by_error / sizeof *by_error; i++) {
        assert_true(cell(r.out, by_error[i], GRADED) < 0.97);
        assert_true(cell(r.out, by_error[i], RARE) < 0.97);
    }
    // Images that are partly random mislead those who go by the error of images.
    assert_true(cell(r.out, "true-error", NOISE) > cell(r.out, "waker-m", NOISE) + 0.1);
}

static void the_folder_gets_curves_and_figures(void **state)
{
    (void)state;
    program_expect_success(program_run(SHORT "--rules plr --out b/rules"));
    static const char *const names[] = {"curves.csv", "rules.png", "graded.svg", "forgetting.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        unsigned long size = 0;
        snprintf(path, sizeof path, "b/rules/%s", names[i]);
        unsigned char *bytes = program_read(path, &size);
        if (!bytes || size < 100) fail_msg("%s is missing or empty", path);
        free(bytes);
    }
}

static void the_rules_are_explained(void **state)
{
    (void)state;
    program_result r = program_run("curriculum --rules");
    program_expect_success(r);
    static const char *const parts[] = {"waker-m: where", "plr-robust: ", "Rutherford",
                                        "needs    returns and completion of episodes",
                                        "he-oracle (always)"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(r.out, parts[i]));
    program_expect_error(program_run("curriculum"), 2, "a run is required");
    program_expect_error(program_run("curriculum a --rules"), 2, "give a run or --rules, not both");
    program_expect_error(program_run("bench curriculum --rules plrr"), 2, "'plr'");
    r = program_run("curriculum --rules --json");
    program_expect_success(r);
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"name\": \"waker-m\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_does_not_depend_on_threads_but_on_the_seed),
        cmocka_unit_test(rules_do_what_the_scenarios_are_made_for),
        cmocka_unit_test(the_folder_gets_curves_and_figures),
        cmocka_unit_test(the_rules_are_explained),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
