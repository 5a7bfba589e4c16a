// The curricula: distributions against a NumPy script on random error sequences and against values
// worked out by hand, the interval logic of WAKER-R, long-run frequencies, saving.
#include "curriculum/curricula.h"
#include "nn/safetensors.h"

// A domain of which only the description matters: `plain` has 12 equally likely θ, `combined` 8
// and 3.
static const wk_param plain_params[] = {{.name = "x", .max = 11, .step = 1, .legal_max = 11}};
static const double hardest_plain[] = {11}, complex_plain[] = {9, 10, 11};
static const wk_domain plain = {.name = "plain",
                                .n_params = 1,
                                .params = plain_params,
                                .hardest = hardest_plain,
                                .n_complex = 3,
                                .most_complex = complex_plain};

static size_t combined_count(void)
{
    return 11;
}

static void combined_point(size_t i, double *theta, double *probability)
{
    theta[0] = i < 8 ? 0 : 1;
    theta[1] = i < 8 ? (double)i : (double)(i - 8);
    *probability = i < 8 ? 0.5 / 8 : 0.5 / 3;
}

static const wk_param combined_params[] = {{.name = "domain", .max = 1, .step = 1, .legal_max = 1},
                                           {.name = "x", .max = 7, .step = 1, .legal_max = 7}};
static const double hardest_combined[] = {0, 7};
static const wk_domain combined = {.name = "combined-test",
                                   .n_params = 2,
                                   .params = combined_params,
                                   .hardest = hardest_combined,
                                   .n_complex = 1,
                                   .most_complex = hardest_combined,
                                   .grid_count = combined_count,
                                   .grid_point = combined_point};

static fixture make(const char *rule, const wk_domain *domain, wk_curriculum_config config)
{
    return make_rule(rule_of(rule), domain, config);
}

static void *golden(const wk_safetensors *file, const char *scenario, const char *name)
{
    wk_error err = {0};
    char full[64];
    snprintf(full, sizeof full, "%s/%s", scenario, name);
    const wk_safetensors_spec *spec = wk_safetensors_find(file, full);
    if (!spec) fail_msg("no golden '%s'", full);
    void *bytes = malloc(wk_safetensors_spec_bytes(spec));
    assert_non_null(bytes);
    assert_ok(wk_safetensors_read(file, spec, bytes, &err));
    return bytes;
}

static void check_scenario(const wk_safetensors *file, const char *scenario, const char *rule,
                           const wk_domain *domain)
{
    enum { REPORTS = 600 };
    wk_curriculum_config config = wk_curriculum_config_default();
    config.error_decay = 0.99;
    config.reduction_start = 500;
    config.reduction_every = 100;
    fixture f = make(rule, domain, config);
    int32_t *index = golden(file, scenario, "index"), *steps = golden(file, scenario, "steps");
    float *delta = golden(file, scenario, "delta");
    double *expected = golden(file, scenario, rule), ours[16];
    for (int k = 0; k < REPORTS; k++) {
        report(&f, (size_t)index[k], delta[k]);
        wk_curriculum_advance(f.curriculum, (uint64_t)steps[k]);
    }
    wk_curriculum_distribution(f.curriculum, ours);
    double sum = 0;
    for (size_t i = 0; i < f.count; i++) {
        assert_near(ours[i], expected[i], 1e-12);
        sum += ours[i];
    }
    assert_near(sum, 1, 1e-12);
    free(index);
    free(steps);
    free(delta);
    free(expected);
    drop(&f);
}

TEST_CASE(distributions_match_the_independent_script)
{
    wk_error err = {0};
    wk_safetensors *file;
    assert_ok(wk_safetensors_open(WAKER_SOURCE_DIR "/tests/curriculum/golden/curricula.safetensors",
                                  &file, &err));
    static const char *const rules[] = {"waker-m", "waker-r"};
    for (int r = 0; r < 2; r++) {
        for (int k = 0; k < 5; k++) {
            char scenario[16];
            snprintf(scenario, sizeof scenario, "plain%d", k);
            check_scenario(file, scenario, rules[r], &plain);
        }
        check_scenario(file, "combined", rules[r], &combined);
    }
    wk_safetensors_close(file);
}

// Two θ with errors 1 and 3: normalised -1 and 1 (but for the 1e-6), so e^2 to 1.
TEST_CASE(waker_m_is_the_boltzmann_choice_over_normalised_errors)
{
    fixture f = make("waker-m", &plain, wk_curriculum_config_default());
    report(&f, 2, 1);
    report(&f, 5, 3);
    double p[12], e2 = exp(2);
    wk_curriculum_distribution(f.curriculum, p);
    assert_near(p[5], 0.2 / 12 + 0.8 * e2 / (1 + e2), 1e-6);
    assert_near(p[2], 0.2 / 12 + 0.8 / (1 + e2), 1e-6);
    assert_near(p[0], 0.2 / 12, 1e-15);
    drop(&f);
}

