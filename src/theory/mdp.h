// Finite Markov decision processes, solved exactly: policies are evaluated by elimination and
// improved until no action is better, so that every number is right to rounding. Processes are
// plain data of a fixed maximum size. A tabular world model learns one by counting.
#ifndef WK_THEORY_MDP_H
#define WK_THEORY_MDP_H

#include "base/memory.h"
#include "base/random.h"
#include "waker/error.h"

enum {
    WK_MDP_STATES_MAX = 32,
    WK_MDP_ACTIONS_MAX = 4,
    WK_MDP_PAIRS_MAX = WK_MDP_STATES_MAX * WK_MDP_ACTIONS_MAX, // of a state and an action
};

/// States, actions, transitions; rewards are given with each question.
typedef struct wk_mdp {
    int states, actions;
    double gamma;                                      // 0 < gamma < 1
    double start[WK_MDP_STATES_MAX];                   // distribution of the first state
    double next[WK_MDP_PAIRS_MAX * WK_MDP_STATES_MAX]; // T(s'|s,a), [states,actions,states]
} wk_mdp;

/// T(.|s,a), [states].
double *wk_mdp_next(wk_mdp *mdp, int state, int action);
const double *wk_mdp_next_of(const wk_mdp *mdp, int state, int action);

/// Mean of `values` [states] after taking `action` in `state`.
double wk_mdp_expect(const wk_mdp *mdp, int state, int action, const double *values);

/// V(π, M) of every state for a stochastic policy π(a|s) [states,actions] and rewards
/// [states,actions].
void wk_mdp_evaluate(const wk_mdp *mdp, const double *policy, const double *reward, double *value);

/// An optimal deterministic policy (`choice`, an action per state) and its values. `choice` holds
/// the policy to begin with: any, but a good one saves time. Policy iteration: a sweep of value
/// iteration, then the exact values of the greedy policy, until no action is better.
void wk_mdp_solve(const wk_mdp *mdp, const double *reward, int *choice, double *value);

/// The values of a deterministic policy.
void wk_mdp_evaluate_choice(const wk_mdp *mdp, const int *choice, const double *reward,
                            double *value);

/// Mean of `values` over the first state.
double wk_mdp_at_start(const wk_mdp *mdp, const double *value);

/// Total variation distance between the next states of two processes, of every state and action.
void wk_mdp_total_variation(const wk_mdp *a, const wk_mdp *b, double *tv);

/// A tabular world model of one MDP, learned by counting, with an ensemble whose disagreement
/// stands for its error as in the paper. The prior is worth one observation: of the model an even
/// distribution over all states, of a member a random one of its own; or what a parent predicts,
/// which counts the transitions of all its children: that is how models of different θ generalise.
/// A member counts each transition twice or not at all, with probability 1/2 each: disagreement
/// then falls with data, and slowly where outcomes are random.
typedef struct wk_tabular_model {
    int states, actions, members;
    double *counts; // [1 + members,states,actions,states], of an arena; first the model's own
    wk_rng coins;   // whether a member counts a transition
    struct wk_tabular_model *parent; // borrowed; NULL: the counts include the prior
} wk_tabular_model;

enum { WK_TABULAR_MEMBERS_MAX = 32 };

/// A model of MDPs as large as `like`, in an arena. Priors and draws are those of (seed,
/// substream). A parent must be as large and have as many members; NULL: none.
wk_status wk_tabular_model_create(const wk_mdp *like, int members, uint64_t seed,
                                  uint64_t substream, wk_tabular_model *parent, wk_arena *arena,
                                  wk_tabular_model *out, wk_error *err);

/// Counts a transition.
void wk_tabular_model_add(wk_tabular_model *model, int state, int action, int next);

/// Writes the transitions that the model predicts into `out`, whose start and gamma are the
/// caller's.
void wk_tabular_model_predict(const wk_tabular_model *model, wk_mdp *out);

/// Mean total variation distance of the members' predictions from their mean, [states,actions].
void wk_tabular_model_disagreement(const wk_tabular_model *model, double *out);

/// A random reward in [0,1], [states,actions]: by turns (`kind`, any number from 0) uniform for
/// every state and action, 1 for a tenth of them and 0 else, and 1 in a single state.
void wk_mdp_draw_reward(const wk_mdp *mdp, uint64_t kind, wk_rng *rng, double *reward);

/// A random stochastic policy, [states,actions].
void wk_mdp_draw_policy(const wk_mdp *mdp, wk_rng *rng, double *policy);

/// Plays an episode of `steps` steps and counts it; actions by `choice`, NULL: uniformly random.
void wk_mdp_sample_episode(const wk_mdp *mdp, const int *choice, int steps, wk_rng *rng,
                           wk_tabular_model *model);

#endif
