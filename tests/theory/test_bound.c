// The paper's inequalities: on many random instances, against sums written out, where they are
// tight, and where they must fail.
#include "support/check.h"
#include "theory/bound.h"

static wk_error err;

static wk_theory_check run_check(const char *family, int64_t instances, int threads)
{
    wk_pool *pool;
    wk_theory_check check;
    wk_theory_check_config config = {.instances = instances};
    assert_ok(wk_pool_create(threads, &pool, &err));
    assert_ok(wk_family_find(family, &config.family, &err));
    assert_ok(wk_theory_check_run(&config, pool, &check, &err));
    wk_pool_destroy(pool);
    return check;
}

// 100,000 instances. The halved constant is ours: values span 1/(1-γ), so that differences of their
// means are at most TV/(1-γ), not 2 TV/(1-γ).
TEST_CASE(the_inequalities_hold_with_half_the_constant)
{
    for (size_t f = 0; f < WK_FAMILIES; f++) {
        wk_theory_check check = run_check(wk_families[f].domain.name, 25000, 0);
        const wk_theory_check_numbers *t = &check.total;
        print_message("%s: %d instances, regret/bound %.4f, lemma %.4f, identity %.1e\n",
                      wk_families[f].domain.name, (int)t->instances, t->regret_ratio,
                      t->lemma_ratio, t->identity_gap);
        assert_true(t->instances >= 25000);
        assert_int_equal(t->violations, 0);
        assert_true(t->regret_ratio > 0.1 && t->regret_ratio <= 0.5);
        assert_true(t->lemma_ratio > 0.2 && t->lemma_ratio <= 0.5);
        assert_true(t->bound_ratio <= 1 + 1e-10);
        assert_true(t->identity_gap < 1e-12);
        assert_true(t->regret > 0 && t->regret < t->bound && t->bound < t->reward_free);
        wk_theory_check_free(&check);
    }
}

TEST_CASE(the_check_does_not_depend_on_threads)
{
    wk_theory_check one = run_check("windy", 2000, 1), three = run_check("windy", 2000, 3);
    assert_int_equal(one.count, three.count);
    assert_memory_equal(one.trials, three.trials, one.count * sizeof *one.trials);
    wk_theory_check_free(&one);
    wk_theory_check_free(&three);
}

// A world and a model of it that has seen a little.
static void make_pair(uint64_t seed, wk_mdp *real, wk_mdp *model, wk_mdp_pair *pair)
{
    const wk_family *family;
    wk_tabular_model table;
    wk_arena arena = {0};
    const double theta[] = {8, 0.3};
    assert_ok(wk_family_find("random", &family, &err));
    wk_family_make(family, theta, 0.9, seed, real);
    assert_ok(wk_tabular_model_create(real, 0, 0, 0, NULL, &arena, &table, &err));
    wk_rng rng = wk_rng_stream(seed, "test-pair", 0);
    wk_mdp_sample_episode(real, NULL, 100, &rng, &table);
    *model = *real;
    wk_tabular_model_predict(&table, model);
    wk_arena_reset(&arena);
    wk_mdp_pair_compare(real, model, pair);
}

// E_{d(π,M̂)} TV, step by step from the first state.
static double mean_tv(const wk_mdp_pair *pair, const int *choice)
{
    const wk_mdp *m = pair->model;
    double now[WK_MDP_STATES_MAX], weight = 1 - m->gamma, sum = 0, mass = 0;
    memcpy(now, m->start, sizeof now);
    for (int t = 0; t < 400; t++, weight *= m->gamma) {
        double then[WK_MDP_STATES_MAX] = {0};
        for (int s = 0; s < m->states; s++) {
            sum += weight * now[s] * pair->tv[s * m->actions + choice[s]];
            mass += weight * now[s];
            for (int to = 0; to < m->states; to++)
                then[to] += now[s] * wk_mdp_next_of(m, s, choice[s])[to];
        }
        memcpy(now, then, sizeof now);
    }
    assert_near(mass, 1, 1e-12);
    return sum;
}

TEST_CASE(the_bound_is_the_papers_formula)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        wk_mdp real, model;
        wk_mdp_pair pair;
        wk_regret r = {0};
        double reward[WK_MDP_PAIRS_MAX], value[WK_MDP_STATES_MAX], own[WK_MDP_STATES_MAX];
        make_pair(seed, &real, &model, &pair);
        wk_rng rng = wk_rng_stream(seed, "test-bound", 0);
        wk_mdp_draw_reward(&real, seed, &rng, reward);
        wk_mdp_pair_regret(&pair, reward, &r);
        double both = mean_tv(&pair, r.real_choice) + mean_tv(&pair, r.model_choice);
        assert_near(r.bound, 2 * 0.9 / (0.1 * 0.1) * both, 1e-9);
        assert_true(mean_tv(&pair, r.real_choice) <= pair.error + 1e-12);
        assert_near(wk_mdp_pair_reward_free_bound(&pair), 4 * 0.9 / (0.1 * 0.1) * pair.error, 1e-9);
        wk_mdp_evaluate_choice(&real, r.real_choice, reward, value);
        wk_mdp_evaluate_choice(&real, r.model_choice, reward, own);
        assert_near(r.regret, value[0] - own[0], 1e-12);
        assert_true(r.regret >= -1e-12);
    }
}

TEST_CASE(a_perfect_model_has_neither_regret_nor_bound)
{
    wk_mdp real, model;
    wk_mdp_pair pair;
    wk_regret r = {0};
    double reward[WK_MDP_PAIRS_MAX];
    make_pair(3, &real, &model, &pair);
    wk_mdp_pair_compare(&real, &real, &pair);
    wk_rng rng = wk_rng_stream(3, "test-perfect", 0);
    wk_mdp_draw_reward(&real, 0, &rng, reward);
    wk_mdp_pair_regret(&pair, reward, &r);
    assert_near(r.regret, 0, 1e-12);
    assert_near(r.bound, 0, 0);
    assert_near(pair.error, 0, 0);
}

static double tight_ratio(double slip, double gamma, double scale)
{
    wk_mdp real, model;
    wk_mdp_pair pair;
    wk_regret r = {0};
    double reward[4];
    wk_mdp_tight_pair(slip, gamma, &real, &model, reward);
    for (int i = 0; i < 4; i++)
        reward[i] *= scale;
    wk_mdp_pair_compare(&real, &model, &pair);
    wk_mdp_pair_regret(&pair, reward, &r);
    return r.regret / r.bound;
}

TEST_CASE(half_the_constant_cannot_be_improved)
{
    static const double gammas[] = {0.5, 0.9, 0.99};
    for (int i = 0; i < 3; i++) {
        assert_true(tight_ratio(1e-2, gammas[i], 1) < tight_ratio(1e-4, gammas[i], 1));
        assert_true(tight_ratio(1e-5, gammas[i], 1) > 0.499);
        assert_true(tight_ratio(1e-5, gammas[i], 1) < 0.5);
    }
}

TEST_CASE(rewards_above_one_break_the_bound)
{
    assert_true(tight_ratio(1e-4, 0.9, 3) > 1);
}

TEST_MAIN(NULL, NULL)
