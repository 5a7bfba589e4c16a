// The networks around the world model: ensemble, reward heads, actors and critics. All are MLPs on
// features, in parameter sets with a stack axis S: members of the ensemble, tasks of a domain,
// or 1.
#ifndef WK_AGENT_NETWORKS_H
#define WK_AGENT_NETWORKS_H

#include "model/config.h"
#include "nn/scope.h"

/// The ensemble's spread at states [N,features] and actions [N,A]: [N].
wk_tensor wk_ensemble_disagreement(wk_scope *scope, const wk_learner_config *config,
                                   wk_tensor features, wk_tensor action);

/// The row of a batch whose action the ensemble sees with the state of row 0: 1, since rows store
/// the action that led to them, or with `ensemble.action` arriving 0.
int wk_ensemble_first_action(const wk_learner_config *config);

/// Loss of every member, [M], for features [T,B,..] and actions [T,B,A] of a batch: predicts row
/// t+1 from row t and the action taken there, or the one that led there. Features count as
/// constants.
wk_tensor wk_ensemble_loss(wk_scope *scope, const wk_learner_config *config, wk_tensor features,
                           wk_tensor action);

/// One number per row and member from x [S or 1,N,features], by reward heads or critics: [S,N].
wk_tensor wk_scalar_head(wk_scope *scope, const wk_learner_config *config, wk_tensor x);

/// Raw parameters of the actors' distributions from x [S or 1,N,features]: of truncated normals
/// [S,N,2A], of discrete actions their logits [S,N,A].
wk_tensor wk_actor_head(wk_scope *scope, const wk_learner_config *config, wk_tensor x);

/// Actions [S,N,A] drawn from those distributions, through which gradients flow (of discrete ones
/// those of their probabilities), and the distributions' modes.
wk_tensor wk_actor_sample(wk_graph *g, const wk_learner_config *config, wk_tensor raw,
                          wk_random random);
wk_tensor wk_actor_mode(wk_graph *g, const wk_learner_config *config, wk_tensor raw);
/// Their entropies [S*N].
wk_tensor wk_actor_entropy(wk_graph *g, const wk_learner_config *config, wk_tensor raw);
/// -log of the probability of discrete actions [S,N,A], which count as constants: [S*N].
wk_tensor wk_actor_neg_log_prob(wk_graph *g, const wk_learner_config *config, wk_tensor raw,
                                wk_tensor actions);
/// Actions of `shape` [..,A] drawn uniformly.
wk_tensor wk_random_actions(wk_graph *g, const wk_learner_config *config, wk_shape shape,
                            wk_random random);

#endif
