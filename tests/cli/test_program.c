// The program as a whole: help, unknown names, global options, exit codes, output that cannot be
// written.
#include "support/check.h"
#include "support/program.h"

static void without_arguments_the_commands_are_listed(void **state)
{
    program_result r = program_run(" ");
    program_expect_success(r);
    const char *const parts[] = {"envs",   "render",     "bench env",
                                 "doctor", "Exit codes", "--threads"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(r.out, parts[i]));
    assert_string_equal(r.err, "");
}

static void every_command_has_help_with_usage_options_and_an_example(void **state)
{
    const char *const commands[] = {"envs",   "envs check",  "render",     "bench env",
                                    "doctor", "train",       "curriculum", "ckpt",
                                    "export", "model-error", "card",       "theory"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result r = program_run("%s --help", commands[i]);
        program_expect_success(r);
        assert_non_null(strstr(r.out, "Usage: waker "));
        assert_non_null(strstr(r.out, "Options:"));
        assert_non_null(strstr(r.out, "Example:"));
        assert_non_null(strstr(r.out, "--quiet"));
    }
    program_result r = program_run("help render");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "--sheet"));
    program_expect_success(program_run("render -h"));
}

static void a_group_of_commands_has_help(void **state)
{
    static const char *const ways[] = {"bench --help", "bench -h", "help bench"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        program_result r = program_run("%s", ways[i]);
        program_expect_success(r);
        assert_non_null(strstr(r.out, "bench env"));
        assert_non_null(strstr(r.out, "bench update"));
        assert_null(strstr(r.out, "train"));
    }
    program_expect_error(program_run("bench"), 2, "needs a subcommand");
    program_expect_error(program_run("bunch --help"), 2, "bench");
}

static void the_version_is_shown(void **state)
{
    static const char *const ways[] = {"--version", "train --version", "doctor --version"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        program_result r = program_run("%s", ways[i]);
        program_expect_success(r);
        assert_int_equal(strncmp(r.out, "waker 0.", 8), 0);
        assert_string_equal(strchr(r.out, '\n'), "\n"); // and nothing else
    }
}

static void an_unknown_command_names_the_nearest(void **state)
{
    program_expect_error(program_run("redner"), 2, "did you mean 'render'?");
    program_expect_error(program_run("zzzzzzzzzzzz"), 2, "unknown command 'zzzzzzzzzzzz'");
    program_expect_error(program_run("bench"), 2, "'waker bench env'");
    program_expect_error(program_run("bench gpu"), 2, "has no subcommand 'gpu'");
}

static void an_unknown_option_names_the_nearest(void **state)
{
    program_expect_error(program_run("render --domian x"), 2, "did you mean '--domain'?");
    program_expect_error(program_run("render --thread=1"), 2, "did you mean '--threads'?");
    program_expect_error(program_run("envs -x"), 2, "unknown option '-x'");
    program_expect_error(program_run("--colour envs"), 2, "unknown option '--colour'");
}

static void options_are_typed_and_checked(void **state)
{
    program_expect_error(program_run("envs --threads -1"), 2, "--threads: -1 is outside 0 to 1024");
    program_expect_error(program_run("--threads=-1 envs"), 2, "--threads: -1 is outside");
    program_expect_error(program_run("envs --threads two"), 2, "'two' is not a whole number");
    program_expect_error(program_run("envs --threads 99999999999999999999"), 2, "is outside");
    program_expect_success(program_run("envs --threads 1e1"));
    program_expect_error(program_run("envs --threads 1e-1"), 2, "is not a whole number");
    program_expect_error(program_run("envs --threads nan"), 2, "is not a whole number");
    program_expect_error(program_run("envs --threads 0x1"), 2, "is not a whole number");
    program_expect_error(program_run("bench env --seconds 0x1"), 2, "is not a number");
    program_expect_error(program_run("eval nowhere --seed 1e2"), 2, "holds no run");
    program_expect_error(program_run("eval nowhere --seed 1e-2"), 2, "--seed: '1e-2'");
    program_expect_error(program_run("envs --threads"), 2, "--threads needs a value");
    program_expect_error(program_run("envs --threads --json"), 2, "--threads needs a value");
    program_expect_error(program_run("envs --json=yes"), 2, "--json takes no value");
    program_expect_error(program_run("render --seed -1"), 2, "--seed: '-1'");
    program_expect_error(program_run("bench env --seconds nan"), 2, "not a number");
    program_expect_error(program_run("bench env --seconds 1e9"), 2, "outside");
    program_expect_error(program_run("bench env --envs 0"), 2, "outside 1 to");
}