// The limit of a small η: the largest errors share everything, however far score / η overflows.
TEST_CASE(the_smallest_temperatures_choose_the_largest_errors)
{
    static const double temperatures[] = {1e-10, 1e-307, 1e-310, 4.9e-324};
    for (int t = 0; t < 4; t++) {
        wk_curriculum_config config = wk_curriculum_config_default();
        config.temperature = temperatures[t];
        fixture f = make("waker-m", &plain, config);
        report(&f, 2, 1);
        report(&f, 5, 3);
        report(&f, 7, 3);
        double p[12], theta[1];
        wk_curriculum_distribution(f.curriculum, p);
        for (int i = 0; i < 12; i++)
            assert_near(p[i], 0.2 / 12 + (i == 5 || i == 7 ? 0.4 : 0), 1e-15);
        next(&f, 3, false, theta);
        drop(&f);
    }
}

// Where every error rises, the highest score is below zero, and score / η is minus infinity.
TEST_CASE(the_smallest_temperatures_choose_the_least_rise_of_the_error)
{
    wk_curriculum_config config = wk_curriculum_config_default();
    config.error_decay = 0;
    config.temperature = 1e-310;
    fixture f = make("waker-r", &plain, config);
    report(&f, 1, 4);
    report(&f, 2, 4);
    wk_curriculum_advance(f.curriculum, 50000);
    report(&f, 1, 5);
    report(&f, 2, 6);
    wk_curriculum_advance(f.curriculum, 60000);
    double p[12];
    wk_curriculum_distribution(f.curriculum, p);
    for (int i = 0; i < 12; i++)
        assert_near(p[i], 0.2 / 12 + (i == 1 ? 0.8 : 0), 1e-15);
    drop(&f);
}

TEST_CASE(the_error_is_a_moving_average_that_the_first_value_sets)
{
    fixture f = make("waker-m", &plain, wk_curriculum_config_default());
    assert_true(isnan(wk_curriculum_get_view(f.curriculum).error[4]));
    report(&f, 4, 2);
    assert_near(wk_curriculum_get_view(f.curriculum).error[4], 2, 0);
    report(&f, 4, 3);
    assert_near(wk_curriculum_get_view(f.curriculum).error[4], 0.9999 * 2 + 0.0001 * 3, 1e-15);
    report(&f, 4, NAN);
    report(&f, 4, INFINITY);
    assert_near(wk_curriculum_get_view(f.curriculum).error[4], 0.9999 * 2 + 0.0001 * 3, 1e-15);
    assert_int_equal(wk_curriculum_ignored(f.curriculum), 2);
    drop(&f);
}

TEST_CASE(estimates_that_are_no_numbers_are_refused_as_a_whole)
{
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    const size_t index[] = {4, 5};
    fixture f = make("waker-m", &plain, wk_curriculum_config_default());
    wk_error err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const float delta[] = {1, wrong[i]};
        assert_refused(wk_curriculum_report(f.curriculum, index, delta, 2, &err), WK_E_INPUT,
                       "error estimate 1 is ");
        assert_non_null(strstr(err.message, "report finite numbers"));
    }
    const float fine[] = {2, 3};
    const size_t outside[] = {4, f.count};
    assert_refused(wk_curriculum_report(f.curriculum, outside, fine, 2, &err), WK_E_INPUT,
                   "error estimate 1 is of environment 12; the space has 12, counted from 0");
    assert_true(isnan(wk_curriculum_get_view(f.curriculum).error[4])); // not the first one either
    assert_int_equal(wk_curriculum_ignored(f.curriculum), 0);
    assert_ok(wk_curriculum_report(f.curriculum, index, fine, 2, &err));
    assert_near(wk_curriculum_get_view(f.curriculum).error[5], 3, 0);
    drop(&f);
}

static void expect_default(const fixture *f)
{
    double p[16];
    wk_curriculum_distribution(f->curriculum, p);
    for (size_t i = 0; i < f->count; i++)
        assert_near(p[i], wk_space_probability(f->space, i), 1e-15);
}

TEST_CASE(every_rule_but_the_oracles_begins_with_the_default_distribution)
{
    for (size_t r = 0; r < wk_curriculum_rule_count(); r++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(r);
        if (strstr(rule->name, "-oracle") || rule->always) continue;
        fixture f = make_rule(rule, &combined, wk_curriculum_config_default());
        expect_default(&f);
        drop(&f);
    }
}

