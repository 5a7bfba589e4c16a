// waker envs and waker envs check, as a user runs them.
#include "support/check.h"
#include "support/program.h"
#include "waker/env.h"

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"

static void the_list_has_every_domain_with_its_parameters_tasks_and_cases(void **state)
{
    program_result r = program_run("envs");
    program_expect_success(r);
    assert_true(wk_domain_count() > 0);
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *d = wk_domain_at(i);
        assert_non_null(strstr(r.out, d->name));
        for (int k = 0; k < d->n_params; k++)
            assert_non_null(strstr(r.out, d->params[k].name));
        for (int k = 0; k < d->n_tasks; k++)
            assert_non_null(strstr(r.out, d->tasks[k].name));
        for (int k = 0; k < d->n_cases; k++)
            assert_non_null(strstr(r.out, d->cases[k].name));
    }
}

static void a_domain_is_described_with_its_options(void **state)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *d = wk_domain_at(i);
        program_result r = program_run("envs %s", d->name);
        program_expect_success(r);
        for (int k = 0; k < d->n_options; k++)
            assert_non_null(strstr(r.out, d->options[k].choices));
        for (int k = 0; k < d->n_indicators; k++)
            assert_non_null(strstr(r.out, d->indicators[k].help));
        for (int k = 0; k < d->n_tasks; k++)
            if (d->tasks[k].alias) assert_non_null(strstr(r.out, d->tasks[k].alias));
    }
}

static void no_line_ends_in_blanks(void **state)
{
    program_result r = program_run("envs");
    assert_null(strstr(r.out, " \n"));
    r = program_run("envs terrain-walker");
    assert_null(strstr(r.out, " \n"));
}

static void the_json_of_domains_can_be_parsed(void **state)
{
    program_expect_json(program_run("envs --json").out);
    program_result r = program_run("envs terrain-walker --json");
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"episode_steps\": 500"));
    assert_non_null(strstr(r.out, "\"fixed\""));
}

static void an_unknown_domain_names_the_nearest(void **state)
{
    program_expect_error(program_run("envs terrain-waker"), 2, "terrain-walker");
}

static void a_plug_in_is_described_like_a_built_in_domain(void **state)
{
    program_result r = program_run("envs --plugin " PLUGINS "ball.so");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "friction"));
    assert_non_null(strstr(r.out, "anywhere|centre"));
    program_expect_error(program_run("envs terrain-walker --plugin " PLUGINS "ball.so"), 2,
                         "not both");
}

static void checking_a_sound_plug_in_finds_nothing(void **state)
{
    program_result r = program_run("envs check " PLUGINS "ball.so");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "is sound"));
    r = program_run("envs check --json " PLUGINS "ball.so");
    program_expect_success(r);
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"faults\": 0"));
}

static void checking_a_faulty_plug_in_exits_with_3(void **state)
{
    program_result r = program_run("envs check " PLUGINS "reward_nan.so");
    assert_int_equal(r.code, 3);
    assert_non_null(strstr(r.out, "fault:"));
    r = program_run("envs check --json " PLUGINS "reward_nan.so");
    assert_int_equal(r.code, 3);
    program_expect_json(r.out);
}

static void a_description_that_loading_refuses_is_a_finding(void **state)
{
    program_result r = program_run("envs check " PLUGINS "bad_name.so");
    assert_int_equal(r.code, 3);
    assert_non_null(strstr(r.out, "fault:"));
    r = program_run("envs check --json " PLUGINS "bad_name.so");
    assert_int_equal(r.code, 3);
    program_expect_json(r.out);
}

// Neither the terminal nor a reader of the lines obeys a plug-in.
static void messages_of_plug_ins_are_plain_text(void **state)
{
    program_result r = program_run("envs check " PLUGINS "message_escapes.so");
    assert_int_equal(r.code, 3);
    assert_string_equal(r.out, "fault: create fails: ?[31mred?fault: forged.\n"
                               "domain 'ball-on-table' has 1 fault\n");
}

static void a_file_that_is_no_plug_in_is_bad_input(void **state)
{
    program_expect_error(program_run("envs check missing.so"), 2, "missing.so");
    program_expect_error(program_run("envs check " WAKER_SOURCE_DIR "/CMakeLists.txt"), 2,
                         "not a shared object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_has_every_domain_with_its_parameters_tasks_and_cases),
        cmocka_unit_test(a_domain_is_described_with_its_options),
        cmocka_unit_test(no_line_ends_in_blanks),
        cmocka_unit_test(the_json_of_domains_can_be_parsed),
        cmocka_unit_test(an_unknown_domain_names_the_nearest),
        cmocka_unit_test(a_plug_in_is_described_like_a_built_in_domain),
        cmocka_unit_test(checking_a_sound_plug_in_finds_nothing),
        cmocka_unit_test(checking_a_faulty_plug_in_exits_with_3),
        cmocka_unit_test(a_description_that_loading_refuses_is_a_finding),
        cmocka_unit_test(messages_of_plug_ins_are_plain_text),
        cmocka_unit_test(a_file_that_is_no_plug_in_is_bad_input),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
