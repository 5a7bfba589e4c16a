// The smallest reward: in the toy domain, which has tasks in the west and in the east only, lie at
// the northern shore.
//
//   make && waker relabel runs/toy --reward ./north.so && waker adapt runs/toy --task north
#include "waker/reward.h"

#include <math.h>
#include <stdio.h>

static const double *position(const wk_reward_view *view)
{
    int count;
    return view->read(view->simulation, "position", &count);
}

static wk_status begin(const wk_reward_view *view, void *memory, wk_error *err)
{
    (void)memory;
    if (position(view)) return WK_OK;
    snprintf(err->message, sizeof err->message, "it has no position");
    return WK_E_INPUT;
}

static double reward(const wk_reward_view *view, void *memory)
{
    (void)memory;
    const double *at = position(view);
    return fmax(0, 1 - hypot(at[0], at[1] - 0.8));
}

const wk_reward *wk_plugin_reward(void)
{
    static const wk_reward north = {
        .abi = WK_REWARD_ABI,
        .size = sizeof(wk_reward),
        .name = "north",
        .summary = "lie at the northern shore",
        .begin = begin,
        .reward = reward,
    };
    return &north;
}
