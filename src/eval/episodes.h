// Plays episodes to score a policy: a learner's policy, or uniformly random actions, in the cases
// of a domain.
//
// Episodes run in waves of WK_EVAL_WAVE_SIZE in parallel. Two waves are in flight at any time:
// while the environments of one step and render, the policy processes the images of the other. The
// wave size is a constant, and every wave begins with zero recurrent states and its own draw
// counter, so that an episode depends on (weights, domain, options, task, seed, case, its number)
// alone: not on threads, not on how many episodes or cases are requested.
#ifndef WK_EVAL_EPISODES_H
#define WK_EVAL_EPISODES_H

#include "agent/acting.h"
#include "eval/cases.h"

enum { WK_EVAL_WAVE_SIZE = 25 }; // changing it changes results

/// One row of an episode as it happens: what was seen and received at step `step`, 0 at the start.
/// All pointers are borrowed for the call.
typedef struct wk_eval_row {
    int case_index;                    // number of the case
    int episode;                       // in the case
    int step;                          // actions before it
    const double *theta;               // [n_params]
    const uint8_t *image;              // [64,64,3]; of a diverged row there is no meaningful image;
                                       // NULL where the observation has none
    const float *vector;               // [V], or NULL
    const float *action;               // [A] that led to it; zeros at the start
    const float *rewards, *completion; // [n_tasks]
    uint8_t flags;                     // WK_IS_* bits; WK_IS_LAST also where `steps` cut it off
} wk_eval_row;

/// Called with every row, in the calling thread; rows of one episode come in order. An error ends
/// the evaluation.
typedef wk_status wk_eval_on_row(void *context, const wk_eval_row *row, wk_error *err);

/// What to play. All pointers are borrowed.
typedef struct wk_eval_config {
    const wk_domain *domain;
    const int *options;  // of the domain; NULL: the defaults
    int task;            // of the domain: whose environments are visited; or WK_EVAL_ANY_TASK
    wk_learner *learner; // NULL: uniformly random actions
    int policy;          // number of the learner's task, or WK_POLICY_EXPLORE
    wk_act_mode mode;
    const wk_eval_case *cases;
    int n_cases;
    int steps; // at most, of each episode; 0: to its end
    uint64_t seed;
    int trajectory;         // another number: the same θ, everything else random anew
    int threads;            // of the environments; 0: one per core
    wk_eval_on_row *on_row; // NULL: none
    void *context;
    float *actions; // gets what was done, [episodes,wk_eval_steps,A]; NULL: not kept
} wk_eval_config;

/// Maximum number of steps of its episodes.
int wk_eval_steps(const wk_eval_config *config);

/// What the learner expected of an episode next to what it got; NaN where there is no prediction:
/// random actions, and tasks that the policy is not trained for.
typedef struct wk_calibration {
    double value;        // that the critic predicted at the start, a discounted return
    double discounted;   // the discounted return from there
    double reward_error; // mean absolute error of the reward head along the episode
} wk_calibration;

/// How an episode went.
typedef struct wk_eval_episode {
    double theta[WK_PARAMS_MAX];
    double returns[WK_TASKS_MAX];   // rewards of every task, summed
    float completion[WK_TASKS_MAX]; // at the end
    int steps;
    wk_calibration calibration;           // of config.task
    double indicators[WK_INDICATORS_MAX]; // of the domain; NaN: not known
    bool diverged; // the simulation broke down; returns and completion are those up to there
} wk_eval_episode;

/// Plays every episode of every case; `episodes` gets them case by case.
wk_status wk_evaluate(const wk_eval_config *config, wk_eval_episode *episodes, wk_error *err);

/// Replays an episode, frame by frame, to config->on_row: the simulation repeats the actions, so
/// that images of all episodes need not be kept. `actions` is [steps,A].
wk_status wk_eval_replay(const wk_eval_config *config, int case_index, int episode,
                         const wk_eval_episode *played, const float *actions, wk_error *err);

#endif
