// What all planar robots of the control suite share, whatever ground they stand on: the model and
// its timing, the random pose at the start, an agent step, and the parts of their rewards.
#ifndef WK_ENV_DOMAINS_PLANAR_H
#define WK_ENV_DOMAINS_PLANAR_H

#include "waker/env.h"
#include <math.h>
#include <mujoco/mujoco.h>

enum {
    WK_PLANAR_REPEAT = 2,  // control steps per agent step
    WK_PLANAR_STEPS = 500, // agent steps of an episode
};

/// What they tell about their torso, filled in by wk_planar_step.
enum { WK_PLANAR_UPRIGHT, WK_PLANAR_DISTANCE, WK_PLANAR_RANGE, WK_PLANAR_INDICATORS };
extern const wk_indicator wk_planar_indicators[WK_PLANAR_INDICATORS];

typedef struct wk_planar_robot {
    const char *model; // name of the embedded MJCF file
    int substeps;      // physics steps per control step

    /// Adds the reward of each task in the state that `data` holds, after a control step.
    void (*add_rewards)(const mjModel *model, const mjData *data, double *rewards);

    /// Makes the model what the θ after those of the ground say, from one as it was loaded; NULL:
    /// there are none. `data` is scratch.
    void (*adjust)(const mjModel *loaded, const double *theta, mjModel *model, mjData *data);
} wk_planar_robot;

/// Puts the robot into a random pose of (seed, episode, the stream `name`): limited joints anywhere
/// in their range, the free rotation anywhere, the rest where the model has it, nothing moving.
wk_status wk_planar_reset(const mjModel *model, mjData *data, const char *name, uint64_t seed,
                          uint64_t episode, wk_error *err);

/// One agent step under `action`; rewards are summed over its control steps, which `watch` sees.
void wk_planar_step(const wk_planar_robot *robot, const mjModel *model, mjData *data,
                    const float *action, const wk_step_watch *watch, wk_outcome *out);

static inline double wk_planar_clip(double x)
{
    return fmin(fmax(x, 0), 1);
}

/// The walker's posture in [0,1]: 1 when its height is at least 1.2 m and the torso's z axis points
/// up (`upright` is that axis' z); the part of the height falls to 0.1 at 0.6 m.
static inline double wk_planar_posture(double height, double upright)
{
    double missing = (1.2 - height) / 0.6;
    double standing = missing <= 0 ? 1 : pow(0.1, missing * missing);
    return (3 * standing + (1 + upright) / 2) / 4;
}

/// The walker's reward for moving, with the speed as a share of the wanted one.
static inline double wk_planar_moving(double posture, double speed)
{
    return posture * (5 * wk_planar_clip(speed) + 1) / 6;
}

/// 1 when the hopper's torso is 0.6 to 2 m above its foot, else 0.
static inline double wk_planar_tall(double height)
{
    return height >= 0.6 && height <= 2 ? 1 : 0;
}

/// Mean over the actuators of 1 - u², the reward for small controls.
double wk_planar_effortless(const mjModel *model, const mjData *data);

#endif
