// waker config, as a user runs it.
#include "base/file.h"
#include "support/check.h"
#include "support/program.h"
#include <stdio.h>
#include <stdlib.h>

static void the_listing_has_values_sources_and_what_differs_from_the_paper(void **state)
{
    program_result r =
        program_run("config --configs terrain-walker waker-r paper --rssm.deter 512 --seed=3");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "differs: 600"));
    assert_non_null(strstr(r.out, "command line"));
    assert_non_null(strstr(r.out, "curriculum rules (waker-r)"));
    assert_non_null(strstr(r.out, "presets.yaml:"));
    assert_non_null(strstr(r.out, "5 of "));
    r = program_run("config --configs terrain-walker waker-r plan2explore paper");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "policy.exploration_rate     3.0e-05         differs: 0"));
    assert_non_null(strstr(r.out, "policy.saturation_scale     1               differs: 0"));
    assert_non_null(strstr(r.out, "4 of "));
}

static void blocks_that_undo_each_other_are_a_warning(void **state)
{
    program_result r = program_run("config --configs terrain-walker clean-up waker-m quick");
    program_expect_success(r);
    assert_non_null(strstr(r.err,
                           "'clean-up' (a domain) comes after 'terrain-walker' (a domain) "
                           "and overrides it with steps 4100000, domain clean-up; name one"));
    r = program_run("config --configs quick clean-up");
    program_expect_success(r);
    assert_non_null(strstr(r.err,
                           "'clean-up' (a domain) comes after 'quick' (a preset) and overrides it "
                           "with steps 4100000; name domains first and presets last"));
    assert_non_null(strstr(program_run("config --configs dr waker-m").err, "curriculum.rule"));
    r = program_run("config --configs clean-up ge plan2explore quick");
    program_expect_success(r);
    assert_string_equal(r.err, "");
}

static void keys_of_a_file_that_blocks_override_are_named(void **state)
{
    program_result r = program_run_after("printf 'steps: 777\\nbatch: 3\\n' >own.yaml;",
                                         "config --config-file own.yaml --configs clean-up");
    program_expect_success(r);
    const char *line =
        strstr(r.err, "--config-file: the blocks of --configs apply after the file's "
                      "keys and override them with steps 4100000 (own.yaml:1: 777); ");
    if (!line) fail_msg("%s", r.err);
    // What the command line says is what was meant.
    r = program_run("config --config-file own.yaml --configs clean-up --steps 200000");
    program_expect_success(r);
    assert_string_equal(r.err, "");
}

static void blocks_are_separated_by_blanks(void **state)
{
    program_expect_error(program_run("config --configs toy,quick"), 2,
                         "'toy,quick': names are separated by blanks, not by commas");
}

static void the_list_has_groups_and_descriptions(void **state)
{
    program_result r = program_run("config --list");
    program_expect_success(r);
    const char *const parts[] = {
        "Domains: name one first (domains.yaml)\n  terrain-walker  a planar",
        "\n  waker-m         ", "Presets", "\n  quick           minutes on two CPU"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(r.out, parts[i]));
    // Every block of the program says what it is.
    for (const char *line = r.out; *line; line += strcspn(line, "\n") + 1)
        if (line[0] == ' ') assert_true(strcspn(line, "\n") > 20);
    r = program_run("config --list --json");
    program_expect_success(r);
    assert_true(r.out[0] == '[' && strstr(r.out, "\"name\": \"waker-m\""));
    program_expect_error(program_run("config --configs toy --yaml --json"), 2,
                         "give --json or --yaml, not both");
}

static void a_word_that_may_be_a_configuration_is_hinted_at(void **state)
{
    program_expect_error(program_run("train toy"), 2, "--configs toy");
    program_expect_error(program_run("config toy"), 2, "--configs toy");
}

static void a_diff_shows_only_what_differs(void **state)
{
    program_result r = program_run("config --configs clean-up dr plan2explore paper --diff paper");
    program_expect_success(r);
    assert_string_equal(r.out, "no value differs from 'paper'\n");
    r = program_run("config --configs clean-up dr plan2explore paper --units 10 --diff paper");
    assert_non_null(strstr(r.out, "units  10     400\n"));
    assert_null(strstr(r.out, "layers"));
}

