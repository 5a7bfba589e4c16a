// waker theory: tables, JSON, files, the same output for any number of threads, and bad input.
#include "support/check.h"
#include "support/program.h"

#include <stdio.h>
#include <stdlib.h>

#define SHORT "theory --quiet --instances 600 --episodes 60 --seeds 2 --rewards 3 "

TEST_CASE(both_parts_are_shown_and_nothing_is_broken)
{
    program_prints(SHORT, "Proposition 1", "Simulation Lemma", " 0 violated", "slippery",
                   "share of the gain", "oracle", "waker-r");
    program_result r = program_succeed(SHORT "--part check --family chain");
    assert_null(strstr(r.out, "oracle"));
    assert_null(strstr(r.out, "windy"));
}

TEST_CASE(the_json_can_be_parsed_and_has_the_numbers)
{
    program_result r = program_succeed(SHORT "--json --family chain,windy --seed 7");
    program_expect_json(r.out);
    expect_parts(r.out, "\"violations\": 0", "\"regret_over_bound\"", "\"waker-m-true\"",
                 "\"share_of_gain\"", "\"seed\": 7");
}

TEST_CASE(the_output_does_not_depend_on_threads_but_on_the_seed)
{
    char *one = strdup(program_run(SHORT "--json --threads 1").out);
    program_result r = program_succeed(SHORT "--json --threads 3");
    assert_string_equal(one, r.out);
    r = program_run(SHORT "--json --threads 3 --seed 1");
    assert_string_not_equal(one, r.out);
    free(one);
}

TEST_CASE(the_folder_gets_tables_and_figures)
{
    program_succeed(SHORT "--family chain --out a/lab");
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

TEST_CASE(bad_input_is_refused_with_what_to_write)
{
    program_refuses("theory --family slipery", "slippery");
    program_refuses("theory --family chain,", "family");
    program_refuses("theory --family chain,chain", "twice");
    program_refuses("theory --part bounds", "part");
    program_refuses("theory --exploration greedy", "exploration");
    program_refuses("theory --model both", "model");
    program_refuses("theory --gamma 1", "gamma");
    program_refuses("theory --instances 0", "instances");
    program_refuses("theory chain", "unexpected argument");
    program_succeed("theory --help > file");
    program_expect_error(program_run(SHORT "--part check --out file/inner"), 1, "file");
}

TEST_CASE(a_terminal_shows_how_far_it_is)
{
    const char *terminal = "TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])'";
    const char *options = "theory --part curricula --family chain --episodes 1000 --seeds 2";
    program_result r = program_run_after(terminal, options);
    program_expect_success(r);
    expect_parts(r.out, "12/12 runs", "runs/s");
    r = program_run_after("", options);
    program_expect_success(r);
    assert_null(strstr(r.out, "runs/s"));
}

TEST_MAIN(program_setup, program_teardown)
