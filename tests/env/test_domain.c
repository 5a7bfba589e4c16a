// Look-ups by name, θ checks, and every way a domain description can be wrong.
#include "base/text.h"
#include "env/domain.h"
#include "support/check.h"
#include "support/toy_domain.h"

static wk_error err;

/* ---- Built-in domains ------------------------------------------------------------------------ */

TEST_CASE(every_built_in_domain_is_sound_and_found_by_name)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i), *found;
        assert_ok(wk_domain_check(domain, &err));
        assert_ok(wk_domain_find(domain->name, &found, &err));
        assert_ptr_equal(found, domain);
    }
}

TEST_CASE(an_unknown_domain_is_not_found)
{
    const wk_domain *domain;
    assert_refused(wk_domain_find("no such thing at all", &domain, &err), WK_E_NOT_FOUND,
                   "no domain is called 'no such thing at all'");
    if (wk_domain_count() == 0) return;
    char misspelt[80] = "x";
    strncat(misspelt, wk_domain_at(0)->name, sizeof misspelt - 2);
    assert_refused(wk_domain_find(misspelt, &domain, &err), WK_E_NOT_FOUND, wk_domain_at(0)->name);
}

/* ---- Look-ups -------------------------------------------------------------------------------- */

TEST_CASE(tasks_are_found_by_name_and_alias)
{
    toy t = toy_make(TOY_SOUND);
    int task = -1;
    assert_ok(wk_domain_task(&t.domain, "right", &task, &err));
    assert_int_equal(task, 0);
    assert_ok(wk_domain_task(&t.domain, "port", &task, &err));
    assert_int_equal(task, 1);
    assert_refused(wk_domain_task(&t.domain, "rihgt", &task, &err), WK_E_NOT_FOUND,
                   "did you mean 'right'?");
    assert_refused(wk_domain_task(&t.domain, "somersault", &task, &err), WK_E_NOT_FOUND,
                   "there is right, left");
}

TEST_CASE(cases_are_found_by_name)
{
    toy t = toy_make(TOY_SOUND);
    const wk_case *found;
    assert_ok(wk_domain_case(&t.domain, "far", &found, &err));
    assert_int_equal(found->count, 2);
    assert_refused(wk_domain_case(&t.domain, "fat", &found, &err), WK_E_NOT_FOUND, "'far'");
    t.domain.n_cases = 0;
    assert_refused(wk_domain_case(&t.domain, "far", &found, &err), WK_E_NOT_FOUND, "there is none");
}

TEST_CASE(options_and_choices_are_found_by_name)
{
    toy t = toy_make(TOY_SOUND);
    int option, value;
    assert_ok(wk_domain_option(&t.domain, "colour", "inverted", &option, &value, &err));
    assert_true(option == 0 && value == 1);
    assert_ok(wk_domain_option(&t.domain, "unused", "a", &option, &value, &err));
    assert_true(option == 1 && value == 0);
    assert_refused(wk_domain_option(&t.domain, "color", "grey", &option, &value, &err),
                   WK_E_NOT_FOUND, "did you mean 'colour'?");
    assert_refused(wk_domain_option(&t.domain, "colour", "gray", &option, &value, &err),
                   WK_E_NOT_FOUND, "option 'colour': no choice is called 'gray'; did you mean");
    assert_refused(wk_domain_option(&t.domain, "unused", "zebra", &option, &value, &err),
                   WK_E_NOT_FOUND, "a, b, c");
}

TEST_CASE(choices_are_counted_and_cut_out)
{
    const wk_option option = {"o", "one|two|three", ""};
    size_t length;
    assert_int_equal(wk_text_choices(option.choices), 3);
    assert_memory_equal(wk_option_choice(&option, 1, &length), "two", 3);
    assert_int_equal(length, 3);
    assert_memory_equal(wk_option_choice(&option, 2, &length), "three", 5);
    assert_int_equal(length, 5);
}

