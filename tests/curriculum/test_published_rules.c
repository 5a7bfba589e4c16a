// Curricula of other papers, and baselines: distributions against values worked out by hand, what
// they see and keep, and exact restoring in the middle of a run.
#include "curriculum/curricula.h"
#include "curriculum/rules.h"

// A 4 x 4 grid with two tasks, of which the second has a completion.
enum { SIDE = 4, COUNT = SIDE * SIDE };
static const wk_param params[] = {{.name = "x", .max = SIDE - 1, .step = 1, .legal_max = SIDE - 1},
                                  {.name = "y", .max = SIDE - 1, .step = 1, .legal_max = SIDE - 1}};
static const wk_task tasks[] = {{.name = "run"}, {.name = "sort", .has_completion = true}};
static const double hardest[] = {SIDE - 1, SIDE - 1};
static const wk_domain square = {.name = "square",
                                 .n_params = 2,
                                 .params = params,
                                 .n_tasks = 2,
                                 .tasks = tasks,
                                 .hardest = hardest,
                                 .n_complex = 1,
                                 .most_complex = hardest};

static fixture make_on(const wk_curriculum_rule *rule, const wk_domain *domain)
{
    wk_curriculum_config config = wk_curriculum_config_default();
    config.dr_probability = 0; // what the rule itself says
    return make_rule(rule, domain, config);
}

static fixture make(const char *name)
{
    return make_on(rule_of(name), &square);
}

// An episode that ended; it takes ten steps.
static void end(fixture *f, size_t index, double model_error, float completion, float gain)
{
    const float returns[] = {gain, gain}, done[] = {0, completion};
    wk_curriculum_end_episode(f->curriculum, &(wk_curriculum_episode){.index = index,
                                                                      .steps = 10,
                                                                      .returns = returns,
                                                                      .completion = done,
                                                                      .model_error = model_error});
}

static void expect(const fixture *f, const double *expected)
{
    double p[COUNT];
    wk_curriculum_distribution(f->curriculum, p);
    for (int i = 0; i < COUNT; i++)
        assert_near(p[i], expected[i], 1e-9);
}

static void expect_uniform(const fixture *f)
{
    double expected[COUNT];
    for (int i = 0; i < COUNT; i++)
        expected[i] = 1.0 / COUNT;
    expect(f, expected);
}

TEST_CASE(every_rule_explains_itself)
{
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(i);
        assert_true(rule->summary && rule->formula && rule->source);
        assert_true((rule->state_size != NULL) ||
                    (!rule->begin && !rule->reported && !rule->ended));
    }
}

// What a rule says at temperature `configured` about θ whose errors differ and have fallen.
static void distribution_at(const wk_curriculum_rule *rule, double configured, double p[COUNT])
{
    wk_curriculum_config config = wk_curriculum_config_default();
    config.temperature = configured;
    config.error_decay = 0.5;
    config.reduction_start = config.reduction_every = 10;
    fixture f = make_rule(rule, &square, config);
    for (int k = 0; k < 4 * COUNT; k++) {
        size_t i = (size_t)k % COUNT;
        float error = (float)(i * i + 1) / (float)(1 + k / COUNT);
        next(&f, (uint64_t)k, true, NULL);
        report(&f, i, error);
        end(&f, i, (double)error, (float)i / COUNT, 1);
        wk_curriculum_advance(f.curriculum, (uint64_t)k);
    }
    wk_curriculum_distribution(f.curriculum, p);
    drop(&f);
}

// A rule that has η and no value in its row would choose with η = 0.
TEST_CASE(every_rule_with_a_temperature_has_one_of_its_own)
{
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(i);
        double own = wk_rule_temperature(rule->name, 0), low[COUNT], high[COUNT], expected[COUNT];
        distribution_at(rule, 0.3, low);
        distribution_at(rule, 3, high);
        bool uses = memcmp(low, high, sizeof low) != 0;
        if (uses != (own > 0))
            fail_msg("'%s' %s a temperature and its row says %g", rule->name,
                     uses ? "has" : "does not have", own);
        if (!uses) continue;
        distribution_at(rule, 0, low);
        distribution_at(rule, own, expected);
        assert_memory_equal(low, expected, sizeof low);
        char said[32];
        snprintf(said, sizeof said, "η = %g", own);
        if (!strstr(rule->formula, said)) fail_msg("'%s' lacks %s", rule->formula, said);
        assert_true(wk_rule_temperature(rule->name, 7) == 7);
    }
    assert_true(wk_rule_temperature("a plug-in's", 0) == 0);
}

