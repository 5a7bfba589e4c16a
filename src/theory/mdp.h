// Finite Markov decision processes, solved exactly: policies are evaluated by elimination and
// improved until no action is better, so that every number is right to rounding. Plain data of a
// fixed maximum size; no function allocates.
#ifndef WK_THEORY_MDP_H
#define WK_THEORY_MDP_H

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

#endif
