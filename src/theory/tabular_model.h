// A tabular world model of one MDP, learned by counting, with an ensemble whose disagreement stands
// for its error as in the paper. The prior is worth one observation: of the model an even
// distribution over all states, of a member a random one of its own; or what a parent predicts,
// which counts the transitions of all its children: that is how models of different θ generalise. A
// member counts each transition twice or not at all, with probability 1/2 each: disagreement then
// falls with data, and slowly where outcomes are random.
#ifndef WK_THEORY_TABULAR_MODEL_H
#define WK_THEORY_TABULAR_MODEL_H

#include "base/rng.h"
#include "theory/mdp.h"
#include "waker/error.h"

typedef struct wk_tabular_model {
    int states, actions, members;
    double *counts;                  // [1 + members,states,actions,states]; first the model's own
    wk_rng coins;                    // whether a member counts a transition
    struct wk_tabular_model *parent; // borrowed; NULL: the counts include the prior
} wk_tabular_model;

enum { WK_TABULAR_MEMBERS_MAX = 32 };

/// A model of MDPs as large as `like`. Priors and draws are those of (seed, substream). A parent
/// must be as large and have as many members; NULL: none.
wk_status wk_tabular_model_create(const wk_mdp *like, int members, uint64_t seed,
                                  uint64_t substream, wk_tabular_model *parent,
                                  wk_tabular_model *out, wk_error *err);
void wk_tabular_model_free(wk_tabular_model *model);

/// Counts a transition.
void wk_tabular_model_add(wk_tabular_model *model, int state, int action, int next);

/// Writes the transitions that the model predicts into `out`, whose start and gamma are the
/// caller's.
void wk_tabular_model_predict(const wk_tabular_model *model, wk_mdp *out);

/// Mean total variation distance of the members' predictions from their mean, [states,actions].
void wk_tabular_model_disagreement(const wk_tabular_model *model, double *out);

#endif
