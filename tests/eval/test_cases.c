// The cases of an evaluation: which there are, and which worlds their episodes visit.
#include "base/random.h"
#include "config/parts.h"
#include "env/domains/domains.h"
#include "eval/cases.h"
#include "support/check.h"
#include <math.h>
#include <stdio.h>

enum { ENVS = 50 };

static wk_error err;
static wk_eval_case cases[WK_EVAL_CASES_MAX];
static const wk_case *train; // what the run was trained in; NULL: the default distribution

static const wk_domain *domain_called(const char *name)
{
    const wk_domain *domain = NULL;
    assert_ok(wk_domain_find(name, &domain, &err));
    return domain;
}

// The chosen cases as text: "dr:50 steep:20".
static const char *chosen(const char *domain, const char *names)
{
    static char text[256];
    int count;
    size_t used = 0;
    text[0] = 0;
    assert_ok(wk_eval_cases(domain_called(domain), train, names, ENVS, cases, &count, &err));
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%d", i ? " " : "",
                                 cases[i].name, cases[i].episodes);
    return text;
}

TEST_CASE(by_default_there_is_dr_with_the_papers_sets)
{
    assert_string_equal(chosen("terrain-walker", ""), "dr:50 steep:20 stairs:20");
    assert_string_equal(chosen("terrain-hopper", ""), "dr:50 steep:20 stairs:20");
    assert_string_equal(chosen("clean-up", ""), "dr:50 extra-block:24");
    assert_string_equal(chosen("car-clean-up", ""), "dr:50 extra-block:24");
    assert_string_equal(chosen("combined", ""), "dr:50 steep:20 stairs:20 extra-block:24");
    assert_string_equal(chosen("terrain-hopper", "all"),
                        "dr:50 steep:20 stairs:20 steep-authors:20 max:20 dr-authors:100");
}

TEST_CASE(cases_come_in_the_order_asked_for)
{
    assert_string_equal(chosen("terrain-hopper", "max,dr"), "max:20 dr:50");
    assert_string_equal(chosen("toy", "storm"), "storm:20");
}

TEST_CASE(a_run_in_given_environments_is_evaluated_there)
{
    static const double flat[] = {0, 1, 0, 2};
    const wk_case given = {.name = WK_EVAL_TRAIN, .count = 2, .params = flat};
    train = &given;
    assert_string_equal(chosen("terrain-walker", ""), "train:50");
    assert_string_equal(chosen("terrain-walker", "dr,train"), "dr:50 train:50");
    assert_string_equal(chosen("terrain-walker", "all"), "train:50 dr:50 steep:20 stairs:20");
    double theta[WK_PARAMS_MAX];
    chosen("terrain-walker", "");
    wk_eval_theta(domain_called("terrain-walker"), NULL, 0, &cases[0], 1, 3, theta);
    assert_true(theta[0] == 0 && theta[1] == 2);
    train = NULL;
    int count;
    assert_refused(wk_eval_cases(domain_called("terrain-walker"), NULL, WK_EVAL_TRAIN, ENVS, cases,
                                 &count, &err),
                   WK_E_NOT_FOUND, "train");
}

TEST_CASE(unknown_and_repeated_cases_are_refused)
{
    int count;
    const wk_domain *walker = domain_called("terrain-walker");
    assert_refused(wk_eval_cases(walker, NULL, "stiars", ENVS, cases, &count, &err), WK_E_NOT_FOUND,
                   "'stairs'");
    assert_refused(wk_eval_cases(walker, NULL, "moonlight", ENVS, cases, &count, &err),
                   WK_E_NOT_FOUND, "dr, steep, stairs");
    assert_refused(wk_eval_cases(walker, NULL, "dr,,steep", ENVS, cases, &count, &err),
                   WK_E_NOT_FOUND, "''");
    assert_refused(wk_eval_cases(walker, NULL, "dr,dr", ENVS, cases, &count, &err), WK_E_INPUT,
                   "twice");
}