TEST_CASE(legal_thetas_pass_to_their_ends)
{
    toy t = toy_make(TOY_SOUND);
    const double ends[] = {0, -3}, beyond[] = {0, nextafter(-3, -4)}, infinite[] = {INFINITY, 0};
    assert_ok(wk_domain_check_params(&t.domain, ends, 2, &err));
    assert_refused(wk_domain_check_params(&t.domain, beyond, 2, &err), WK_E_INPUT, "-3 to 3");
    assert_refused(wk_domain_check_params(&t.domain, infinite, 2, &err), WK_E_INPUT, "inf");
    t.domain.check = NULL;
    const double both[] = {2, 3};
    assert_ok(wk_domain_check_params(&t.domain, both, 2, &err));
}

/* ---- Faulty descriptions --------------------------------------------------------------------- */

#define assert_faulty(t, part)                                                                     \
    assert_refused(wk_domain_check(&(t).domain, &err), WK_E_INPUT, (part))

TEST_CASE(other_versions_are_refused_before_anything_is_read)
{
    toy t = {.domain = {.abi = WK_ENV_ABI + 1}};
    assert_refused(wk_domain_check(&t.domain, &err), WK_E_UNSUPPORTED, "set abi = WK_ENV_ABI");
    t.domain.abi = WK_ENV_ABI;
    t.domain.size = 8;
    assert_refused(wk_domain_check(&t.domain, &err), WK_E_UNSUPPORTED, "has 8 bytes");
}

TEST_CASE(bad_domain_names_are_refused)
{
    toy t = toy_make(TOY_SOUND);
    const char *bad[] = {"",
                         "Toy",
                         "a b",
                         "a_b",
                         "a/b",
                         "ä",
                         "a-name-that-is-so-long-that-no-table-or-file-name-could-hold-it-well"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        t.domain.name = bad[i];
        assert_faulty(t, "is not a domain name");
    }
    t.domain.name = NULL;
    assert_faulty(t, "name is NULL");
    t = toy_make(TOY_SOUND);
    t.domain.summary = NULL;
    assert_faulty(t, "summary is NULL");
}

TEST_CASE(every_function_is_asked_for)
{
#define WITHOUT(function)                                                                          \
    do {                                                                                           \
        toy t = toy_make(TOY_SOUND);                                                               \
        t.domain.function = NULL;                                                                  \
        assert_faulty(t, "the function " #function " is NULL");                                    \
    } while (0)
    WITHOUT(create);
    WITHOUT(destroy);
    WITHOUT(reset);
    WITHOUT(step);
    WITHOUT(render);
    WITHOUT(state_size);
    WITHOUT(save);
    WITHOUT(load);
}

static size_t one_point(void)
{
    return 1;
}

TEST_CASE(the_grid_functions_come_in_pairs)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.grid_count = one_point;
    assert_faulty(t, "give both, or neither");
}

