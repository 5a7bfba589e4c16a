// The program as a whole: help, unknown names, global options, exit codes, output that cannot be
// written.
#include "support/check.h"
#include "support/program.h"

TEST_CASE(without_arguments_the_commands_are_listed)
{
    program_result r = program_succeed(" ");
    expect_parts(r.out, "envs", "render", "bench env", "doctor", "Exit codes", "--threads");
    assert_string_equal(r.err, "");
}

TEST_CASE(a_command_has_help_with_usage_options_and_an_example)
{
    static const char *const commands[] = {"envs", "train", "bench env"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result r = program_succeed("%s --help", commands[i]);
        expect_parts(r.out, "Usage: waker ", "Options:", "Example:", "--quiet");
    }
    program_prints("help render", "--sheet");
    program_succeed("render -h");
}

TEST_CASE(a_group_of_commands_has_help)
{
    static const char *const ways[] = {"bench --help", "bench -h", "help bench"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        program_result r = program_succeed("%s", ways[i]);
        expect_parts(r.out, "bench env", "bench update");
        assert_null(strstr(r.out, "train"));
    }
    program_refuses("bench", "needs a subcommand");
    program_refuses("bunch --help", "bench");
}

TEST_CASE(the_version_is_shown)
{
    static const char *const ways[] = {"--version", "train --version", "doctor --version"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        program_result r = program_succeed("%s", ways[i]);
        assert_int_equal(strncmp(r.out, "waker 0.", 8), 0);
        assert_string_equal(strchr(r.out, '\n'), "\n"); // and nothing else
    }
}

TEST_CASE(an_unknown_command_names_the_nearest)
{
    program_refuses("redner", "did you mean 'render'?");
    program_refuses("zzzzzzzzzzzz", "unknown command 'zzzzzzzzzzzz'");
    program_refuses("bench", "'waker bench env'");
    program_refuses("bench gpu", "has no subcommand 'gpu'");
}

TEST_CASE(an_unknown_option_names_the_nearest)
{
    program_refuses("render --domian x", "did you mean '--domain'?");
    program_refuses("render --thread=1", "did you mean '--threads'?");
    program_refuses("envs -x", "unknown option '-x'");
    program_refuses("--colour envs", "unknown option '--colour'");
}

TEST_CASE(options_are_typed_and_checked)
{
    program_refuses("envs --threads -1", "--threads: -1 is outside 0 to 1024");
    program_refuses("--threads=-1 envs", "--threads: -1 is outside");
    program_refuses("envs --threads two", "'two' is not a whole number");
    program_refuses("envs --threads 99999999999999999999", "is outside");
    program_succeed("envs --threads 1e1");
    program_refuses("envs --threads 1e-1", "is not a whole number");
    program_refuses("envs --threads nan", "is not a whole number");
    program_refuses("envs --threads 0x1", "is not a whole number");
    program_refuses("bench env --seconds 0x1", "is not a number");
    program_refuses("eval nowhere --seed 1e2", "holds no run");
    program_refuses("eval nowhere --seed 1e-2", "--seed: '1e-2'");
    program_refuses("envs --threads", "--threads needs a value");
    program_refuses("envs --threads --json", "--threads needs a value");
    program_refuses("envs --json=yes", "--json takes no value");
    program_refuses("render --seed -1", "--seed: '-1'");
    program_refuses("bench env --seconds nan", "not a number");
    program_refuses("bench env --seconds 1e9", "outside");
    program_refuses("bench env --envs 0", "outside 1 to");
}

// Each says where the environments come from; the last one must not win in silence.
TEST_CASE(a_plugin_and_a_function_of_python_are_not_given_both)
{
    static const char *const both[] = {
        "train --logdir none --configs quick --plugin a.so --python m:f",
        "train --logdir none --configs quick --python=m:f --plugin=a.so",
        "eval none --python m:f --plugin a.so",
        "config --configs quick --plugin a.so --python m:f",
    };
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        program_refuses(both[i], "give --plugin or --python, not both");
    program_result r = program_run("config --configs quick --curriculum.plugin a.so --python m:f");
    assert_null(strstr(r.err, "not both")); // a plug-in of the curriculum is another matter
}

TEST_CASE(too_many_or_too_few_words_are_refused)
{
    program_refuses("doctor now", "unexpected argument 'now'");
    program_refuses("envs check", "missing argument");
    program_refuses("envs a b", "unexpected argument 'b'");
}

TEST_CASE(empty_paths_are_refused)
{
    static const char *const lines[] = {
        "train --configs toy --logdir",   "render --domain toy --out", "export nowhere --out",
        "report nowhere --out",           "curriculum nowhere --out",  "openloop nowhere --out",
        "model-error nowhere --out",      "train --config-file",       "envs --plugin",
        "finetune x --curriculum.plugin", "eval nowhere --plugin"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        program_expect_error(program_run("%s ''", lines[i]), 2, "the path is empty");
        program_expect_error(program_run("%s=", lines[i]), 2, "the path is empty");
    }
    static const char *const commands[] = {"eval", "ckpt", "adapt --task all", "report", "export"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        program_expect_error(program_run("%s ''", commands[i]), 2, "argument 1 is empty");
}

TEST_CASE(usage_errors_point_to_the_help_of_the_command)
{
    program_refuses("render --size 0", "Try 'waker render --help'.");
    program_refuses("nothing-like-it", "Try 'waker --help'.");
    program_refuses("config --json --yaml", "Try 'waker config --help'.");
}

TEST_CASE(the_help_is_not_pointed_to_where_it_does_not_help)
{
    program_result r = program_run("train --logdir short --configs toy dr --length 32");
    program_expect_error(r, 2, "length 32 is more than the 21 rows of an episode of 'toy'");
    assert_null(strstr(r.err, "Try '"));
}

// A part of a path with a line break in it would otherwise look like a line of the output.
TEST_CASE(a_line_break_in_a_name_is_not_one_of_the_output)
{
    program_result r = program_run("config --configs toy --env.options \"$(printf 'a\\nb')\"");
    if (strstr(r.err, "a\nb") || strstr(r.out, "a\nb")) fail_msg("%s%s", r.err, r.out);
    r = program_run("ckpt \"$(printf 'no/a\\nb\\tc')\"");
    program_expect_error(r, 2, "'no/a b c'");
    program_prints("render --domain toy --out=\"$(printf 'x\\ny.png')\"", "written to x?y.png\n");
}

TEST_CASE(output_that_cannot_be_written_is_a_failure)
{
    program_expect_error(program_run("envs >/dev/full"), 1, "cannot write to standard output");
    program_expect_error(program_run("--help >/dev/full"), 1, "cannot write to standard output");
    // Output larger than the stream's memory fails before the end.
    program_expect_error(program_run("config --configs toy >/dev/full"), 1,
                         "cannot write to standard output: No space left on device");
}

TEST_CASE(two_dashes_end_the_options)
{
    program_refuses("envs -- --json", "--json");
}

TEST_MAIN(program_setup, program_teardown)