TEST_CASE(episodes_of_a_set_are_spread_evenly_over_its_worlds)
{
    const wk_domain *domain = domain_called("clean-up");
    int count, visits[6] = {0};
    assert_ok(wk_eval_cases(domain, NULL, "extra-block", ENVS, cases, &count, &err));
    for (int i = 0; i < cases[0].episodes; i++) {
        double theta[WK_PARAMS_MAX];
        wk_eval_theta(domain, NULL, 0, &cases[0], 7, i, theta);
        // Arena 5 with five blocks, 0 to 5 of them green.
        assert_true(theta[0] == 5 && theta[1] + theta[2] == 5);
        visits[(int)theta[1]]++;
    }
    for (int green = 0; green < 6; green++)
        assert_int_equal(visits[green], 4);
}

TEST_CASE(dr_visits_the_default_distribution)
{
    enum { DRAWS = 4400 };
    const wk_domain *domain = domain_called("toy");
    wk_space *space;
    assert_ok(wk_space_create(domain, false, &space, &err));
    int count, visits[11] = {0};
    assert_ok(wk_eval_cases(domain, NULL, "dr", DRAWS, cases, &count, &err));
    for (int i = 0; i < DRAWS; i++) {
        double theta[WK_PARAMS_MAX];
        wk_eval_theta(domain, space, 0, &cases[0], 7, i, theta);
        assert_true(wk_space_find(space, theta) != SIZE_MAX);
        visits[lrint(theta[0] * 10)]++;
    }
    // 400 expected with a standard deviation of 19.
    for (int i = 0; i < 11; i++)
        assert_in_range(visits[i], 300, 500);
    wk_space_destroy(space);
}

TEST_CASE(tasks_of_the_combined_domain_stay_in_their_own_worlds)
{
    wk_space *space;
    assert_ok(wk_space_create(&wk_combined, false, &space, &err));
    int count, any[2] = {0};
    assert_ok(wk_eval_cases(&wk_combined, NULL, "", ENVS, cases, &count, &err));
    static const struct {
        const char *task, *part;
        bool fits[4]; // dr, steep, stairs, extra-block
    } expected[] = {{"walk", "terrain-walker", {true, true, true, false}},
                    {"sort", "clean-up", {true, false, false, true}}};
    for (int k = 0; k < 2; k++) {
        int task;
        double theta[WK_PARAMS_MAX];
        assert_ok(wk_domain_task(&wk_combined, expected[k].task, &task, &err));
        assert_string_equal(wk_eval_part(&wk_combined, task)->name, expected[k].part);
        for (int i = 0; i < 4; i++)
            assert_int_equal(wk_eval_case_fits(&wk_combined, task, &cases[i]), expected[k].fits[i]);
        for (int i = 0; i < 200; i++) {
            wk_eval_theta(&wk_combined, space, task, &cases[0], 7, i, theta);
            assert_true(theta[0] == k);
            wk_eval_theta(&wk_combined, space, WK_EVAL_ANY_TASK, &cases[0], 7, i, theta);
            any[(int)theta[0]]++;
        }
    }
    assert_true(any[0] > 100 && any[1] > 100);
    assert_null(wk_eval_part(domain_called("toy"), 0));
    wk_space_destroy(space);
}

// 21 amplitudes, and 28 lengths from 0.15 to 1.5.
TEST_CASE(the_authors_evaluation_of_the_hopper_has_its_own_lengths)
{
    int count;
    double theta[WK_PARAMS_MAX], mean[2] = {0}, min = 9, max = 0;
    const wk_domain *hopper = domain_called("terrain-hopper");
    assert_ok(wk_eval_cases(hopper, NULL, "dr-authors", ENVS, cases, &count, &err));
    assert_int_equal(cases[0].episodes, 100);
    for (int i = 0; i < 100; i++) {
        wk_eval_theta(hopper, NULL, 0, &cases[0], 7, i, theta);
        assert_near(theta[0] * 20, round(theta[0] * 20), 1e-9);
        assert_near(theta[1] * 20, round(theta[1] * 20), 1e-9);
        assert_true(theta[0] >= 0 && theta[0] <= 1);
        mean[0] += theta[0] / 100, mean[1] += theta[1] / 100;
        min = fmin(min, theta[1]), max = fmax(max, theta[1]);
    }
    assert_near(min, 0.15, 1e-9);
    assert_near(max, 1.5, 1e-9);
    // Uniform: 0.5 and 0.825, with standard errors of 0.030 and 0.040.
    assert_near(mean[0], 0.5, 0.09);
    assert_near(mean[1], 0.825, 0.12);
}

TEST_MAIN(NULL, NULL)
