// The tasks of a clean-up environment as functions of where the blocks are: which goal a block
// belongs to, how far away it is, and what a control step earns.
#ifndef WK_ENV_DOMAINS_CLEANUP_TASK_H
#define WK_ENV_DOMAINS_CLEANUP_TASK_H

/// The tasks, in the order they are reported.
enum {
    WK_CLEANUP_SORT,         // green left, blue right
    WK_CLEANUP_SORT_REVERSE, // green right, blue left
    WK_CLEANUP_PUSH,         // all right
    WK_CLEANUP_TASKS,
};

/// How far an environment has come in each task.
typedef struct wk_cleanup_progress {
    double distance[WK_CLEANUP_TASKS];   // sum over the blocks of |x - x of the goal's centre|
    double completion[WK_CLEANUP_TASKS]; // share of blocks strictly inside their goal; 1 without
} wk_cleanup_progress;

/// Measures blocks at `xyz` [green + blue, 3], green ones first, in an arena of half side
/// `half_size`.
wk_cleanup_progress wk_cleanup_measure(double half_size, int green, int blue, const double *xyz);

/// Reward of a control step: 100 (distance before - after) + 0.5 completion after.
double wk_cleanup_reward(const wk_cleanup_progress *before, const wk_cleanup_progress *after,
                         int task);

#endif
