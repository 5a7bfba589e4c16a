// A thin adapter to MuJoCo, the same for MuJoCo 2.2, 3 and 4: models from text in memory, agent
// steps with a check for break-down, and exact saving. Callers read and write mjModel and mjData
// themselves.
//
// MuJoCo reports fatal errors and warnings through two process-wide callbacks. The first call here
// sets those that the host program has not set: warnings are kept silent (mjData counts them), and
// an error inside a call of this file becomes that call's failure instead of the end of the
// process.
#ifndef WK_ENV_MUJOCO_PHYSICS_H
#define WK_ENV_MUJOCO_PHYSICS_H

#include "waker/env.h"
#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stddef.h>

/// Compiles MJCF text. `name` stands for the file in messages; MuJoCo's own words are in the error.
/// Free with mj_deleteModel.
wk_status wk_physics_load(const char *name, const char *xml, mjModel **out, wk_error *err);

/// Makes the state of a model, at the model's initial pose. Free with mj_deleteData.
wk_status wk_physics_make_data(const mjModel *model, mjData **out, wk_error *err);

/// As mj_forward, for an initial state: after mj_resetData and writing qpos and qvel, computes
/// everything that depends on them, the warm start included. False: the state is not simulable.
bool wk_physics_forward(const mjModel *model, mjData *data);

/// Advances `count` >= 1 time steps under data->ctrl, ending with positions, velocities and their
/// sensors consistent with qpos and qvel (second half of a step, count-1 steps, first half).
/// False: the simulation broke down (a number that is not finite, or a contact or constraint
/// dropped for lack of memory); the state is then of no use.
bool wk_physics_advance(const mjModel *model, mjData *data, int count);

/// As wk_physics_advance, for models with free or ball joints, by `count` >= 1 whole time steps. It
/// ends with the poses of all bodies and geoms consistent with qpos; sensors of velocities are
/// those before the last step. (MuJoCo 2 normalises the quaternions in qpos each time it computes
/// poses, and twice is not always once: only steps that begin with the poses continue exactly from
/// a saved state.)
bool wk_physics_advance_whole(const mjModel *model, mjData *data, int count);

/// What the environments of all MuJoCo domains begin with. The functions below are theirs in
/// wk_domain: `env` points to one.
typedef struct wk_physics_env {
    mjModel *model;
    mjData *data;
    wk_step_watch watch;
} wk_physics_env;

/// A state holds time, qpos, qvel, act, ctrl, qacc_warmstart and the mocap poses; the model (height
/// fields, poses written into it) is not part of it. Loading refuses numbers that are not finite,
/// with the data unchanged; then advancing continues bit for bit.
size_t wk_physics_env_state_size(const void *env);
void wk_physics_env_save(const void *env, void *bytes);
wk_status wk_physics_env_load(void *env, const void *bytes, size_t size, wk_error *err);
/// Gives an array of mjData ("time", "qpos", "qvel", "ctrl", "sensordata", "xpos", ...), or with
/// "/NAME" after it the part of one joint, actuator, sensor, body, geom or site, "qpos/rootz" or
/// "xpos/torso".
const double *wk_physics_env_read(void *env, const char *name, int *count);
void wk_physics_env_watch(void *env, const wk_step_watch *watch);

/// A model element that must exist (asking for another is a bug): its index.
int wk_physics_id(const mjModel *model, mjtObj type, const char *name);

#endif
