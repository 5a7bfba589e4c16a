// The MuJoCo model of a clean-up environment: floor, walls, goals, robot and blocks of one arena.
// Poses and block colours are not part of it; they are written at the start of an episode, so one
// compiled model serves every episode of an (arena, number of blocks).
//
// Names in the model: bodies "robot" and "block0" ... ; geoms "floor", "wall0" ... "wall7",
// "goal-left", "goal-right", "block0" ... (one per block body) and the robot's own. Camera 0 is the
// observer.
#ifndef WK_ENV_DOMAINS_CLEANUP_MODEL_H
#define WK_ENV_DOMAINS_CLEANUP_MODEL_H

#include "base/text.h"
#include "waker/error.h"
#include <mujoco/mujoco.h>

/// Who pushes the blocks.
typedef enum wk_cleanup_robot {
    WK_CLEANUP_POINT, // slides x, y in the frame of its body, hinge z; time step 2 ms
    WK_CLEANUP_CAR,   // free joint, two driven wheels, a ball at the rear; time step 4 ms
} wk_cleanup_robot;

/// Compiles the model; free it with mj_deleteModel.
wk_status wk_cleanup_model_create(wk_cleanup_robot robot, int arena, int blocks, mjModel **out,
                                  wk_error *err);

#endif
