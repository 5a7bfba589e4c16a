// waker envs and waker envs check, as a user runs them.
#include "support/check.h"
#include "support/program.h"
#include "waker/env.h"

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"

TEST_CASE(the_list_has_every_domain_with_its_parameters_tasks_and_cases)
{
    program_result r = program_succeed("envs");
    assert_true(wk_domain_count() > 0);
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *d = wk_domain_at(i);
        expect_parts(r.out, d->name);
        for (int k = 0; k < d->n_params; k++)
            expect_parts(r.out, d->params[k].name);
        for (int k = 0; k < d->n_tasks; k++)
            expect_parts(r.out, d->tasks[k].name);
        for (int k = 0; k < d->n_cases; k++)
            expect_parts(r.out, d->cases[k].name);
    }
}

TEST_CASE(a_domain_is_described_with_its_options)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *d = wk_domain_at(i);
        program_result r = program_succeed("envs %s", d->name);
        for (int k = 0; k < d->n_options; k++)
            expect_parts(r.out, d->options[k].choices);
        for (int k = 0; k < d->n_indicators; k++)
            expect_parts(r.out, d->indicators[k].help);
        for (int k = 0; k < d->n_tasks; k++)
            if (d->tasks[k].alias) expect_parts(r.out, d->tasks[k].alias);
    }
}

TEST_CASE(no_line_ends_in_blanks)
{
    program_result r = program_run("envs");
    assert_null(strstr(r.out, " \n"));
    r = program_run("envs terrain-walker");
    assert_null(strstr(r.out, " \n"));
}

TEST_CASE(the_json_of_domains_can_be_parsed)
{
    program_expect_json(program_run("envs --json").out);
    program_result r = program_run("envs terrain-walker --json");
    program_expect_json(r.out);
    expect_parts(r.out, "\"episode_steps\": 500", "\"fixed\"");
}

TEST_CASE(an_unknown_domain_names_the_nearest)
{
    program_refuses("envs terrain-waker", "terrain-walker");
}

TEST_CASE(a_plug_in_is_described_like_a_built_in_domain)
{
    program_prints("envs --plugin " PLUGINS "ball.so", "friction", "anywhere|centre");
    program_refuses("envs terrain-walker --plugin " PLUGINS "ball.so", "not both");
}

TEST_CASE(checking_a_sound_plug_in_finds_nothing)
{
    program_prints("envs check " PLUGINS "ball.so", "is sound");
    program_result r = program_succeed("envs check --json " PLUGINS "ball.so");
    program_expect_json(r.out);
    expect_parts(r.out, "\"faults\": 0");
}

// Also one whose description is refused when it is loaded.
TEST_CASE(checking_a_faulty_plug_in_exits_with_3)
{
    static const char *const faulty[] = {"reward_nan.so", "bad_name.so"};
    for (int i = 0; i < 2; i++) {
        program_result r = program_run("envs check " PLUGINS "%s", faulty[i]);
        assert_int_equal(r.code, 3);
        expect_parts(r.out, "fault:");
        r = program_run("envs check --json " PLUGINS "%s", faulty[i]);
        assert_int_equal(r.code, 3);
        program_expect_json(r.out);
    }
}

// Neither the terminal nor a reader of the lines obeys a plug-in.
TEST_CASE(messages_of_plug_ins_are_plain_text)
{
    program_result r = program_run("envs check " PLUGINS "message_escapes.so");
    assert_int_equal(r.code, 3);
    assert_string_equal(r.out, "fault: create fails: ?[31mred?fault: forged.\n"
                               "domain 'ball-on-table' has 1 fault\n");
}

TEST_CASE(a_file_that_is_no_plug_in_is_bad_input)
{
    program_refuses("envs check missing.so", "missing.so");
    program_refuses("envs check " WAKER_SOURCE_DIR "/CMakeLists.txt", "not a shared object");
}

TEST_MAIN(program_setup, program_teardown)
