// The world and the device of a run: combinations that cannot work are refused with the keys
// involved; code is loaded where it was named; devices are taken by name, and refused rather than
// replaced.
#include "run/world.h"
#include "support/check.h"
#include "support/faults.h"
#include "tensor/cuda/cuda.h"
#include <dlfcn.h>
#include <stdio.h>

static const wk_domain *domain(const char *name)
{
    wk_error err = {0};
    const wk_domain *found;
    assert_ok(wk_domain_find(name, &found, &err));
    return found;
}

// Checks the defaults with settings, "key=value key=value", of a domain.
static wk_status check(const char *name, const char *settings, wk_error *err)
{
    wk_run_config c = wk_run_config_default();
    char copy[200];
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *key = strtok(copy, " "); key; key = strtok(NULL, " ")) {
        char *value = strchr(key, '=');
        *value++ = 0;
        int field = wk_run_field_find(key, strlen(key));
        if (wk_run_config_set(&c, field, value, err) != WK_OK) fail_msg("%s", err->message);
    }
    *err = (wk_error){0};
    return wk_run_config_check(&c, domain(name), err);
}

TEST_CASE(impossible_combinations_are_refused)
{
    static const char walker[] = "terrain-walker", clean[] = "clean-up";
    static const struct {
        const char *domain, *settings, *part; // NULL: possible
    } cases[] = {
        {walker, "", NULL},
        {walker, "prefill=8000000", "a prefill of 8000000 agent steps is more than steps 3700000"},
        {walker, "replay.capacity=3999", "replay.capacity 3999 is less than one episode in each"},
        {walker, "replay.capacity=50000", "cannot hold the prefill of 100000"},
        {walker, "length=502", "set length to 501 or less"},
        {walker, "tasks=wlak", "tasks: "},
        {walker, "tasks=wlak", "'walk'"},
        {walker, "tasks=walk,walk", "occurs twice"},
        {walker, "tasks=", "write none, all"},
        {walker, "acting=walk", "neither exploration nor one of the tasks"},
        {walker, "env.options=lattice", "name=choice"},
        {walker, "env.options=latice=fixed", "env.options: "},
        {walker, "env.options=lattice=frsh", "'fresh'"},
        {walker, "curriculum.rule=waker-x", "curriculum.rule: "},
        {walker, "device=cuda:", "not auto, cpu, cuda or cuda:N"},
        {walker, "device=cuda:1234", "not auto"},
        {walker, "device=gpu", "not auto"},
        {walker, "curriculum.space=continuous", NULL},
        {clean, "curriculum.space=continuous", "lists its θ"},
        {walker, "curriculum.space=continuous curriculum.theta=0,1",
         "leave curriculum.theta, a list of environments, empty"},
        {walker, "curriculum.space=continuous curriculum.rule=he-oracle",
         "use curriculum.space grid"},
        {clean, "precision=bf16", NULL},
        {clean, "precision=bf16 device=cpu", "needs a GPU"},
        {clean, "precision=bf16 device=cuda:12", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_error err = {0};
        wk_status status = check(cases[i].domain, cases[i].settings, &err);
        bool refused = status == WK_E_INPUT || status == WK_E_NOT_FOUND;
        if (cases[i].part ? !refused || !strstr(err.message, cases[i].part) : status != WK_OK)
            fail_msg("%s %s: '%s'", cases[i].domain, cases[i].settings, err.message);
    }
}

TEST_CASE(a_rule_that_needs_what_the_run_lacks_is_refused)
{
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

// Also where there is no memory for the message.
TEST_CASE(a_plugin_that_was_not_named_is_never_opened)
{
    const wk_plugin_requests requests = {.domain = {.path = "/nowhere/domain.so"},
                                         .rule = {.path = "/nowhere/rule.so"}};
    bool happened = true;
    for (int n = 0; happened; n++) {
        wk_run_plugins code;
        wk_error err = {0};
        fault_arm(FAULT_ALLOC, n, ENOMEM);
        wk_status status = wk_run_plugins_open(&requests, &code, &err);
        happened = fault_disarm(FAULT_ALLOC);
        assert_int_equal(status, WK_E_INPUT);
        assert_non_null(strstr(err.message, "which was not named"));
    }
}

TEST_CASE(an_oracle_needs_worlds_of_the_grid)
{
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

TEST_CASE(names_become_the_domains_and_the_learners_numbers)
{
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    const wk_domain *d = domain("clean-up"), *walker = domain("terrain-walker");
    wk_learner_config learner;
    int tasks[WK_TASKS_MAX], count, options[WK_OPTIONS_MAX], option, value;
    assert_ok(wk_run_config_tasks(&c, d, tasks, &count, &err));
    assert_int_equal(count, 0);
    strcpy(c.tasks, "push,sort");
    assert_ok(wk_run_config_tasks(&c, d, tasks, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(d->tasks[tasks[0]].name, "push");
    assert_string_equal(d->tasks[tasks[1]].name, "sort");
    strcpy(c.tasks, "all");
    assert_ok(wk_run_config_tasks(&c, d, tasks, &count, &err));
    assert_true(count == 3 && tasks[2] == 2);
    strcpy(c.ensemble_kind, "variance");
    strcpy(c.exploration, "random");
    c.seed = 11;
    c.discount = 0.5;
    assert_ok(wk_run_config_learner(&c, d, &learner, &err));
    assert_int_equal(learner.ensemble_kind, WK_DISAGREEMENT_VARIANCE);
    assert_int_equal(learner.exploration, WK_EXPLORE_RANDOM);
    assert_true(learner.tasks == 3 && learner.action_size == 2);
    assert_true(learner.seed == 11 && learner.discount == 0.5f);
    assert_ok(wk_domain_option(walker, "lattice", "fresh", &option, &value, &err));
    strcpy(c.env_options, "shadows=on,lattice=fresh");
    assert_ok(wk_run_config_options(&c, walker, options, &err));
    assert_int_equal(options[option], value);
    assert_int_equal(value, 1);
}

static wk_status open_device(const char *device, const char *precision, wk_device *chosen,
                             wk_error *err)
{
    wk_backend *backend = NULL;
    wk_status status = wk_device_open(device, precision, NULL, &backend, chosen, err);
    if (status == WK_OK) wk_backend_destroy(backend);
    return status;
}

TEST_CASE(the_cpu_is_taken_by_name_or_where_there_is_no_gpu_and_the_reason_said)
{
    wk_error err = {0};
    wk_device chosen;
    assert_ok(open_device("cpu", "auto", &chosen, &err));
    assert_string_equal(chosen.name, "cpu");
    assert_string_equal(chosen.why, "device cpu was asked for");
    assert_int_equal(chosen.number, -1);
    if (wk_cuda_device_count() > 0) skip();
    assert_ok(open_device("auto", "auto", &chosen, &err));
    assert_string_equal(chosen.name, "cpu");
#ifdef BUILT_WITH_CUDA
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) dlclose(driver);
    if (!driver)
        assert_string_equal(chosen.why, "device auto, no CUDA driver");
    else
        assert_memory_equal(chosen.why, "device auto, ", 13);
#else
    assert_string_equal(chosen.why, "device auto, built without CUDA");
#endif
    assert_refused(open_device("auto", "bf16", &chosen, &err), WK_E_UNSUPPORTED, chosen.why);
}

TEST_CASE(the_first_gpu_is_taken_where_there_is_one)
{
    wk_error err = {0};
    wk_device chosen;
    char expected[WK_DEVICE_WHY_MAX];
    int count = wk_cuda_device_count();
    if (count == 0) skip();
    assert_ok(open_device("auto", "auto", &chosen, &err));
    assert_memory_equal(chosen.name, "cuda:0 (", 8);
    assert_non_null(strstr(chosen.name, ", bf16)"));
    snprintf(expected, sizeof expected, "device auto, first of %d GPU%s", count,
             count == 1 ? "" : "s");
    assert_string_equal(chosen.why, expected);
    assert_ok(open_device("cuda", "f32", &chosen, &err));
    assert_non_null(strstr(chosen.name, ", f32)"));
    assert_string_equal(chosen.why, "device cuda was asked for");
}

TEST_CASE(what_cannot_be_had_is_an_error)
{
    wk_error err = {0};
    wk_device chosen;
    assert_refused(open_device("cpu", "bf16", &chosen, &err), WK_E_UNSUPPORTED, "f32");
    static const char *const wrong[] = {"gpu", "cuda:", "cuda:x", "cuda:-1", ""};
    for (int i = 0; i < 5; i++)
        assert_refused(open_device(wrong[i], "auto", &chosen, &err), WK_E_INPUT, "cuda:N");
    assert_int_equal(open_device("cuda:999", "auto", &chosen, &err), WK_E_UNSUPPORTED);
    assert_true(strlen(err.message) > 20);
}

TEST_MAIN(NULL, NULL)