// Measurements at 50,000 and 60,000 steps: the first only remembers, the second has a difference.
TEST_CASE(waker_r_waits_for_its_first_reduction_and_then_follows_it)
{
    wk_curriculum_config config = wk_curriculum_config_default();
    config.error_decay = 0;
    fixture f = make("waker-r", &plain, config);
    report(&f, 1, 4);
    report(&f, 2, 4);
    wk_curriculum_advance(f.curriculum, 49999);
    expect_default(&f);
    wk_curriculum_advance(f.curriculum, 50000);
    expect_default(&f);
    report(&f, 1, 1); // falls by 3
    report(&f, 2, 5); // rises by 1
    wk_curriculum_advance(f.curriculum, 59999);
    expect_default(&f);
    wk_curriculum_advance(f.curriculum, 60008);
    wk_curriculum_view view = wk_curriculum_get_view(f.curriculum);
    assert_true(view.has_reduction);
    assert_near(view.reduction[1], 0.05 * 3, 1e-15);
    assert_near(view.reduction[2], -0.05, 1e-15);
    // Relative to the mean size 0.1: 1.5 and -0.5, at temperature 0.5.
    double p[12];
    wk_curriculum_distribution(f.curriculum, p);
    assert_near(p[1], 0.2 / 12 + 0.8 / (1 + exp(-4)), 1e-12);
    // One that has an error and no reduction yet is left out.
    report(&f, 3, 9);
    wk_curriculum_distribution(f.curriculum, p);
    assert_near(p[3], 0.2 / 12, 1e-12);
    assert_near(p[1], 0.2 / 12 + 0.8 / (1 + exp(-4)), 1e-12);
    // The next measurement is at 70,000, not 10,000 after the late call.
    wk_curriculum_advance(f.curriculum, 69999);
    assert_near(wk_curriculum_get_view(f.curriculum).reduction[1], 0.15, 1e-15);
    wk_curriculum_advance(f.curriculum, 70000);
    assert_near(wk_curriculum_get_view(f.curriculum).reduction[1], 0.95 * 0.15, 1e-15);
    drop(&f);
}

TEST_CASE(ge_keeps_to_what_was_seen)
{
    fixture f = make("ge", &combined, wk_curriculum_config_default());
    double theta[2], p[11];
    size_t first = next(&f, 0, false, theta);
    wk_curriculum_distribution(f.curriculum, p);
    for (size_t i = 0; i < f.count; i++)
        assert_near(p[i], 0.2 * wk_space_probability(f.space, i) + (i == first ? 0.8 : 0), 1e-12);
    drop(&f);
}

TEST_CASE(oracles_choose_their_environments)
{
    double p[12], theta[1];
    fixture he = make("he-oracle", &plain, wk_curriculum_config_default());
    wk_curriculum_distribution(he.curriculum, p);
    for (int i = 0; i < 12; i++)
        assert_near(p[i], i == 11, 0);
    assert_int_equal(next(&he, 5, false, theta), 11);
    drop(&he);
    fixture rw = make("rw-oracle", &plain, wk_curriculum_config_default());
    wk_curriculum_distribution(rw.curriculum, p);
    for (int i = 0; i < 12; i++)
        assert_near(p[i], 0.2 / 12 + (i >= 9 ? 0.8 / 3 : 0), 1e-15);
    drop(&rw);
}

TEST_CASE(draws_follow_the_distribution_and_depend_on_seed_and_episode_only)
{
    enum { DRAWS = 40000 };
    fixture f = make("waker-m", &combined, wk_curriculum_config_default());
    for (size_t i = 0; i < f.count; i++)
        report(&f, i, (float)i);
    double p[11], theta[2];
    wk_curriculum_distribution(f.curriculum, p);
    int counts[11] = {0};
    for (uint64_t e = 0; e < DRAWS; e++) {
        size_t i = next(&f, e, false, theta);
        assert_memory_equal(theta, wk_space_params(f.space, i), sizeof theta);
        counts[i]++;
    }
    double chi = 0;
    for (size_t i = 0; i < f.count; i++)
        chi += pow(counts[i] - DRAWS * p[i], 2) / (DRAWS * p[i]);
    assert_true(chi < 29.6); // once in a thousand at 10 degrees of freedom; the seed is fixed
    size_t again = next(&f, 77, false, theta);
    assert_int_equal(again, next(&f, 77, false, theta));
    drop(&f);
}

