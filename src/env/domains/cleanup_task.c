// Distances, completion and reward of the three clean-up tasks.
#include "env/domains/cleanup_task.h"

#include <math.h>

// The side of the goal of a block: -1 left, +1 right.
static int goal_side(int task, int is_green)
{
    static const int sides[WK_CLEANUP_TASKS][2] = {{+1, -1}, {-1, +1}, {+1, +1}}; // blue, green
    return sides[task][is_green];
}

// Adds one block. Mirrored so that the goal is always the right one: s-0.5 < x < s, |y| < 2.
static void add_block(double half_size, double x, double y, double *distance, int *inside)
{
    *distance += fabs(x - (half_size - 0.25));
    *inside += x > half_size - 0.5 && x < half_size && fabs(y) < 2;
}

wk_cleanup_progress wk_cleanup_measure(double half_size, int green, int blue, const double *xyz)
{
    wk_cleanup_progress progress = {0};
    int blocks = green + blue;
    for (int task = 0; task < WK_CLEANUP_TASKS; task++) {
        int inside = 0;
        for (int b = 0; b < blocks; b++)
            add_block(half_size, goal_side(task, b < green) * xyz[3 * b], xyz[3 * b + 1],
                      &progress.distance[task], &inside);
        progress.completion[task] = blocks ? (double)inside / blocks : 1;
    }
    return progress;
}

double wk_cleanup_reward(const wk_cleanup_progress *before, const wk_cleanup_progress *after,
                         int task)
{
    return 100 * (before->distance[task] - after->distance[task]) + 0.5 * after->completion[task];
}