// Two θ at 1 and 3 after the newest report: normalised -1 and 1, whatever came before.
TEST_CASE(disagreement_forgets_what_came_before)
{
    fixture f = make("disagreement");
    report(&f, 2, 100);
    report(&f, 5, 7);
    const size_t index[] = {2, 5, 2, 5};
    const float delta[] = {0.5, 3, 1.5, NAN};
    wk_curriculum_report_at(f.curriculum, NULL, index, delta, 4);
    double expected[COUNT] = {0}, e2 = exp(2 / (1 + 1e-6));
    expected[2] = 1 / (1 + e2);
    expected[5] = e2 / (1 + e2);
    expect(&f, expected);
    drop(&f);
}

TEST_CASE(the_oracle_goes_by_the_error_in_episodes)
{
    fixture f = make("true-error");
    report(&f, 9, 1000);
    end(&f, 2, 0.1, 0, 0);
    end(&f, 5, 0.3, 0, 0);
    end(&f, 7, NAN, 0, 0);
    double p[COUNT];
    wk_curriculum_distribution(f.curriculum, p);
    assert_near(p[2] + p[5], 1, 1e-12);
    assert_near(p[5] / p[2], exp(2), 1e-3);
    drop(&f);
}

// Three known θ, visited by the first three episodes (the prefill's), scores 3, 2, 1.
TEST_CASE(plr_mixes_rank_and_staleness)
{
    fixture f = make("plr");
    size_t visited[3];
    uint64_t episode = 0;
    for (int k = 0; k < 3;) {
        size_t i = next(&f, episode++, true, NULL);
        bool again = false;
        for (int j = 0; j < k; j++)
            again |= visited[j] == i;
        if (!again) visited[k++] = i;
    }
    wk_curriculum_view view = wk_curriculum_get_view(f.curriculum);
    assert_int_equal(view.episodes, episode);
    double ages[3], sum = 0, expected[COUNT] = {0};
    for (int k = 0; k < 3; k++) {
        report(&f, visited[k], (float)(3 - k));
        sum += ages[k] = (double)(view.episodes - view.last_visit[visited[k]]);
    }
    assert_true(ages[0] > ages[1] && ages[1] > ages[2] && ages[2] == 0);
    const double harmonic = 1 + 1.0 / 2 + 1.0 / 3;
    for (int k = 0; k < 3; k++)
        expected[visited[k]] = 0.9 / (k + 1) / harmonic + 0.1 * ages[k] / sum;
    expect(&f, expected);
    drop(&f);
}

TEST_CASE(plr_robust_withholds_what_it_did_not_choose)
{
    size_t held_out = 0;
    fixture f = make_rule(rule_of("plr-robust"), &square, wk_curriculum_config_default());
    next(&f, 0, true, NULL);
    assert_true(wk_curriculum_learns(f.curriculum)); // the prefill is learned from
    next(&f, 1, false, NULL);
    assert_false(wk_curriculum_learns(f.curriculum)); // nothing to replay yet
    end(&f, 6, 0.5, 0, 0);
    for (uint64_t e = 2; e < 1002; e++) {
        size_t index = next(&f, e, false, NULL);
        if (wk_curriculum_learns(f.curriculum))
            assert_int_equal(index, 6);
        else
            held_out++;
    }
    assert_true(held_out > 150 && held_out < 250); // a fifth
    drop(&f);
}