TEST_CASE(counts_out_of_range_are_refused)
{
#define WITH(field, value)                                                                         \
    do {                                                                                           \
        toy t = toy_make(TOY_SOUND);                                                               \
        t.domain.field = (value);                                                                  \
        assert_faulty(t, #field " is ");                                                           \
    } while (0)
    WITH(n_params, 0);
    WITH(n_params, WK_PARAMS_MAX + 1);
    WITH(n_tasks, 0);
    WITH(n_tasks, WK_TASKS_MAX + 1);
    WITH(n_options, WK_OPTIONS_MAX + 1);
    WITH(n_options, -1);
    WITH(n_cases, 65);
    WITH(n_indicators, WK_INDICATORS_MAX + 1);
    WITH(n_indicators, -1);
    WITH(n_complex, 0);
    WITH(action_size, 0);
    WITH(action_size, WK_ACTION_MAX + 1);
    WITH(action_repeat, 0);
    WITH(episode_steps, 0);
    WITH(step_seconds, 0);
    WITH(step_seconds, NAN);
    WITH(params, NULL);
    WITH(tasks, NULL);
    WITH(options, NULL);
    WITH(cases, NULL);
    WITH(hardest, NULL);
    WITH(most_complex, NULL);
}

TEST_CASE(bad_params_are_refused)
{
    static const struct {
        int i;
        wk_param param;
        const char *message; // NULL: it is sound
    } cases[] = {
        {0, {"Gain!", "", 0.1, 0.5, 0.05, 0, 2, true}, "params[0].name 'Gain!' is not a name"},
        {1, {NULL, "", 0, 2, 1, -3, 3, false}, "params[1].name is NULL"},
        {1, {"gain", "", 0, 2, 1, -3, 3, false}, "two params are called 'gain'"},
        {0, {"gain", "", 0.5, 0.1, 0.05, 0, 2, true}, "are not a range"},
        {0, {"gain", "", 0.1, NAN, 0.05, 0, 2, true}, "are not a range"},
        {0, {"gain", "", 0.1, 0.5, 0.05, 0.2, 2, true}, "does not contain the grid's"},
        {0, {"gain", "", 0.1, 0.5, 0.05, 0, INFINITY, true}, "does not contain the grid's"},
        {0, {"gain", "", 0.1, 0.5, 0.3, 0, 2, true}, "in whole steps"},
        {0, {"gain", "", 0.1, 0.5, 0, 0, 2, true}, "in whole steps"},
        {1, {"drift", "", 2, 2, 0, -3, 3, false}, NULL}, // a single value needs no step
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        wk_param changed[2];
        toy t = toy_make(TOY_SOUND);
        memcpy(changed, t.domain.params, sizeof changed);
        changed[cases[k].i] = cases[k].param;
        t.domain.params = changed;
        if (cases[k].message)
            assert_faulty(t, cases[k].message);
        else
            assert_ok(wk_domain_check(&t.domain, &err));
    }
}

TEST_CASE(bad_tasks_are_refused)
{
    static const struct {
        wk_task tasks[2];
        const char *message;
    } cases[] = {
        {{{"go", NULL, false}, {"go", NULL, false}}, "two tasks are called 'go'"},
        {{{"go", "run", false}, {"walk", "run", false}}, "'go' and 'walk' share a name or an"},
        {{{"go", "walk", false}, {"walk", NULL, false}}, "'go' and 'walk' share a name or an"},
        {{{"go", "GO", false}, {"walk", NULL, false}}, "alias 'GO' is not a name"},
        {{{NULL, NULL, false}, {"walk", NULL, false}}, "tasks[0].name is NULL"},
    };
    toy t = toy_make(TOY_SOUND);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t.domain.tasks = cases[i].tasks;
        assert_faulty(t, cases[i].message);
    }
}

TEST_CASE(words_that_mean_something_else_are_no_names)
{
    static const char *const for_tasks[] = {"all", "none", "explore", "random"};
    static const char *const for_cases[] = {"all", "dr", "train"};
    toy t = toy_make(TOY_SOUND);
    for (size_t i = 0; i < sizeof for_tasks / sizeof *for_tasks; i++) {
        const wk_task named[] = {{"go", NULL, false}, {for_tasks[i], NULL, false}};
        const wk_task aliased[] = {{"go", for_tasks[i], false}, {"walk", NULL, false}};
        char part[80] = "a task is called '";
        strcat(strcat(part, for_tasks[i]), "', which stands for ");
        t.domain.tasks = named;
        assert_faulty(t, part);
        t.domain.tasks = aliased;
        assert_faulty(t, part);
    }
    t = toy_make(TOY_SOUND);
    const double theta[] = {1, 1};
    for (size_t i = 0; i < sizeof for_cases / sizeof *for_cases; i++) {
        const wk_case named = {for_cases[i], "", 1, theta, 1, false};
        char part[80] = "a case is called '";
        strcat(strcat(part, for_cases[i]), "', which stands for ");
        t.domain.cases = &named;
        t.domain.n_cases = 1;
        assert_faulty(t, part);
    }
    // Each list is for its own kind.
    const wk_task free_task[] = {{"dr", NULL, false}, {"train", NULL, false}};
    const wk_case free_case = {"explore", "", 1, theta, 1, false};
    t.domain.tasks = free_task;
    t.domain.cases = &free_case;
    assert_ok(wk_domain_check(&t.domain, &err));
}

