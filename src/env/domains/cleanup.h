// Clean Up: a robot in a walled arena pushes coloured blocks into the goals along the left and
// right wall, seen from above. θ = (arena, green, blue): the arena's index, which gives its size
// and the maximum number of blocks, and the number of blocks of each colour. The same environment
// comes with two robots: a point that is pushed and turned, and a car with two driven wheels.
//
// Reward of a task per control step, summed over the two control steps of an agent step:
//     r = 100 sum_b (d_b before - d_b after) + 0.5 completion,    d_b = |x_b - goal's centre|
// where completion is the share of blocks whose centre lies strictly inside their goal, 1 without
// blocks. Tasks: sort (green left, blue right), sort-reverse (the other way), push (all right).
#ifndef WK_ENV_DOMAINS_CLEANUP_H
#define WK_ENV_DOMAINS_CLEANUP_H

#include "waker/env.h"

extern const wk_domain wk_clean_up;
extern const wk_domain wk_car_clean_up;

#endif
