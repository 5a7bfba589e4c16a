#include "theory/mdp.h"

#include <math.h>
#include <stdbool.h>

double *wk_mdp_next(wk_mdp *mdp, int state, int action)
{
    return mdp->next + (state * mdp->actions + action) * mdp->states;
}

const double *wk_mdp_next_of(const wk_mdp *mdp, int state, int action)
{
    return mdp->next + (state * mdp->actions + action) * mdp->states;
}

double wk_mdp_expect(const wk_mdp *mdp, int state, int action, const double *values)
{
    const double *next = wk_mdp_next_of(mdp, state, action);
    double sum = 0;
    for (int s = 0; s < mdp->states; s++)
        sum += next[s] * values[s];
    return sum;
}

double wk_mdp_at_start(const wk_mdp *mdp, const double *value)
{
    double sum = 0;
    for (int s = 0; s < mdp->states; s++)
        sum += mdp->start[s] * value[s];
    return sum;
}

// A Markov chain with rewards: (I - γP) v = r.
typedef struct chain {
    int states;
    double matrix[WK_MDP_STATES_MAX][WK_MDP_STATES_MAX];
} chain;

// Elimination needs no pivots: the matrix is strictly diagonally dominant.
static void eliminate(chain *c, double *value)
{
    int n = c->states;
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            double factor = c->matrix[i][k] / c->matrix[k][k];
            if (factor == 0) continue;
            for (int j = k + 1; j < n; j++)
                c->matrix[i][j] -= factor * c->matrix[k][j];
            value[i] -= factor * value[k];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            value[i] -= c->matrix[i][j] * value[j];
        value[i] /= c->matrix[i][i];
    }
}

void wk_mdp_evaluate(const wk_mdp *mdp, const double *policy, const double *reward, double *value)
{
    chain c = {.states = mdp->states};
    for (int s = 0; s < mdp->states; s++) {
        c.matrix[s][s] = 1;
        value[s] = 0;
        for (int a = 0; a < mdp->actions; a++) {
            double p = policy[s * mdp->actions + a];
            const double *next = wk_mdp_next_of(mdp, s, a);
            value[s] += p * reward[s * mdp->actions + a];
            for (int to = 0; to < mdp->states; to++)
                c.matrix[s][to] -= mdp->gamma * p * next[to];
        }
    }
    eliminate(&c, value);
}

void wk_mdp_evaluate_choice(const wk_mdp *mdp, const int *choice, const double *reward,
                            double *value)
{
    chain c;
    c.states = mdp->states;
    for (int s = 0; s < mdp->states; s++) {
        const double *next = wk_mdp_next_of(mdp, s, choice[s]);
        for (int to = 0; to < mdp->states; to++)
            c.matrix[s][to] = -mdp->gamma * next[to];
        c.matrix[s][s] += 1;
        value[s] = reward[s * mdp->actions + choice[s]];
    }
    eliminate(&c, value);
}

// Takes the best action of every state where it is better than the present one by more than the
// rounding of the values, so that the iteration ends; returns whether any was.
static bool improve(const wk_mdp *mdp, const double *reward, const double *value, int *choice)
{
    double least = 1e-12 / (1 - mdp->gamma);
    bool improved = false;
    for (int s = 0; s < mdp->states; s++) {
        double best = value[s] + least;
        for (int a = 0; a < mdp->actions; a++) {
            double q = reward[s * mdp->actions + a] + mdp->gamma * wk_mdp_expect(mdp, s, a, value);
            if (q <= best) continue;
            best = q;
            choice[s] = a;
            improved = true;
        }
    }
    return improved;
}

void wk_mdp_solve(const wk_mdp *mdp, const double *reward, int *choice, double *value)
{
    do
        wk_mdp_evaluate_choice(mdp, choice, reward, value);
    while (improve(mdp, reward, value, choice));
}

void wk_mdp_total_variation(const wk_mdp *a, const wk_mdp *b, double *tv)
{
    for (int pair = 0; pair < a->states * a->actions; pair++) {
        double sum = 0;
        for (int s = 0; s < a->states; s++)
            sum += fabs(a->next[pair * a->states + s] - b->next[pair * a->states + s]);
        tv[pair] = sum / 2;
    }
}
