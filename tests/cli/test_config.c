// waker config, as a user runs it.
#include "base/file.h"
#include "support/check.h"
#include "support/program.h"
#include <stdio.h>
#include <stdlib.h>

TEST_CASE(the_listing_has_values_sources_and_what_differs_from_the_paper)
{
    program_result r =
        program_succeed("config --configs terrain-walker waker-r paper --rssm.deter 512 --seed=3");
    expect_parts(r.out, "differs: 600", "command line", "curriculum rules (waker-r)",
                 "presets.yaml:", "5 of ");
    program_prints("config --configs terrain-walker waker-r plan2explore paper",
                   "policy.exploration_rate     3.0e-05         differs: 0",
                   "policy.saturation_scale     1               differs: 0", "4 of ");
}

TEST_CASE(blocks_that_undo_each_other_are_a_warning)
{
    program_result r = program_succeed("config --configs terrain-walker clean-up waker-m quick");
    expect_parts(r.err, "'clean-up' (a domain) comes after 'terrain-walker' (a domain) "
                        "and overrides it with steps 4100000, domain clean-up; name one");
    r = program_succeed("config --configs quick clean-up");
    expect_parts(r.err, "'clean-up' (a domain) comes after 'quick' (a preset) and overrides it "
                        "with steps 4100000; name domains first and presets last");
    expect_parts(program_run("config --configs dr waker-m").err, "curriculum.rule");
    r = program_succeed("config --configs clean-up ge plan2explore quick");
    assert_string_equal(r.err, "");
}

TEST_CASE(keys_of_a_file_that_blocks_override_are_named)
{
    program_result r = program_run_after("printf 'steps: 777\\nbatch: 3\\n' >own.yaml;",
                                         "config --config-file own.yaml --configs clean-up");
    program_expect_success(r);
    const char *line =
        strstr(r.err, "--config-file: the blocks of --configs apply after the file's "
                      "keys and override them with steps 4100000 (own.yaml:1: 777); ");
    if (!line) fail_msg("%s", r.err);
    // What the command line says is what was meant.
    r = program_succeed("config --config-file own.yaml --configs clean-up --steps 200000");
    assert_string_equal(r.err, "");
}

TEST_CASE(blocks_are_separated_by_blanks)
{
    program_refuses("config --configs toy,quick",
                    "'toy,quick': names are separated by blanks, not by commas");
}

TEST_CASE(the_list_has_groups_and_descriptions)
{
    program_result r = program_succeed("config --list");
    expect_parts(r.out, "Domains: name one first (domains.yaml)\n  terrain-walker  a planar",
                 "\n  waker-m         ", "Presets", "\n  quick           minutes on two CPU");
    // Every block of the program says what it is.
    for (const char *line = r.out; *line; line += strcspn(line, "\n") + 1)
        if (line[0] == ' ') assert_true(strcspn(line, "\n") > 20);
    r = program_succeed("config --list --json");
    assert_true(r.out[0] == '[' && strstr(r.out, "\"name\": \"waker-m\""));
    program_refuses("config --configs toy --yaml --json", "give --json or --yaml, not both");
}

TEST_CASE(a_word_that_may_be_a_configuration_is_hinted_at)
{
    program_refuses("train toy", "--configs toy");
    program_refuses("config toy", "--configs toy");
}

TEST_CASE(a_diff_shows_only_what_differs)
{
    program_result r =
        program_succeed("config --configs clean-up dr plan2explore paper --diff paper");
    assert_string_equal(r.out, "no value differs from 'paper'\n");
    r = program_run("config --configs clean-up dr plan2explore paper --units 10 --diff paper");
    expect_parts(r.out, "units  10     400\n");
    assert_null(strstr(r.out, "layers"));
}

TEST_CASE(the_json_can_be_parsed)
{
    program_result r = program_run("config --configs combined --json");
    program_expect_json(r.out);
    expect_parts(r.out, "\"train_every\": {\n    \"value\": 10", "\"paper\": 10",
                 "\"paper\": \"variance\"", "\"seed\": {\n    \"value\": 0");
    program_prints("config --seed 18446744073709551615 --json",
                   "\"value\": \"18446744073709551615\"");
    program_expect_json(program_run("config --configs quick --diff small --json").out);
}

TEST_CASE(a_users_file_adds_blocks)
{
    program_prints("config --list; printf 'mine:\\n  units: 77\\n' >mine.yaml",
                   "terrain-hopper  a planar");
    program_prints("config --config-file mine.yaml --list", "Your own (mine.yaml)\n  mine\n");
    program_prints("config --config-file mine.yaml --configs small mine --yaml", "\nunits: 77\n");
    program_refuses("config --config-file none.yaml", "none.yaml");
}

TEST_CASE(patterns_work_on_the_command_line)
{
    program_prints("config '--.*\\.rate' 0.25 --yaml", "model:\n  rate: 0.25\n",
                   "policy:\n  rate: 0.25\n");
}

TEST_CASE(mistakes_name_the_nearest)
{
    program_refuses("config --rssm.detr 5", "did you mean '--rssm.deter'?");
    program_refuses("config --jsn", "did you mean '--json'?");
    program_refuses("config --configs papr", "did you mean 'paper'?");
    program_refuses("config --units 0.5", "command line: units: 0.5");
    program_refuses("config --units", "--units needs a value");
    program_refuses("config --configs", "--configs needs a value");
    program_refuses("config --domain terain-walker", "'terrain-walker'");
    program_refuses("config --prefill 1e12", "prefill");
    program_refuses("config --plugin none.so", "none.so");
}

TEST_CASE(keys_are_found_by_what_they_are_about)
{
    program_result r = program_succeed("config --search rate");
    expect_parts(r.out, "model.rate ", "0 to 1");
    assert_null(strstr(r.out, "batch"));
    r = program_succeed("config --search \"FREE nats\" --json");
    program_expect_json(r.out);
    expect_parts(r.out, "\"key\": \"model.free_nats\"");
    program_refuses("config --search xylophone", "lists all keys");
    program_refuses("config --lr 1", "--model.rate, --policy.rate");
    program_refuses("config --agent 1", "'waker config --search agent'");
}

// The documented table is the program's own.
TEST_CASE(the_documentation_has_the_table_of_keys)
{
    wk_error err = {0};
    char *page;
    assert_ok(wk_file_read(WAKER_SOURCE_DIR "/docs/configuration.md", 1 << 20, &page, NULL, &err));
    program_result r = program_succeed("config --table");
    if (!strstr(page, r.out))
        fail_msg("docs/configuration.md lacks the output of 'waker config --table'");
    free(page);
}

TEST_MAIN(program_setup, program_teardown)