TEST_CASE(bad_options_are_refused)
{
    toy t = toy_make(TOY_SOUND);
    wk_option options[] = {{"a", "x|y", ""}, {"a", "x|y", ""}};
    t.domain.options = options;
    assert_faulty(t, "two options are called 'a'");
    options[1].name = "b";
    options[1].choices = "x||y";
    assert_faulty(t, "choice '' is not a name");
    options[1].choices = "x|y|x";
    assert_faulty(t, "lists the choice 'x' twice");
    options[1].choices = NULL;
    assert_faulty(t, "choices is NULL");
    char many[200] = "a";
    for (int i = 0; i < 64; i++)
        strcat(many, "|a");
    options[1].choices = many;
    assert_faulty(t, "65 choices");
    options[1].choices = "0.5|1";
    assert_ok(wk_domain_check(&t.domain, &err));
}

TEST_CASE(bad_indicators_are_refused)
{
    toy t = toy_make(TOY_SOUND);
    wk_indicator indicators[] = {{"a", "", WK_INDICATOR_SUM, 0}, {"a", "", WK_INDICATOR_SUM, 0}};
    t.domain.indicators = indicators;
    t.domain.n_indicators = 2;
    assert_faulty(t, "two indicators are called 'a'");
    indicators[1].name = "B";
    assert_faulty(t, "indicators[1].name 'B' is not a name");
    indicators[1].name = "b";
    assert_ok(wk_domain_check(&t.domain, &err));
    indicators[1].kind = WK_INDICATOR_CELLS;
    assert_faulty(t, "indicator b.cells is 0; it must lie in 1 to 64");
    indicators[1].kind = WK_INDICATOR_CELLS + 1;
    assert_faulty(t, "indicator b.kind is 4");
    t.domain.indicators = NULL;
    assert_faulty(t, "indicators is NULL although n_indicators is 2");
}

TEST_CASE(bad_cases_are_refused)
{
    toy t = toy_make(TOY_SOUND);
    const double good[] = {1, 1, 1, 2}, bad[] = {1, 1, 1, 9};
    wk_case cases[] = {{"one", "", 2, good, 2, false}, {"one", "", 2, good, 2, false}};
    t.domain.cases = cases;
    t.domain.n_cases = 2;
    assert_faulty(t, "two cases are called 'one'");
    cases[1].name = "two";
    assert_ok(wk_domain_check(&t.domain, &err));
    cases[1].params = bad;
    assert_faulty(t, "case two, θ number 1: 'drift' = 9");
    cases[1].params = NULL;
    assert_faulty(t, "case 'two': it needs params");
    cases[1].params = good;
    cases[1].count = 0;
    assert_faulty(t, "case 'two': it needs params and a count");
    cases[1].count = 2;
    cases[1].episodes = 1;
    assert_faulty(t, "raise episodes");
}

TEST_CASE(oracles_must_be_legal_worlds)
{
    toy t = toy_make(TOY_SOUND);
    const double far[] = {0.5, 2, 2, 3};
    t.domain.hardest = far + 2;
    assert_faulty(t, "domain 'toy': hardest, θ number 0: gain and drift together");
    t = toy_make(TOY_SOUND);
    t.domain.most_complex = far;
    assert_faulty(t, "most_complex, θ number 1");
}

TEST_MAIN(NULL, NULL)
