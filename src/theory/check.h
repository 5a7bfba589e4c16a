// Does the theory hold? Many random instances of (real MDP, model learned from a random amount of
// data, reward), and on each of them regret <= bound <= reward-free bound, the Simulation Lemma
// and the identity behind it. A trial is a world of a family with all θ of its grid, one model and
// several rewards for each; its maximum over θ is the paper's equation for the worst case.
#ifndef WK_THEORY_CHECK_H
#define WK_THEORY_CHECK_H

#include "base/pool.h"
#include "theory/family.h"

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
