// Finite MDPs: exact values against long sums, optimal policies against all policies there are, and
// in large ones against what no action betters.
#include "base/random.h"
#include "support/check.h"
#include "theory/family.h"

// A random MDP, from nearly deterministic to nearly even.
static void random_mdp(uint64_t number, int states, int actions, double gamma, wk_mdp *out)
{
    wk_rng rng = wk_rng_stream(1, "test-mdp", number);
    *out = (wk_mdp){.states = states, .actions = actions, .gamma = gamma};
    double power = wk_rng_uniform(&rng, 0.2, 12);
    for (int row = 0; row <= states * actions; row++) {
        double *next = row < states * actions ? out->next + row * states : out->start, sum = 0;
        for (int s = 0; s < states; s++)
            sum += next[s] = pow(wk_rng_unit(&rng), power);
        for (int s = 0; s < states; s++)
            next[s] /= sum;
    }
}

static void random_reward(uint64_t number, const wk_mdp *mdp, double *reward)
{
    wk_rng rng = wk_rng_stream(2, "test-reward", number);
    wk_mdp_draw_reward(mdp, number, &rng, reward);
}

TEST_CASE(values_are_the_sums_of_discounted_rewards)
{
    for (uint64_t n = 0; n < 50; n++) {
        wk_mdp mdp;
        double reward[WK_MDP_PAIRS_MAX], policy[WK_MDP_PAIRS_MAX], value[WK_MDP_STATES_MAX];
        random_mdp(n, 2 + (int)(n % 7), 1 + (int)(n % 4), 0.9, &mdp);
        random_reward(n, &mdp, reward);
        wk_rng rng = wk_rng_stream(3, "test-policy", n);
        wk_mdp_draw_policy(&mdp, &rng, policy);
        wk_mdp_evaluate(&mdp, policy, reward, value);
        // Forwards: the distribution of (s, a) at every step, from the first state's.
        double now[WK_MDP_STATES_MAX], then[WK_MDP_STATES_MAX], sum = 0, weight = 1;
        memcpy(now, mdp.start, sizeof now);
        for (int t = 0; t < 400; t++, weight *= mdp.gamma) {
            memset(then, 0, sizeof then);
            for (int pair = 0; pair < mdp.states * mdp.actions; pair++) {
                double p = now[pair / mdp.actions] * policy[pair];
                sum += weight * p * reward[pair];
                for (int s = 0; s < mdp.states; s++)
                    then[s] += p * mdp.next[pair * mdp.states + s];
            }
            memcpy(now, then, sizeof now);
        }
        assert_near(wk_mdp_at_start(&mdp, value), sum, 1e-12);
    }
}

// The best value of every state over all deterministic policies.
static void enumerate(const wk_mdp *mdp, const double *reward, double *best)
{
    int choice[WK_MDP_STATES_MAX] = {0}, s = 0;
    for (int i = 0; i < mdp->states; i++)
        best[i] = -INFINITY;
    while (s < mdp->states) {
        double value[WK_MDP_STATES_MAX];
        wk_mdp_evaluate_choice(mdp, choice, reward, value);
        for (int i = 0; i < mdp->states; i++)
            best[i] = fmax(best[i], value[i]);
        for (s = 0; s < mdp->states && ++choice[s] == mdp->actions; s++)
            choice[s] = 0;
    }
}

TEST_CASE(the_optimal_policy_is_the_best_of_all)
{
    for (uint64_t n = 0; n < 200; n++) {
        static const double gammas[] = {0.3, 0.9, 0.99};
        wk_mdp mdp;
        double reward[WK_MDP_PAIRS_MAX], value[WK_MDP_STATES_MAX], best[WK_MDP_STATES_MAX];
        int choice[WK_MDP_STATES_MAX] = {0};
        random_mdp(n, 1 + (int)(n % 5), 2 + (int)(n % 2), gammas[n % 3], &mdp);
        random_reward(n, &mdp, reward);
        wk_mdp_solve(&mdp, reward, choice, value);
        enumerate(&mdp, reward, best);
        for (int s = 0; s < mdp.states; s++)
            assert_near(value[s], best[s], 1e-10);
    }
}

// Of every family at its largest, whatever the policy to begin with: Bellman's equation.
TEST_CASE(no_action_betters_the_optimal_values)
{
    for (size_t f = 0; f < WK_FAMILIES; f++)
        for (uint64_t n = 0; n < 6; n++) {
            const double theta[] = {wk_families[f].domain.params[0].max, 0.1 * (double)n};
            wk_mdp mdp;
            double reward[WK_MDP_PAIRS_MAX], value[WK_MDP_STATES_MAX];
            int choice[WK_MDP_STATES_MAX];
            wk_family_make(&wk_families[f], theta, 0.99, n, &mdp);
            random_reward(n, &mdp, reward);
            for (int s = 0; s < mdp.states; s++)
                choice[s] = (s + (int)n) % mdp.actions;
            wk_mdp_solve(&mdp, reward, choice, value);
            for (int s = 0; s < mdp.states; s++) {
                double best = -INFINITY;
                for (int a = 0; a < mdp.actions; a++)
                    best = fmax(best, reward[s * mdp.actions + a] +
                                          mdp.gamma * wk_mdp_expect(&mdp, s, a, value));
                assert_near(value[s], best, 1e-9);
            }
        }
}

TEST_CASE(total_variation_is_half_the_sum_of_differences)
{
    wk_mdp a = {.states = 2, .actions = 1, .next = {0.5, 0.5, 1, 0}};
    wk_mdp b = {.states = 2, .actions = 1, .next = {0.2, 0.8, 0, 1}};
    double tv[2];
    wk_mdp_total_variation(&a, &b, tv);
    assert_near(tv[0], 0.3, 1e-15);
    assert_near(tv[1], 1, 0);
}

TEST_MAIN(NULL, NULL)
