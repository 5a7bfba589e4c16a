// The paper's section 3.3 and appendix A for one real MDP and one model of it, computed exactly:
// the regret of the policy that is optimal in the model, Proposition 1, the reward-free bound, and
// the Simulation Lemma. Rewards lie in [0,1]; all values are those of the first state.
#ifndef WK_THEORY_BOUND_H
#define WK_THEORY_BOUND_H

#include "theory/mdp.h"

/// A real MDP M and a model M̂ of it (borrowed), and what does not depend on a reward.
typedef struct wk_mdp_pair {
    const wk_mdp *real, *model;
    double tv[WK_MDP_PAIRS_MAX]; // TV(T̂(.|s,a), T(.|s,a))
    double error;                // WorldModelError: max over π of E_{d(π,M̂)} TV
} wk_mdp_pair;

void wk_mdp_pair_compare(const wk_mdp *real, const wk_mdp *model, wk_mdp_pair *out);

/// 4γ/(1-γ)² WorldModelError: no reward in [0,1] has more regret.
double wk_mdp_pair_reward_free_bound(const wk_mdp_pair *pair);

/// One reward's numbers: regret <= bound <= reward-free bound.
typedef struct wk_regret {
    double regret; // V(π*, M) - V(π̂*, M)
    double bound;  // 2γ/(1-γ)² [E_{d(π*,M̂)} TV + E_{d(π̂*,M̂)} TV]
    int real_choice[WK_MDP_STATES_MAX], model_choice[WK_MDP_STATES_MAX]; // π*, π̂*
} wk_regret;

/// Fills regret and bound; the choices hold policies to begin with, all 0 will do.
void wk_mdp_pair_regret(const wk_mdp_pair *pair, const double *reward, wk_regret *out);

/// The Simulation Lemma for a policy [states,actions] and a reward.
typedef struct wk_simulation_lemma {
    double difference; // V(π, M̂) - V(π, M)
    double identity;   // γ/(1-γ) E_{d(π,M̂)} [E_T̂ V^π - E_T V^π]: the same number
    double bound;      // 2γ/(1-γ)² E_{d(π,M̂)} TV, at least its absolute value
} wk_simulation_lemma;

wk_simulation_lemma wk_mdp_pair_simulation(const wk_mdp_pair *pair, const double *policy,
                                           const double *reward);

/// Two states and two actions for which the regret is nearly half of the bound: the constant of
/// Proposition 1 can be halved and then not improved. `slip` in (0, 1/2]; the ratio tends to 1/2
/// as it falls to 0. `reward` is [2,2].
void wk_mdp_tight_pair(double slip, double gamma, wk_mdp *real, wk_mdp *model, double *reward);

#endif