TEST_CASE(prefill_uses_the_default_distribution)
{
    fixture f = make("he-oracle", &plain, wk_curriculum_config_default());
    int seen[12] = {0}, different = 0;
    double theta[1];
    for (uint64_t e = 0; e < 500; e++)
        seen[next(&f, e, true, theta)] = 1;
    for (int i = 0; i < 12; i++)
        different += seen[i];
    assert_int_equal(different, 12);
    drop(&f);
}

static bool fewest_visits(const wk_curriculum_view *view, const wk_curriculum_config *config,
                          double *probability)
{
    (void)config;
    double sum = 0;
    for (size_t i = 0; i < view->count; i++)
        sum += probability[i] = 1 / (1 + (double)view->visits[i]);
    for (size_t i = 0; i < view->count; i++)
        probability[i] /= sum;
    return true;
}

// What a rule from elsewhere said can be read without its code; what it said wrongly cannot.
TEST_CASE(a_rule_known_by_name_says_what_was_saved)
{
    wk_error err = {0};
    const wk_curriculum_rule live = {
        .abi = WK_CURRICULUM_ABI, .name = "mine", .distribution = fewest_visits};
    const wk_curriculum_rule known = {.abi = WK_CURRICULUM_ABI, .name = "mine"};
    fixture a = make_rule(&live, &plain, wk_curriculum_config_default());
    fixture b = make_rule(&known, &plain, wk_curriculum_config_default());
    double bad = 0.5;
    size_t size;
    for (uint64_t e = 0; e < 20; e++)
        next(&a, e, false, NULL);
    char *bytes = save(&a, &size);
    assert_ok(wk_curriculum_load(b.curriculum, bytes, size, &err));
    expect_same_choice(&a, &b);
    assert_refused(wk_curriculum_load(b.curriculum, bytes, size - 12 * sizeof bad, &err),
                   WK_E_FORMAT, "bytes");
    memcpy(bytes + size - sizeof bad, &bad, sizeof bad);
    assert_refused(wk_curriculum_load(b.curriculum, bytes, size, &err), WK_E_FORMAT,
                   "instead of 1");
    free(bytes);
    drop(&a);
    drop(&b);
}

static size_t all_memory(const wk_curriculum_view *view)
{
    (void)view;
    return SIZE_MAX;
}

TEST_CASE(bad_names_and_numbers_are_refused)
{
    wk_error err = {0};
    const wk_curriculum_rule *rule;
    assert_refused(wk_curriculum_rule_find("waker_n", &rule, &err), WK_E_NOT_FOUND, "'waker-m'");
    assert_ok(wk_curriculum_rule_find("dr", &rule, &err));
    wk_space *space;
    assert_ok(wk_space_create(&plain, false, &space, &err));
    wk_curriculum_config config = wk_curriculum_config_default();
    config.dr_probability = 1.5;
    wk_curriculum *c;
    assert_refused(wk_curriculum_create(rule, &plain, space, &config, &c, &err), WK_E_INPUT,
                   "dr_probability = 1.5");
    config = wk_curriculum_config_default();
    wk_curriculum_rule old = *rule;
    old.abi = 99;
    assert_refused(wk_curriculum_create(&old, &plain, space, &config, &c, &err), WK_E_UNSUPPORTED,
                   "interface 99");
    wk_curriculum_rule huge = *rule;
    huge.needs = WK_NEEDS_TIMES;
    huge.state_size = all_memory;
    assert_refused(wk_curriculum_create(&huge, &plain, space, &config, &c, &err), WK_E_MEMORY,
                   "no memory for the state");
    wk_space_destroy(space);
}

TEST_CASE(a_space_of_another_domain_is_refused)
{
    wk_error err = {0};
    const wk_curriculum_rule *rule;
    assert_ok(wk_curriculum_rule_find("dr", &rule, &err));
    wk_space *one, *two;
    assert_ok(wk_space_create(&plain, false, &one, &err));
    assert_ok(wk_space_create(&combined, false, &two, &err));
    wk_curriculum_config config = wk_curriculum_config_default();
    wk_curriculum *c = NULL;
    assert_refused(wk_curriculum_create(rule, &plain, two, &config, &c, &err), WK_E_INPUT,
                   "the space is of domain 'combined-test' (n_params 2)");
    assert_refused(wk_curriculum_create(rule, &combined, one, &config, &c, &err), WK_E_INPUT,
                   "the space is of domain 'plain' (n_params 1)");
    assert_null(c);
    // A copy of the description is the same domain.
    wk_domain copy = plain;
    assert_ok(wk_curriculum_create(rule, &copy, one, &config, &c, &err));
    wk_curriculum_destroy(c);
    wk_space_destroy(one);
    wk_space_destroy(two);
}

TEST_MAIN(NULL, NULL)
