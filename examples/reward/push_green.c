// Another reward that nobody had when the data was collected: push the green blocks to the right
// and leave the blue ones where they are. For clean-up and car-clean-up.
//
//   make && waker relabel runs/b --reward ./push_green.so && waker adapt runs/b --task push-green
#include "waker/reward.h"

#include <math.h>
#include <stdio.h>

enum { ARENA, GREEN, BLUE }; // θ

// Kept from one control step to the next; saved with the state, so numbers and no pointers.
typedef struct memory {
    double left;  // metres that the green blocks are away from the right wall
    double moved; // metres that the blue ones are away from where they began
    double begin[8][2];
} memory;

static const double *block(const wk_reward_view *view, int i)
{
    char name[24];
    int count;
    snprintf(name, sizeof name, "xpos/block%d", i);
    return view->read(view->simulation, name, &count);
}

static int blocks(const wk_reward_view *view)
{
    return (int)(view->theta[GREEN] + view->theta[BLUE]);
}

// Green blocks come first.
static memory measure(const wk_reward_view *view, memory now)
{
    int green = (int)view->theta[GREEN], count;
    double wall = *view->read(view->simulation, "half_size", &count);
    now.left = now.moved = 0;
    for (int i = 0; i < blocks(view); i++) {
        const double *at = block(view, i);
        if (i < green)
            now.left += wall - at[0];
        else
            now.moved += hypot(at[0] - now.begin[i][0], at[1] - now.begin[i][1]);
    }
    return now;
}

static wk_status begin(const wk_reward_view *view, void *kept, wk_error *err)
{
    int count;
    if (view->n_params != 3 || !view->read(view->simulation, "half_size", &count)) {
        snprintf(err->message, sizeof err->message, "it has no arena with blocks");
        return WK_E_INPUT;
    }
    memory now = {0};
    for (int i = 0; i < blocks(view); i++)
        for (int k = 0; k < 2; k++)
            now.begin[i][k] = block(view, i)[k];
    *(memory *)kept = measure(view, now);
    return WK_OK;
}

// What the green blocks came closer to the wall, less what the blue ones were pushed about.
static double reward(const wk_reward_view *view, void *kept)
{
    memory before = *(memory *)kept, now = measure(view, before);
    *(memory *)kept = now;
    return 100 * (before.left - now.left) - 100 * fmax(0, now.moved - before.moved);
}

const wk_reward *wk_plugin_reward(void)
{
    static const wk_reward push_green = {
        .abi = WK_REWARD_ABI,
        .size = sizeof(wk_reward),
        .name = "push-green",
        .summary = "green blocks to the right, blue ones stay",
        .memory = sizeof(memory),
        .begin = begin,
        .reward = reward,
    };
    return &push_green;
}
