// Acting: runs a learner's policy in N environments. Recurrent states stay on the device; a small
// graph of its own turns observations into actions. While an update is in flight it reads a
// snapshot of the weights from before that update, otherwise the learner's weights directly.
#ifndef WK_AGENT_ACTING_H
#define WK_AGENT_ACTING_H

#include "agent/learner.h"

typedef struct wk_acting wk_acting;

/// How an action is taken from the policy's distribution.
typedef enum wk_act_mode { WK_ACT_SAMPLE, WK_ACT_MODE } wk_act_mode;

/// Which policy acts: the exploration policy, or a task's.
enum { WK_POLICY_EXPLORE = -1 };

/// For `count` environments; the learner is borrowed and must outlive it. Asking for a policy the
/// learner does not have is an error.
wk_status wk_acting_create(wk_learner *learner, int policy, int count, wk_acting **out,
                           wk_error *err);
/// As wk_acting_create, with wk_acting_estimates: what the learner expects of the states it acts
/// in.
wk_status wk_acting_create_estimating(wk_learner *learner, int policy, int count, wk_acting **out,
                                      wk_error *err);
/// As wk_acting_create, for the members of a population of learners, each in its own `count`
/// environments; the first is the leader, whose calls of wk_acting_step_population act for all of
/// them.
wk_status wk_acting_create_population(wk_learner *const *learners, int members, int policy,
                                      int count, wk_acting **out, wk_error *err);
/// NULL is allowed. The leader of a population is destroyed first.
void wk_acting_destroy(wk_acting *acting);

/// Resets all recurrent states and sets the draw counter: later actions depend on the weights, what
/// is observed and `counter` alone.
wk_status wk_acting_begin(wk_acting *acting, uint64_t counter, wk_error *err);

/// What a step of all environments takes, and where it writes. What is not observed is unused.
typedef struct wk_acting_rows {
    const uint8_t *images; // [N,64,64,3]
    const float *vectors;  // [N,V]
    const float *previous; // [N,A], the actions that led to them
    const uint8_t *first;  // [N], nonzero resets the state
    float *actions;        // [N,A], the next ones; may be `previous`
} wk_acting_rows;
wk_status wk_acting_step(wk_acting *acting, const wk_acting_rows *rows, wk_act_mode mode,
                         wk_error *err);
/// As wk_acting_step, for each member of a population. One without `actions` does not act, and
/// keeps its states.
wk_status wk_acting_step_population(wk_acting *leader, const wk_acting_rows *rows, wk_act_mode mode,
                                    wk_error *err);

/// What the learner thought of the states that the last wk_acting_step acted in; valid until the
/// next.
typedef struct wk_estimates {
    const float *value;  // [N], the critic's: discounted rewards from there on
    const float *reward; // [N], the reward head's: received on arriving; NULL for exploration
} wk_estimates;
wk_estimates wk_acting_estimates(const wk_acting *acting);

/// The recurrent states and the draw counter as bytes, for checkpoints: a u64, padded, then floats.
enum { WK_ACTING_COUNTER_BYTES = 64 };
size_t wk_acting_state_size(const wk_acting *acting);
wk_status wk_acting_save(const wk_acting *acting, void *bytes, wk_error *err);
wk_status wk_acting_load(wk_acting *acting, const void *bytes, wk_error *err);

#endif
