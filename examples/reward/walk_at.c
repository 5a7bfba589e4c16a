// A reward that nobody had when the data was collected: walk upright at a given speed, neither
// slower nor faster. For terrain-walker and dmc-walker.
//
//   make && waker relabel runs/a --reward ./walk_at.so && waker adapt runs/a --task walk-at
#include "waker/reward.h"

#include <math.h>
#include <stdio.h>

#ifndef SPEED
#define SPEED 0.5 // metres per second
#endif

// Numbers of a body; the domains' models are in assets/mjcf.
static const double *body(const wk_reward_view *view, const char *name)
{
    int count;
    return view->read(view->simulation, name, &count);
}

static wk_status begin(const wk_reward_view *view, void *memory, wk_error *err)
{
    (void)memory;
    if (body(view, "xpos/right_foot") && body(view, "subtree_linvel/torso")) return WK_OK;
    snprintf(err->message, sizeof err->message, "it has no walker");
    return WK_E_INPUT;
}

// 1 at the wanted speed, 0 from twice the difference to standing still on.
static double reward(const wk_reward_view *view, void *memory)
{
    (void)memory;
    double height = body(view, "xpos/torso")[2] - body(view, "xpos/right_foot")[2];
    double upright = (1 + body(view, "xmat/torso")[8]) / 2;
    double off = fabs(body(view, "subtree_linvel/torso")[0] - SPEED) / SPEED;
    double standing = fmin(1, fmax(0, height / 1.2));
    return standing * upright * (1 + 5 * fmax(0, 1 - off)) / 6;
}

const wk_reward *wk_plugin_reward(void)
{
    static const wk_reward walk_at = {
        .abi = WK_REWARD_ABI,
        .size = sizeof(wk_reward),
        .name = "walk-at",
        .summary = "walk upright at half a metre a second",
        .begin = begin,
        .reward = reward,
    };
    return &walk_at;
}
