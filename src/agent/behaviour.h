// Learning behaviour in imagination: S policies are rolled out in the world model from the same
// start states, and an actor and a critic per policy learn from the imagined rewards. Exploration
// (S = 1, reward = the ensemble's disagreement) and task policies (S = tasks, reward = the reward
// heads) are the same code.
//
// First the networks around the world model: ensemble, reward heads, actors and critics. All are
// MLPs on features, in parameter sets with a stack axis S: members of the ensemble, tasks of a
// domain, or 1.
#ifndef WK_AGENT_BEHAVIOUR_H
#define WK_AGENT_BEHAVIOUR_H

#include "model/config.h"
#include "model/rssm.h"
#include "nn/params.h"

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

enum { WK_ROLLOUT_STEPS_MAX = 256 };

/// Imagined trajectories of S policies from N starts over H steps.
typedef struct wk_rollout {
    int stack, starts;
    wk_tensor features; // [S,(H+1)*N,features], step after step
    wk_tensor actions;  // [S,H*N,A]
    // [S,H,N], by the discount head: of the state after each step, and the weight of a step, the
    // product of those before it. Absent without the head: powers of the config's discount.
    wk_tensor discount, weight;
    wk_tensor step_params[WK_ROLLOUT_STEPS_MAX]; // [S,N,..] raw action parameters of each step,
                                                 // before sampling; absent without an actor
} wk_rollout;

/// Rolls the policies of `actor` out from `start` ([N,..] each, a constant). Without an actor
/// (NULL), actions are uniform and S is 1. Streams "NAME/action/t" and "NAME/imagine/t" at
/// `counter`.
wk_rollout wk_rollout_imagine(const wk_rssm *rssm, wk_scope *actor, wk_latent start,
                              const char *name, wk_tensor counter);

/// How the ensemble's predictions from (z_t, a_t) disagree along the trajectories of one policy:
/// [H,N]. With `ensemble.action` arriving, from (z_{t+1}, a_t); with `ensemble.states` all, also
/// from the start with an action of zeros, before the others: [H+1,N].
wk_tensor wk_rollout_disagreement(const wk_rollout *rollout, wk_scope *ensemble,
                                  const wk_learner_config *c);
/// The reward heads' predictions for the states that the actions reached: [S,H,N].
wk_tensor wk_rollout_reward(const wk_rollout *rollout, wk_scope *heads, const wk_learner_config *c);

/// Sets the rollout's discounts by the discount head; `continues` [N] is 0 for starts after which
/// nothing follows.
void wk_rollout_discounts(wk_rollout *rollout, wk_scope *model, const wk_learner_config *c,
                          wk_tensor continues);

/// The lambda-returns of rewards [S,H,N] and values [S,H+1,N], with the rollout's discounts:
/// [S,H,N].
wk_tensor wk_rollout_returns(wk_graph *g, const wk_learner_config *c, const wk_rollout *rollout,
                             wk_tensor reward, wk_tensor value);

/// The networks of S policies: sets with a stack axis, and the slow copy of the critic.
typedef struct wk_policy_scopes {
    wk_scope *actor, *critic, *slow;
} wk_policy_scopes;

/// Losses of S actors, [S] each, and what they were made from.
typedef struct wk_behaviour {
    wk_tensor actor_loss;                // sum of the losses below
    wk_tensor return_loss, entropy_loss; // [S]
    wk_tensor saturation_loss;           // [S]; absent unless it was added
    wk_tensor action_params;             // [S,H*N,..] raw, at all steps
    wk_tensor returns;                   // [S,H,N]
    wk_tensor entropy;                   // [S], mean for the logs
} wk_behaviour;

/// Records the losses for rewards [S,H,N] received by steps 0...H-1.
wk_behaviour wk_behaviour_record(const wk_policy_scopes *policy, const wk_learner_config *config,
                                 const wk_rollout *rollout, wk_tensor reward);
/// Adds to the actors' losses what keeps their outputs where they have a gradient: the squares of
/// the parts of them beyond +-2, in units of the tanh that bounds them (a slope of 0.07), times
/// `policy.saturation_scale`. For continuous actions.
void wk_behaviour_add_saturation(wk_graph *g, const wk_learner_config *config, wk_behaviour *b);
/// The loss of S critics for these returns, [S], and their mean values, [S], for the logs.
/// Independent of the actors' objective.
wk_tensor wk_critic_loss(wk_scope *critic, const wk_learner_config *config,
                         const wk_rollout *rollout, wk_tensor returns, wk_tensor *value);
/// A number [1] whose gradient with respect to the actors is that of the sum of their losses;
/// unless they learn by REINFORCE, backpropagates the returns through the imagined steps.
wk_tensor wk_actor_objective(wk_graph *g, const wk_learner_config *config,
                             const wk_rollout *rollout, const wk_behaviour *b);

#endif
