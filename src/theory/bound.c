#include "theory/bound.h"

// E_{d(π,M̂)} f of a value computed with f as the reward: d is normalised to 1.
static double discounted_mean(const wk_mdp *mdp, const double *value)
{
    return (1 - mdp->gamma) * wk_mdp_at_start(mdp, value);
}

static double lemma_factor(const wk_mdp *mdp)
{
    return 2 * mdp->gamma / ((1 - mdp->gamma) * (1 - mdp->gamma));
}

void wk_mdp_pair_compare(const wk_mdp *real, const wk_mdp *model, wk_mdp_pair *out)
{
    int choice[WK_MDP_STATES_MAX] = {0};
    double value[WK_MDP_STATES_MAX];
    out->real = real;
    out->model = model;
    wk_mdp_total_variation(model, real, out->tv);
    wk_mdp_solve(model, out->tv, choice, value);
    out->error = discounted_mean(model, value);
}

double wk_mdp_pair_reward_free_bound(const wk_mdp_pair *pair)
{
    return 2 * lemma_factor(pair->model) * pair->error;
}

static double mean_error(const wk_mdp_pair *pair, const int *choice)
{
    double value[WK_MDP_STATES_MAX];
    wk_mdp_evaluate_choice(pair->model, choice, pair->tv, value);
    return discounted_mean(pair->model, value);
}

void wk_mdp_pair_regret(const wk_mdp_pair *pair, const double *reward, wk_regret *out)
{
    double value[WK_MDP_STATES_MAX];
    wk_mdp_solve(pair->real, reward, out->real_choice, value);
    double best = wk_mdp_at_start(pair->real, value);
    wk_mdp_solve(pair->model, reward, out->model_choice, value);
    wk_mdp_evaluate_choice(pair->real, out->model_choice, reward, value);
    out->regret = best - wk_mdp_at_start(pair->real, value);
    out->bound = lemma_factor(pair->model) *
                 (mean_error(pair, out->real_choice) + mean_error(pair, out->model_choice));
}

wk_simulation_lemma wk_mdp_pair_simulation(const wk_mdp_pair *pair, const double *policy,
                                           const double *reward)
{
    const wk_mdp *real = pair->real, *model = pair->model;
    double value[WK_MDP_STATES_MAX], imagined[WK_MDP_STATES_MAX], step[WK_MDP_PAIRS_MAX];
    wk_mdp_evaluate(real, policy, reward, value);
    wk_mdp_evaluate(model, policy, reward, imagined);
    wk_simulation_lemma lemma = {.difference = wk_mdp_at_start(model, imagined) -
                                               wk_mdp_at_start(real, value)};
    for (int s = 0; s < real->states; s++)
        for (int a = 0; a < real->actions; a++)
            step[s * real->actions + a] =
                wk_mdp_expect(model, s, a, value) - wk_mdp_expect(real, s, a, value);
    wk_mdp_evaluate(model, policy, step, imagined);
    lemma.identity = model->gamma * wk_mdp_at_start(model, imagined);
    wk_mdp_evaluate(model, policy, pair->tv, imagined);
    lemma.bound = lemma_factor(model) * discounted_mean(model, imagined);
    return lemma;
}

// State 0 pays 1 as long as one stays there, state 1 pays nothing and keeps.
static wk_mdp slipping(double gamma, double first_slip, double second_slip)
{
    return (wk_mdp){.states = 2,
                    .actions = 2,
                    .gamma = gamma,
                    .start = {1, 0},
                    .next = {1 - first_slip, first_slip, 1 - second_slip, second_slip, 0, 1, 0, 1}};
}

// The first action never slips, the second does with 2·slip; the model believes that both slip with
// `slip`, the first by a millionth more, and takes the second.
void wk_mdp_tight_pair(double slip, double gamma, wk_mdp *real, wk_mdp *model, double *reward)
{
    *real = slipping(gamma, 0, 2 * slip);
    *model = slipping(gamma, slip * (1 + 1e-6), slip);
    reward[0] = reward[1] = 1;
    reward[2] = reward[3] = 0;
}