// Each says where the environments come from; the last one must not win in silence.
static void a_plugin_and_a_function_of_python_are_not_given_both(void **state)
{
    static const char *const both[] = {
        "train --logdir none --configs quick --plugin a.so --python m:f",
        "train --logdir none --configs quick --python=m:f --plugin=a.so",
        "eval none --python m:f --plugin a.so",
        "config --configs quick --plugin a.so --python m:f",
    };
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        program_expect_error(program_run("%s", both[i]), 2, "give --plugin or --python, not both");
    program_result r = program_run("config --configs quick --curriculum.plugin a.so --python m:f");
    assert_null(strstr(r.err, "not both")); // a plug-in of the curriculum is another matter
}

static void too_many_or_too_few_words_are_refused(void **state)
{
    program_expect_error(program_run("doctor now"), 2, "unexpected argument 'now'");
    program_expect_error(program_run("envs check"), 2, "missing argument");
    program_expect_error(program_run("envs a b"), 2, "unexpected argument 'b'");
}

static void empty_paths_are_refused(void **state)
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

static void usage_errors_point_to_the_help_of_the_command(void **state)
{
    program_expect_error(program_run("render --size 0"), 2, "Try 'waker render --help'.");
    program_expect_error(program_run("nothing-like-it"), 2, "Try 'waker --help'.");
    program_expect_error(program_run("config --json --yaml"), 2, "Try 'waker config --help'.");
}

static void the_help_is_not_pointed_to_where_it_does_not_help(void **state)
{
    program_result r = program_run("train --logdir short --configs toy dr --length 32");
    program_expect_error(r, 2, "length 32 is more than the 21 rows of an episode of 'toy'");
    assert_null(strstr(r.err, "Try '"));
}

// A part of a path with a line break in it would otherwise look like a line of the output.
static void a_line_break_in_a_name_is_not_one_of_the_output(void **state)
{
    program_result r = program_run("config --configs toy --env.options \"$(printf 'a\\nb')\"");
    if (strstr(r.err, "a\nb") || strstr(r.out, "a\nb")) fail_msg("%s%s", r.err, r.out);
    r = program_run("ckpt \"$(printf 'no/a\\nb\\tc')\"");
    program_expect_error(r, 2, "'no/a b c'");
    r = program_run("render --domain toy --out=\"$(printf 'x\\ny.png')\"");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "written to x?y.png\n"));
}

static void output_that_cannot_be_written_is_a_failure(void **state)
{
    program_expect_error(program_run("envs >/dev/full"), 1, "cannot write to standard output");
    program_expect_error(program_run("--help >/dev/full"), 1, "cannot write to standard output");
    // Output larger than the stream's memory fails before the end.
    program_expect_error(program_run("config --configs toy >/dev/full"), 1,
                         "cannot write to standard output: No space left on device");
}

static void two_dashes_end_the_options(void **state)
{
    program_expect_error(program_run("envs -- --json"), 2, "--json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_arguments_the_commands_are_listed),
        cmocka_unit_test(every_command_has_help_with_usage_options_and_an_example),
        cmocka_unit_test(a_group_of_commands_has_help),
        cmocka_unit_test(the_version_is_shown),
        cmocka_unit_test(an_unknown_command_names_the_nearest),
        cmocka_unit_test(an_unknown_option_names_the_nearest),
        cmocka_unit_test(options_are_typed_and_checked),
        cmocka_unit_test(a_plugin_and_a_function_of_python_are_not_given_both),
        cmocka_unit_test(too_many_or_too_few_words_are_refused),
        cmocka_unit_test(empty_paths_are_refused),
        cmocka_unit_test(usage_errors_point_to_the_help_of_the_command),
        cmocka_unit_test(the_help_is_not_pointed_to_where_it_does_not_help),
        cmocka_unit_test(a_line_break_in_a_name_is_not_one_of_the_output),
        cmocka_unit_test(output_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(two_dashes_end_the_options),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
