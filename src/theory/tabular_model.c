#include "theory/tabular_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t table_size(const wk_tabular_model *m)
{
    return (size_t)(m->states * m->actions * m->states);
}

static const double *row_of(const wk_tabular_model *m, int table, int pair)
{
    return m->counts + (size_t)table * table_size(m) + (size_t)(pair * m->states);
}

static void add_priors(wk_tabular_model *m, uint64_t seed, uint64_t substream)
{
    wk_rng rng = wk_rng_stream(seed, "theory-prior", substream);
    for (size_t i = 0; i < table_size(m); i++)
        m->counts[i] = 1.0 / m->states;
    double *row = m->counts + table_size(m);
    for (int i = 0; i < m->members * m->states * m->actions; i++, row += m->states) {
        double sum = 0;
        for (int s = 0; s < m->states; s++)
            sum += row[s] = -log1p(-wk_rng_unit(&rng));
        for (int s = 0; s < m->states; s++)
            row[s] /= sum;
    }
}

wk_status wk_tabular_model_create(const wk_mdp *like, int members, uint64_t seed,
                                  uint64_t substream, wk_tabular_model *parent,
                                  wk_tabular_model *out, wk_error *err)
{
    assert(members >= 0 && members <= WK_TABULAR_MEMBERS_MAX);
    wk_tabular_model m = {.states = like->states, .actions = like->actions, .members = members};
    m.coins = wk_rng_stream(seed, "theory-coins", substream);
    m.parent = parent;
    m.counts = calloc((size_t)(1 + members) * table_size(&m), sizeof *m.counts);
    if (!m.counts) return wk_fail(err, WK_E_MEMORY, "no memory for a tabular world model");
    if (!parent) add_priors(&m, seed, substream);
    *out = m;
    return WK_OK;
}

void wk_tabular_model_free(wk_tabular_model *model)
{
    free(model->counts);
    model->counts = NULL;
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
    const double *row = row_of(m, table, pair);
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
