// The paper's section 3.3 and appendix A for one real MDP and one model of it, computed exactly:
// the regret of the policy that is optimal in the model, Proposition 1, the reward-free bound, and
// the Simulation Lemma. Rewards lie in [0,1]; all values are those of the first state. And whether
// the theory holds, on many random instances.
#ifndef WK_THEORY_BOUND_H
#define WK_THEORY_BOUND_H

#include "base/pool.h"
#include "theory/family.h"

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

/// Does the theory hold? Many random instances of (real MDP, model learned from a random amount of
/// data, reward), and on each of them regret <= bound <= reward-free bound, the Simulation Lemma
/// and the identity behind it. A trial is a world of a family with all θ of its grid, one model and
/// several rewards for each; its maximum over θ is the paper's equation for the worst case.
typedef struct wk_theory_check_config {
    const wk_family *family;
    int64_t instances; // at least so many; whole trials
    double gamma;      // 0: one of 0.5, 0.8, 0.9, 0.95, 0.99 for each trial
    uint64_t seed;
    // Called by any thread of the pool (0 is the caller's) when one of `total` trials is done;
    // NULL: not.
    void (*progress)(void *context, size_t total, int thread);
    void *context;
} wk_theory_check_config;

/// The largest numbers over some instances.
typedef struct wk_theory_check_numbers {
    double regret, bound, reward_free; // the worst case over θ and rewards
    double regret_ratio;               // regret / bound: 1 would be tight, more wrong
    double bound_ratio;                // bound / reward-free bound
    double lemma_ratio;                // |V(π,M̂) - V(π,M)| / its bound
    double identity_gap;               // of the two sides of the lemma's identity, by 1/(1-γ)
    int64_t instances, violations;     // a violation is an inequality broken beyond rounding
} wk_theory_check_numbers;

typedef struct wk_theory_check {
    wk_theory_check_numbers
        total; // regret, bound and reward_free: means over the trials' worst cases
    wk_theory_check_numbers *trials; // [count], owned
    size_t count;
} wk_theory_check;

/// Runs the check. The results do not depend on the number of threads.
wk_status wk_theory_check_run(const wk_theory_check_config *config, wk_pool *pool,
                              wk_theory_check *out, wk_error *err);
void wk_theory_check_free(wk_theory_check *check);

#endif
