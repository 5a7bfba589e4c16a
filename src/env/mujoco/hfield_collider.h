// A faster collision function for capsules on height fields, with exactly MuJoCo's results.
//
// MuJoCo tests every prism of the field under a capsule's bounding box by MPR, a search for the
// deepest point between two convex bodies; on our terrains that is more than half of a time step.
// This one walks the same prisms in the same order, drops those that a separating plane shows to be
// out of reach, and hands the others to the same MPR of the same library.
//
// MuJoCo's table of collision functions is global. Ours is installed once and checks the model it
// is called for: models that did not ask for it get MuJoCo's function.
#ifndef WK_ENV_MUJOCO_HFIELD_COLLIDER_H
#define WK_ENV_MUJOCO_HFIELD_COLLIDER_H

#include <mujoco/mujoco.h>
#include <stdbool.h>

/// Whether this build can collide the fast way; if not, *why (when not NULL) says the reason.
bool wk_hfield_collider_available(const char **why);

/// Marks the height fields of a model for the fast or the stock way, in the first user number of
/// their geoms. Where the fast way is not available everything stays stock. Call it before the
/// model is first simulated, for stock models too: then the table never changes under a running
/// one.
void wk_hfield_collider_choose(mjModel *model, bool fast);

#endif
