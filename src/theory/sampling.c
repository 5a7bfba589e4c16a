#include "theory/sampling.h"

#include <math.h>

// An index drawn from `count` probabilities that sum to 1.
static int draw(const double *probability, int count, wk_rng *rng)
{
    double at = wk_rng_unit(rng);
    int last = 0;
    for (int i = 0; i < count; i++) {
        if (probability[i] <= 0) continue;
        last = i;
        at -= probability[i];
        if (at < 0) break;
    }
    return last;
}

void wk_mdp_draw_reward(const wk_mdp *mdp, uint64_t kind, wk_rng *rng, double *reward)
{
    int goal = (int)wk_rng_below(rng, (uint64_t)mdp->states);
    for (int pair = 0; pair < mdp->states * mdp->actions; pair++) {
        double u = wk_rng_unit(rng);
        reward[pair] = kind % 3 == 0 ? u : kind % 3 == 1 ? u < 0.1 : pair / mdp->actions == goal;
    }
}

void wk_mdp_draw_policy(const wk_mdp *mdp, wk_rng *rng, double *policy)
{
    for (int s = 0; s < mdp->states; s++) {
        double *row = policy + s * mdp->actions, sum = 0;
        for (int a = 0; a < mdp->actions; a++)
            sum += row[a] = -log1p(-wk_rng_unit(rng));
        for (int a = 0; a < mdp->actions; a++)
            row[a] /= sum;
    }
}

void wk_mdp_sample_episode(const wk_mdp *mdp, const int *choice, int steps, wk_rng *rng,
                           wk_tabular_model *model)
{
    int state = draw(mdp->start, mdp->states, rng);
    for (int t = 0; t < steps; t++) {
        int action = choice ? choice[state] : (int)wk_rng_below(rng, (uint64_t)mdp->actions);
        int next = draw(wk_mdp_next_of(mdp, state, action), mdp->states, rng);
        wk_tabular_model_add(model, state, action, next);
        state = next;
    }
}
