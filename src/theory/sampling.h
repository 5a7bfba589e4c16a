// Samples for finite MDPs: random rewards and policies, and episodes that a tabular model counts.
#ifndef WK_THEORY_SAMPLING_H
#define WK_THEORY_SAMPLING_H

#include "theory/tabular_model.h"

/// A random reward in [0,1], [states,actions]: by turns (`kind`, any number from 0) uniform for
/// every state and action, 1 for a tenth of them and 0 else, and 1 in a single state.
void wk_mdp_draw_reward(const wk_mdp *mdp, uint64_t kind, wk_rng *rng, double *reward);

/// A random stochastic policy, [states,actions].
void wk_mdp_draw_policy(const wk_mdp *mdp, wk_rng *rng, double *policy);

/// Plays an episode of `steps` steps and counts it; actions by `choice`, NULL: uniformly random.
void wk_mdp_sample_episode(const wk_mdp *mdp, const int *choice, int steps, wk_rng *rng,
                           wk_tabular_model *model);

#endif
