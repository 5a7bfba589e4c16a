// The open-loop error of a world model along the episodes that a policy makes: the model sees
// WK_OPEN_LOOP_ERRORS_CONTEXT frames, then only the actions, and what it imagines is compared with
// what happened, image and reward; then it sees as many again, and so on to the end of the episode.
// The first WK_OPEN_LOOP_ERRORS_EPISODES episodes of each case are judged.
//
// Feed it every row of an evaluation (eval/evaluate.h). Numbers depend on the episodes alone.
#ifndef WK_EVAL_OPEN_LOOP_ERRORS_H
#define WK_EVAL_OPEN_LOOP_ERRORS_H

#include "eval/evaluate.h"

enum {
    WK_OPEN_LOOP_ERRORS_CONTEXT = 5,
    WK_OPEN_LOOP_ERRORS_STEPS = 45, // imagined at most; episodes that are shorter allow fewer
    WK_OPEN_LOOP_ERRORS_EPISODES = 8,
};

/// Means over all that was imagined in a case, by how far ahead it was.
typedef struct wk_open_loop_error_curve {
    int steps; // imagined; 0: nothing was judged
    double
        image[WK_OPEN_LOOP_ERRORS_STEPS]; // mean squared error, of values in [-0.5,0.5]; NaN: none
    double reward[WK_OPEN_LOOP_ERRORS_STEPS]; // mean absolute error of the reward head
    double mean_image, mean_reward;           // over the steps; NaN where nothing was judged
} wk_open_loop_error_curve;

typedef struct wk_open_loop_errors wk_open_loop_errors;

/// For the learner's policy number `policy` of the domain's task number `task`, in `cases` cases.
wk_status wk_open_loop_errors_create(wk_learner *learner, const wk_domain *domain, int policy,
                                     int task, int cases, wk_open_loop_errors **out, wk_error *err);
/// NULL is allowed.
void wk_open_loop_errors_destroy(wk_open_loop_errors *errors);

wk_status wk_open_loop_errors_add(wk_open_loop_errors *errors, const wk_eval_row *row,
                                  wk_error *err);

/// Of a case, once all of its rows were added.
wk_open_loop_error_curve wk_open_loop_errors_curve(const wk_open_loop_errors *errors,
                                                   int case_index);

#endif
