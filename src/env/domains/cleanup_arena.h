// What a clean-up environment consists of: its arena, where things start, its MuJoCo model, and its
// tasks as functions of where the blocks are.
//
// An arena is a square |x|, |y| <= s walled in on all sides; the goals are the strips of width 0.5
// along its left and right wall, and everything starts between them.
#ifndef WK_ENV_DOMAINS_CLEANUP_ARENA_H
#define WK_ENV_DOMAINS_CLEANUP_ARENA_H

#include "base/random.h"
#include "waker/error.h"
#include <mujoco/mujoco.h>

enum {
    WK_CLEANUP_ARENAS = 6,     // 0 ... 4 for training, 5 for the extra block
    WK_CLEANUP_BLOCKS_MAX = 5, // in arena 5; arena i holds up to i blocks
};

/// A position on the floor and a heading in [0, 2 pi).
typedef struct wk_cleanup_pose {
    double x, y, yaw;
} wk_cleanup_pose;

/// The start of an episode; `blocks` holds the green ones first, then the blue ones.
typedef struct wk_cleanup_layout {
    wk_cleanup_pose robot;
    wk_cleanup_pose blocks[WK_CLEANUP_BLOCKS_MAX];
} wk_cleanup_layout;

/// Half the side of arena 0 ... 5 in metres: 0.7 growing by 0.175; arena 5 is as large as arena 4.
double wk_cleanup_half_size(int arena);

/// Draws a layout: positions of robot, blue and green blocks in this order, then the headings of
/// robot, green and blue ones. Fails only if 50000 attempts find no room.
wk_status wk_cleanup_layout_draw(int arena, int green, int blue, wk_rng *rng,
                                 wk_cleanup_layout *out, wk_error *err);

/// Who pushes the blocks.
typedef enum wk_cleanup_robot {
    WK_CLEANUP_POINT, // slides x, y in the frame of its body, hinge z; time step 2 ms
    WK_CLEANUP_CAR,   // free joint, two driven wheels, a ball at the rear; time step 4 ms
} wk_cleanup_robot;

/// Compiles the model of an arena with a number of blocks; free it with mj_deleteModel. Poses and
/// block colours are written at the start of an episode, so one model serves all of its episodes.
/// Names in it: bodies "robot" and "block0" ...; geoms "floor", "wall0" ... "wall7", "goal-left",
/// "goal-right", "block0" ... (one per block body) and the robot's own. Camera 0 is the observer.
wk_status wk_cleanup_model_create(wk_cleanup_robot robot, int arena, int blocks, mjModel **out,
                                  wk_error *err);

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

#endif