// One known θ in the corner: half stays, half goes to its eight nearest.
TEST_CASE(accel_edits_what_it_replays)
{
    fixture f = make("accel");
    report(&f, 0, 1);
    double expected[COUNT] = {[0] = 0.5};
    // From (0,0): (0,1) (1,0) (1,1) (0,2) (2,0) (1,2) (2,1), then (2,2).
    static const int nearest[] = {1, 4, 5, 2, 8, 6, 9, 10};
    for (int i = 0; i < 8; i++)
        expected[nearest[i]] = 0.5 / 8;
    expect(&f, expected);
    drop(&f);
}

// Completion decides where there is one: 0.5 is worth more than 0 and 1.
TEST_CASE(sfl_goes_where_success_is_uncertain)
{
    fixture f = make("sfl");
    for (size_t i = 0; i < COUNT; i++)
        end(&f, i, NAN, i == 11 ? 0.5f : i == 12 ? 0.4f : i % 2 ? 1.0f : 0.0f, (float)i);
    double expected[COUNT] = {0};
    expected[11] = expected[12] = 0.5; // the best tenth of 16, rounded up
    expect(&f, expected);
    drop(&f);
    // Without completion, the spread of returns over episodes.
    wk_domain returns = square;
    returns.n_tasks = 1;
    f = make_on(rule_of("sfl"), &returns);
    for (size_t i = 0; i < 8; i++) {
        end(&f, i, NAN, 0, 5);
        end(&f, i, NAN, 0, i == 3 ? 9 : 5);
    }
    double p[COUNT];
    wk_curriculum_distribution(f.curriculum, p);
    assert_near(p[3], 1, 0);
    drop(&f);
    // Nothing uncertain: the default distribution.
    f = make("sfl");
    end(&f, 1, NAN, 1, 0);
    expect_uniform(&f);
    drop(&f);
}

// Its fixed point is the Boltzmann choice; unknown θ count as the mean.
TEST_CASE(ncc_ascends_to_the_boltzmann_choice)
{
    fixture f = make("ncc");
    for (size_t i = 0; i < COUNT; i++)
        report(&f, i, (float)i);
    double p[COUNT], before;
    end(&f, 0, NAN, 0, 0);
    wk_curriculum_distribution(f.curriculum, p);
    before = p[COUNT - 1];
    assert_true(before > 1.0 / COUNT && before < 0.1);
    for (int k = 0; k < 1000; k++)
        end(&f, 0, NAN, 0, 0);
    wk_curriculum_distribution(f.curriculum, p);
    double deviation = sqrt((COUNT * COUNT - 1) / 12.0);
    assert_near(p[9] / p[8], exp(1 / deviation), 1e-6);
    drop(&f);
}

// Equal errors; episodes at 1 are followed by a fall elsewhere, those at 2 by none.
TEST_CASE(traced_credits_what_helped_elsewhere)
{
    fixture f = make("traced");
    for (size_t i = 0; i < 4; i++)
        end(&f, i, 1, 0, 0);
    for (int k = 0; k < 8; k++)
        end(&f, 1, 1, 0, 0);
    end(&f, 3, 0.5, 0, 0);
    end(&f, 3, 1, 0, 0);
    const double *credit = (const double *)wk_curriculum_get_view(f.curriculum).state + COUNT;
    assert_true(credit[1] != 0 && credit[2] == 0 && credit[0] == 0);
    drop(&f);
    f = make("traced");
    for (size_t i = 0; i < 4; i++)
        end(&f, i, 1, 0, 0);
    for (int k = 0; k < 8; k++)
        end(&f, 1, 1, 0, 0);
    end(&f, 3, 0.9, 0, 0);
    double p[COUNT];
    wk_curriculum_distribution(f.curriculum, p);
    assert_true(p[1] > p[0] && p[1] > p[2] && p[1] > p[3]);
    drop(&f);
}

