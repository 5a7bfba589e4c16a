#include "theory/mdp.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

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

// Solves (I - γP) v = r of the Markov chain that a policy makes of the process. Elimination needs
// no pivots: the matrix is strictly diagonally dominant.
void wk_mdp_evaluate(const wk_mdp *mdp, const double *policy, const double *reward, double *value)
{
    int n = mdp->states;
    double matrix[WK_MDP_STATES_MAX][WK_MDP_STATES_MAX] = {0};
    for (int s = 0; s < n; s++) {
        matrix[s][s] = 1;
        value[s] = 0;
        for (int a = 0; a < mdp->actions; a++) {
            double p = policy[s * mdp->actions + a];
            const double *next = wk_mdp_next_of(mdp, s, a);
            if (p == 0) continue;
            value[s] += p * reward[s * mdp->actions + a];
            for (int to = 0; to < n; to++)
                matrix[s][to] -= mdp->gamma * p * next[to];
        }
    }
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            double factor = matrix[i][k] / matrix[k][k];
            if (factor == 0) continue;
            for (int j = k + 1; j < n; j++)
                matrix[i][j] -= factor * matrix[k][j];
            value[i] -= factor * value[k];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            value[i] -= matrix[i][j] * value[j];
        value[i] /= matrix[i][i];
    }
}

void wk_mdp_evaluate_choice(const wk_mdp *mdp, const int *choice, const double *reward,
                            double *value)
{
    double policy[WK_MDP_PAIRS_MAX] = {0};
    for (int s = 0; s < mdp->states; s++)
        policy[s * mdp->actions + choice[s]] = 1;
    wk_mdp_evaluate(mdp, policy, reward, value);
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

static size_t table_size(const wk_tabular_model *m)
{
    return (size_t)(m->states * m->actions * m->states);
}

// A random distribution, evenly over all there are.
static void draw_distribution(wk_rng *rng, int count, double *out)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += out[i] = -log1p(-wk_rng_unit(rng));
    for (int i = 0; i < count; i++)
        out[i] /= sum;
}

wk_status wk_tabular_model_create(const wk_mdp *like, int members, uint64_t seed,
                                  uint64_t substream, wk_tabular_model *parent, wk_arena *arena,
                                  wk_tabular_model *out, wk_error *err)
{
    assert(members >= 0 && members <= WK_TABULAR_MEMBERS_MAX);
    wk_tabular_model m = {.states = like->states, .actions = like->actions, .members = members};
    m.coins = wk_rng_stream(seed, "theory-coins", substream);
    m.parent = parent;
    m.counts = wk_arena_alloc(arena, (size_t)(1 + members) * table_size(&m) * sizeof *m.counts);
    if (!m.counts) return wk_fail(err, WK_E_MEMORY, "no memory for a tabular world model");
    *out = m;
    if (parent) return WK_OK;

    // The prior: even, and for the members random.
    wk_rng rng = wk_rng_stream(seed, "theory-prior", substream);
    for (size_t i = 0; i < table_size(&m); i++)
        m.counts[i] = 1.0 / m.states;
    double *row = m.counts + table_size(&m);
    for (int i = 0; i < members * m.states * m.actions; i++, row += m.states)
        draw_distribution(&rng, m.states, row);
    return WK_OK;
}

static void count(wk_tabular_model *m, size_t at, uint32_t coins)
{
    m->counts[at] += 1;
    for (int k = 0; k < m->members; k++)
        if (coins >> k & 1) m->counts[(size_t)(k + 1) * table_size(m) + at] += 2;
}

void wk_tabular_model_add(wk_tabular_model *m, int state, int action, int next)
{
    size_t at = (size_t)((state * m->actions + action) * m->states + next);
    uint32_t coins = m->members > 0 ? wk_rng_u32(&m->coins) : 0;
    count(m, at, coins);
    if (m->parent) count(m->parent, at, coins);
}

// What a table (0: the model, then the members) predicts for a state and action.
static void predict(const wk_tabular_model *m, int table, int pair, double *out)
{
    const double *row = m->counts + (size_t)table * table_size(m) + (size_t)(pair * m->states);
    double sum = 0;
    if (m->parent)
        predict(m->parent, table, pair, out);
    else
        memset(out, 0, (size_t)m->states * sizeof *out);
    for (int s = 0; s < m->states; s++)
        sum += out[s] += row[s];
    for (int s = 0; s < m->states; s++)
        out[s] /= sum;
}

void wk_tabular_model_predict(const wk_tabular_model *m, wk_mdp *out)
{
    out->states = m->states;
    out->actions = m->actions;
    for (int pair = 0; pair < m->states * m->actions; pair++)
        predict(m, 0, pair, out->next + pair * m->states);
}

void wk_tabular_model_disagreement(const wk_tabular_model *m, double *out)
{
    double members[WK_TABULAR_MEMBERS_MAX][WK_MDP_STATES_MAX];
    for (int pair = 0; pair < m->states * m->actions; pair++) {
        double mean[WK_MDP_STATES_MAX] = {0}, distance = 0;
        for (int k = 0; k < m->members; k++) {
            predict(m, k + 1, pair, members[k]);
            for (int s = 0; s < m->states; s++)
                mean[s] += members[k][s] / m->members;
        }
        for (int k = 0; k < m->members; k++)
            for (int s = 0; s < m->states; s++)
                distance += fabs(members[k][s] - mean[s]);
        out[pair] = m->members > 0 ? distance / (2 * m->members) : 0;
    }
}

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
    for (int s = 0; s < mdp->states; s++)
        draw_distribution(rng, mdp->actions, policy + s * mdp->actions);
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