static void the_json_can_be_parsed(void **state)
{
    program_result r = program_run("config --configs combined --json");
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"train_every\": {\n    \"value\": 10"));
    assert_non_null(strstr(r.out, "\"paper\": 10"));
    assert_non_null(strstr(r.out, "\"paper\": \"variance\""));
    assert_non_null(strstr(r.out, "\"seed\": {\n    \"value\": 0"));
    r = program_run("config --seed 18446744073709551615 --json");
    assert_non_null(strstr(r.out, "\"value\": \"18446744073709551615\""));
    program_expect_json(program_run("config --configs quick --diff small --json").out);
}

static void a_users_file_adds_blocks(void **state)
{
    program_result r = program_run("config --list; printf 'mine:\\n  units: 77\\n' >mine.yaml");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "terrain-hopper  a planar"));
    r = program_run("config --config-file mine.yaml --list");
    assert_non_null(strstr(r.out, "Your own (mine.yaml)\n  mine\n"));
    r = program_run("config --config-file mine.yaml --configs small mine --yaml");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "\nunits: 77\n"));
    program_expect_error(program_run("config --config-file none.yaml"), 2, "none.yaml");
}

static void patterns_work_on_the_command_line(void **state)
{
    program_result r = program_run("config '--.*\\.rate' 0.25 --yaml");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "model:\n  rate: 0.25\n"));
    assert_non_null(strstr(r.out, "policy:\n  rate: 0.25\n"));
}

static void mistakes_name_the_nearest(void **state)
{
    program_expect_error(program_run("config --rssm.detr 5"), 2, "did you mean '--rssm.deter'?");
    program_expect_error(program_run("config --jsn"), 2, "did you mean '--json'?");
    program_expect_error(program_run("config --configs papr"), 2, "did you mean 'paper'?");
    program_expect_error(program_run("config --units 0.5"), 2, "command line: units: 0.5");
    program_expect_error(program_run("config --units"), 2, "--units needs a value");
    program_expect_error(program_run("config --configs"), 2, "--configs needs a value");
    program_expect_error(program_run("config --domain terain-walker"), 2, "'terrain-walker'");
    program_expect_error(program_run("config --prefill 1e12"), 2, "prefill");
    program_expect_error(program_run("config --plugin none.so"), 2, "none.so");
}

static void keys_are_found_by_what_they_are_about(void **state)
{
    program_result r = program_run("config --search rate");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "model.rate "));
    assert_non_null(strstr(r.out, "0 to 1"));
    assert_null(strstr(r.out, "batch"));
    r = program_run("config --search \"FREE nats\" --json");
    program_expect_success(r);
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"key\": \"model.free_nats\""));
    program_expect_error(program_run("config --search xylophone"), 2, "lists all keys");
    program_expect_error(program_run("config --lr 1"), 2, "--model.rate, --policy.rate");
    program_expect_error(program_run("config --agent 1"), 2, "'waker config --search agent'");
}

// The documented table is the program's own.
static void the_documentation_has_the_table_of_keys(void **state)
{
    wk_error err = {0};
    char *page;
    assert_ok(wk_file_read(WAKER_SOURCE_DIR "/docs/configuration.md", 1 << 20, &page, NULL, &err));
    program_result r = program_run("config --table");
    program_expect_success(r);
    if (!strstr(page, r.out))
        fail_msg("docs/configuration.md lacks the output of 'waker config --table'");
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_listing_has_values_sources_and_what_differs_from_the_paper),
        cmocka_unit_test(blocks_that_undo_each_other_are_a_warning),
        cmocka_unit_test(keys_of_a_file_that_blocks_override_are_named),
        cmocka_unit_test(blocks_are_separated_by_blanks),
        cmocka_unit_test(the_list_has_groups_and_descriptions),
        cmocka_unit_test(a_word_that_may_be_a_configuration_is_hinted_at),
        cmocka_unit_test(a_diff_shows_only_what_differs),
        cmocka_unit_test(the_json_can_be_parsed),
        cmocka_unit_test(a_users_file_adds_blocks),
        cmocka_unit_test(patterns_work_on_the_command_line),
        cmocka_unit_test(mistakes_name_the_nearest),
        cmocka_unit_test(keys_are_found_by_what_they_are_about),
        cmocka_unit_test(the_documentation_has_the_table_of_keys),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
