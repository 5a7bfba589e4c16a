// waker theory: tables, JSON, files, the same output for any number of threads, and bad input.
#include "support/check.h"
#include "support/program.h"

#include <stdio.h>
#include <stdlib.h>

#define SHORT "theory --quiet --instances 600 --episodes 60 --seeds 2 --rewards 3 "

static void both_parts_are_shown_and_nothing_is_broken(void **state)
{
    program_result r = program_run(SHORT);
    program_expect_success(r);
    const char *const parts[] = {"Proposition 1",     "Simulation Lemma", " 0 violated", "slippery",
                                 "share of the gain", "oracle",           "waker-r"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(r.out, parts[i]));
    r = program_run(SHORT "--part check --family chain");
    program_expect_success(r);
    assert_null(strstr(r.out, "oracle"));
    assert_null(strstr(r.out, "windy"));
}

static void the_json_can_be_parsed_and_has_the_numbers(void **state)
{
    program_result r = program_run(SHORT "--json --family chain,windy --seed 7");
    program_expect_success(r);
    program_expect_json(r.out);
    const char *const parts[] = {"\"violations\": 0", "\"regret_over_bound\"", "\"waker-m-true\"",
                                 "\"share_of_gain\"", "\"seed\": 7"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(r.out, parts[i]));
}

static void the_output_does_not_depend_on_threads_but_on_the_seed(void **state)
{
    char *one = strdup(program_run(SHORT "--json --threads 1").out);
    program_result r = program_run(SHORT "--json --threads 3");
    program_expect_success(r);
    assert_string_equal(one, r.out);
    r = program_run(SHORT "--json --threads 3 --seed 1");
    assert_string_not_equal(one, r.out);
    free(one);
}

static void the_folder_gets_tables_and_figures(void **state)
{
    program_expect_success(program_run(SHORT "--family chain --out a/lab"));
    const char *const names[] = {"check.csv",
                                 "check.svg",
                                 "curves.csv",
                                 "shares.csv",
                                 "visits.csv",
                                 "max-regret-chain.png",
                                 "max-bound-chain.svg",
                                 "mean-regret-chain.svg",
                                 "visits-chain-waker-m-true.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        unsigned long size = 0;
        snprintf(path, sizeof path, "a/lab/%s", names[i]);
        unsigned char *bytes = program_read(path, &size);
        if (!bytes || size < 100) fail_msg("%s is missing or empty", path);
        free(bytes);
    }
    unsigned long size;
    char *curves = (char *)program_read("a/lab/curves.csv", &size);
    int lines = 0;
    for (char *c = curves; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 1 + 6 * 2 * 13); // curricula, seeds, points
    free(curves);
}

static void bad_input_is_refused_with_what_to_write(void **state)
{
    program_expect_error(program_run("theory --family slipery"), 2, "slippery");
    program_expect_error(program_run("theory --family chain,"), 2, "family");
    program_expect_error(program_run("theory --family chain,chain"), 2, "twice");
    program_expect_error(program_run("theory --part bounds"), 2, "part");
    program_expect_error(program_run("theory --exploration greedy"), 2, "exploration");
    program_expect_error(program_run("theory --model both"), 2, "model");
    program_expect_error(program_run("theory --gamma 1"), 2, "gamma");
    program_expect_error(program_run("theory --instances 0"), 2, "instances");
    program_expect_error(program_run("theory chain"), 2, "unexpected argument");
    program_expect_success(program_run("theory --help > file"));
    program_expect_error(program_run(SHORT "--part check --out file/inner"), 1, "file");
}

static void a_terminal_shows_how_far_it_is(void **state)
{
    const char *terminal = "TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])'";
    const char *options = "theory --part curricula --family chain --episodes 1000 --seeds 2";
    program_result r = program_run_after(terminal, options);
    program_expect_success(r);
    assert_non_null(strstr(r.out, "12/12 runs"));
    assert_non_null(strstr(r.out, "runs/s"));
    r = program_run_after("", options);
    program_expect_success(r);
    assert_null(strstr(r.out, "runs/s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_parts_are_shown_and_nothing_is_broken),
        cmocka_unit_test(the_json_can_be_parsed_and_has_the_numbers),
        cmocka_unit_test(the_output_does_not_depend_on_threads_but_on_the_seed),
        cmocka_unit_test(the_folder_gets_tables_and_figures),
        cmocka_unit_test(bad_input_is_refused_with_what_to_write),
        cmocka_unit_test(a_terminal_shows_how_far_it_is),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