// A run of forty episodes; saved after `stop` and restored into a new curriculum if that is > 0.
static void play(const char *name, int stop, double *out)
{
    wk_error err = {0};
    fixture f = make(name);
    for (int e = 0; e < 40; e++) {
        size_t index = next(&f, (uint64_t)e, e < 10, NULL);
        float x = (float)(index % SIDE) / SIDE;
        for (size_t i = 0; i < 3; i++)
            report(&f, (index + i) % COUNT, x + 0.1f * (float)(e % 3));
        end(&f, index, e < 5 ? NAN : (double)x / (1 + e), x, x * (float)(e % 2));
        wk_curriculum_advance(f.curriculum, (uint64_t)e * 10);
        if (e != stop) continue;
        fixture restored = make(name), other = make(strcmp(name, "ge") == 0 ? "dr" : "ge");
        size_t size;
        char *bytes = save(&f, &size);
        assert_int_equal(wk_curriculum_load(other.curriculum, bytes, size, &err), WK_E_FORMAT);
        drop(&other);
        assert_refused(wk_curriculum_load(restored.curriculum, bytes, size - 8, &err), WK_E_FORMAT,
                       "bytes");
        assert_ok(wk_curriculum_load(restored.curriculum, bytes, size, &err));
        free(bytes);
        drop(&f);
        f = restored;
    }
    wk_curriculum_distribution(f.curriculum, out);
    out[COUNT] = (double)wk_curriculum_get_view(f.curriculum).steps;
    drop(&f);
}

TEST_CASE(restoring_is_exact_for_every_rule)
{
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(i);
        double whole[COUNT + 1], resumed[COUNT + 1];
        play(rule->name, -1, whole);
        play(rule->name, 23, resumed);
        assert_memory_equal(whole, resumed, sizeof whole);
        assert_near(whole[COUNT], rule->needs & WK_NEEDS_TIMES ? 390 : 0, 0);
    }
}

static size_t one_number(const wk_curriculum_view *view)
{
    return view->state ? 0 : sizeof(double);
}

// A user's rule: what it sees of θ, and a state that counts episodes.
static bool second_column(const wk_curriculum_view *view, const wk_curriculum_config *config,
                          double *probability)
{
    (void)config;
    assert_string_equal(view->domain->name, "square");
    for (size_t i = 0; i < view->count; i++)
        probability[i] = view->theta[2 * i + 1] == 2 ? 0.25 : 0;
    return *(const double *)view->state > 1;
}

static void count_episodes(const wk_curriculum_view *view, const wk_curriculum_config *config,
                           const wk_curriculum_episode *episode, void *own)
{
    (void)view, (void)config, (void)episode;
    ++*(double *)own;
}

TEST_CASE(a_rule_of_ones_own_sees_theta_and_keeps_a_state)
{
    wk_error err = {0};
    const wk_curriculum_rule mine = {.abi = WK_CURRICULUM_ABI,
                                     .name = "mine",
                                     .distribution = second_column,
                                     .state_size = one_number,
                                     .ended = count_episodes};
    fixture f = make_on(&mine, &square), restored = make_on(&mine, &square);
    end(&f, 0, NAN, 0, 0);
    expect_uniform(&f);
    end(&f, 0, NAN, 0, 0);
    double expected[COUNT] = {[2] = 0.25, [6] = 0.25, [10] = 0.25, [14] = 0.25};
    expect(&f, expected);
    size_t size;
    char *bytes = save(&f, &size);
    assert_ok(wk_curriculum_load(restored.curriculum, bytes, size, &err));
    expect(&restored, expected);
    drop(&restored);
    // Another version of it has another state.
    wk_curriculum_rule other = mine;
    other.state_size = NULL;
    other.ended = NULL;
    restored = make_on(&other, &square);
    assert_refused(wk_curriculum_load(restored.curriculum, bytes, size, &err), WK_E_FORMAT,
                   "another version");
    drop(&restored);
    // Without its code what it chose can be read.
    const wk_curriculum_rule described = {.abi = WK_CURRICULUM_ABI, .name = "mine"};
    restored = make_on(&described, &square);
    assert_ok(wk_curriculum_load(restored.curriculum, bytes, size, &err));
    expect(&restored, expected);
    free(bytes);
    drop(&restored);
    drop(&f);
}

TEST_MAIN(NULL, NULL)
