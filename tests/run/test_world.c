// Combinations that cannot work are refused with the keys involved.
#include "run/world.h"
#include "support/check.h"

static const wk_domain *domain(const char *name)
{
    wk_error err = {0};
    const wk_domain *found;
    assert_ok(wk_domain_find(name, &found, &err));
    return found;
}

static void the_defaults_are_possible(void **state)
{
    (void)state;
    wk_error err = {0};
    const wk_run_config c = wk_run_config_default();
    assert_ok(wk_run_config_check(&c, domain("terrain-walker"), &err));
}

static void impossible_combinations_are_refused(void **state)
{
    (void)state;
    wk_error err = {0};
    static const struct {
        const char *key, *value, *part;
    } cases[] = {
        {"prefill", "8000000", "a prefill of 8000000 agent steps is more than steps 3700000"},
        {"replay.capacity", "3999", "replay.capacity 3999 is less than one episode in each"},
        {"replay.capacity", "50000", "cannot hold the prefill of 100000"},
        {"length", "502", "set length to 501 or less"},
        {"tasks", "wlak", "tasks: "},
        {"tasks", "wlak", "'walk'"},
        {"tasks", "walk,walk", "occurs twice"},
        {"tasks", "", "write none, all"},
        {"acting", "walk", "neither exploration nor one of the tasks"},
        {"env.options", "lattice", "name=choice"},
        {"env.options", "latice=fixed", "env.options: "},
        {"env.options", "lattice=frsh", "'fresh'"},
        {"curriculum.rule", "waker-x", "curriculum.rule: "},
        {"device", "cuda:", "not auto, cpu, cuda or cuda:N"},
        {"device", "cuda:1234", "not auto"},
        {"device", "gpu", "not auto"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_run_config c = wk_run_config_default();
        int field = wk_run_field_find(cases[i].key, strlen(cases[i].key));
        assert_ok(wk_run_config_set(&c, field, cases[i].value, &err));
        err = (wk_error){0};
        wk_status status = wk_run_config_check(&c, domain("terrain-walker"), &err);
        assert_true(status == WK_E_INPUT || status == WK_E_NOT_FOUND);
        if (!strstr(err.message, cases[i].part))
            fail_msg("%s=%s: '%s'", cases[i].key, cases[i].value, err.message);
    }
}

static void a_rule_that_needs_what_the_run_lacks_is_refused(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    wk_domain without = *domain("toy");
    without.n_tasks = 0;
    wk_space *space;
    wk_curriculum *curriculum;
    assert_ok(wk_space_create(&without, false, &space, &err));
    strcpy(c.curriculum_rule, "sfl");
    assert_refused(wk_run_curriculum_create(&c, NULL, NULL, &without, space, &curriculum, &err),
                   WK_E_INPUT, "has no tasks; choose another rule");
    // A plug-in for a later program, as far as its description goes.
    wk_plugin_record later = {
        .rule = {.abi = WK_CURRICULUM_ABI, .name = "later", .needs = WK_NEEDS_ALL + 1}};
    strcpy(c.curriculum_plugin, "later.so");
    assert_refused(wk_run_curriculum_create(&c, NULL, &later, &without, space, &curriculum, &err),
                   WK_E_UNSUPPORTED, "needs = 0x8");
    wk_space_destroy(space);
}

static void a_continuous_space_needs_ranges_and_a_rule_that_names_no_point(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    strcpy(c.curriculum_space, "continuous");
    assert_ok(wk_run_config_check(&c, domain("terrain-walker"), &err));
    assert_refused(wk_run_config_check(&c, domain("clean-up"), &err), WK_E_INPUT, "lists its θ");
    strcpy(c.curriculum_theta, "0,1");
    assert_refused(wk_run_config_check(&c, domain("terrain-walker"), &err), WK_E_INPUT,
                   "leave curriculum.theta, a list of environments, empty");
    strcpy(c.curriculum_theta, "");
    strcpy(c.curriculum_rule, "he-oracle");
    assert_refused(wk_run_config_check(&c, domain("terrain-walker"), &err), WK_E_INPUT,
                   "use curriculum.space grid");
}

static void half_precision_needs_a_gpu(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    strcpy(c.precision, "bf16");
    assert_ok(wk_run_config_check(&c, domain("clean-up"), &err));
    strcpy(c.device, "cpu");
    assert_refused(wk_run_config_check(&c, domain("clean-up"), &err), WK_E_INPUT, "needs a GPU");
    strcpy(c.device, "cuda:12");
    assert_ok(wk_run_config_check(&c, domain("clean-up"), &err));
}

static void an_oracle_needs_worlds_of_the_grid(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_domain plain = *domain("terrain-walker");
    wk_run_config c = wk_run_config_default();
    strcpy(c.curriculum_rule, "he-oracle");
    assert_ok(wk_run_config_check(&c, &plain, &err));
    plain.hardest = (const double[]){1, 0.15}; // possible, but not one to train in
    assert_refused(wk_run_config_check(&c, &plain, &err), WK_E_INPUT,
                   "he-oracle: θ number 0 of 'hardest' in domain 'terrain-walker' is not on");
    strcpy(c.curriculum_rule, "rw-oracle");
    assert_ok(wk_run_config_check(&c, &plain, &err));
    plain.n_complex = 2;
    plain.most_complex = (const double[]){1, 0.2, 0.82, 0.2};
    assert_refused(wk_run_config_check(&c, &plain, &err), WK_E_INPUT,
                   "rw-oracle: θ number 1 of 'most_complex'");
}

static void tasks_are_none_all_or_names(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    const wk_domain *d = domain("clean-up");
    int tasks[WK_TASKS_MAX], count;
    assert_ok(wk_run_config_tasks(&c, d, tasks, &count, &err));
    assert_int_equal(count, 0);
    strcpy(c.tasks, "all");
    assert_ok(wk_run_config_tasks(&c, d, tasks, &count, &err));
    assert_int_equal(count, 3);
    assert_int_equal(tasks[2], 2);
    strcpy(c.tasks, "push,sort");
    assert_ok(wk_run_config_tasks(&c, d, tasks, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(d->tasks[tasks[0]].name, "push");
    assert_string_equal(d->tasks[tasks[1]].name, "sort");
}

static void the_learner_gets_every_choice(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    wk_learner_config learner;
    strcpy(c.ensemble_kind, "variance");
    strcpy(c.exploration, "random");
    strcpy(c.tasks, "all");
    c.seed = 11;
    c.discount = 0.5;
    assert_ok(wk_run_config_learner(&c, domain("clean-up"), &learner, &err));
    assert_int_equal(learner.ensemble_kind, WK_DISAGREEMENT_VARIANCE);
    assert_int_equal(learner.exploration, WK_EXPLORE_RANDOM);
    assert_int_equal(learner.tasks, 3);
    assert_int_equal(learner.action_size, 2);
    assert_true(learner.seed == 11 && learner.discount == 0.5f);
}

static void options_become_the_domains_indices(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    const wk_domain *d = domain("terrain-walker");
    int options[WK_OPTIONS_MAX], option, value;
    assert_ok(wk_domain_option(d, "lattice", "fresh", &option, &value, &err));
    strcpy(c.env_options, "shadows=on,lattice=fresh");
    assert_ok(wk_run_config_options(&c, d, options, &err));
    assert_int_equal(options[option], value);
    assert_int_equal(value, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_possible),
        cmocka_unit_test(impossible_combinations_are_refused),
        cmocka_unit_test(a_rule_that_needs_what_the_run_lacks_is_refused),
        cmocka_unit_test(a_continuous_space_needs_ranges_and_a_rule_that_names_no_point),
        cmocka_unit_test(half_precision_needs_a_gpu),
        cmocka_unit_test(an_oracle_needs_worlds_of_the_grid),
        cmocka_unit_test(tasks_are_none_all_or_names),
        cmocka_unit_test(the_learner_gets_every_choice),
        cmocka_unit_test(options_become_the_domains_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
