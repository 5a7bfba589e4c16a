// Rewards that define tasks of the domains anew, to be compared with what was stored, and rewards
// that are wrong on purpose. AGAIN says which.
#include "waker/reward.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STAND 0
#define SORT 1
#define WEST 2
#define REWARD_MISSING 3
#define REWARD_NULL 4
#define REWARD_OTHER_ABI 5
#define REWARD_NAMELESS 6
#define REWARD_NAME_TAKEN 7
#define REWARD_NAN 8
#define REWARD_GREEDY 9
#define REWARD_MARK 10
#define REWARD_RESERVED 11
#define REWARD_FORGETFUL 12
#define REWARD_LARGE 13

#if AGAIN != REWARD_MISSING

static const double *numbers(const wk_reward_view *view, const char *name)
{
    int count;
    return view->read(view->simulation, name, &count);
}

static wk_status begin(const wk_reward_view *view, void *memory, wk_error *err)
{
    static const char *const needs[] = {[STAND] = "xpos/right_foot", [SORT] = "distance"};
    const char *need = AGAIN <= SORT ? needs[AGAIN] : "position";
    if (!numbers(view, need)) {
        snprintf(err->message, sizeof err->message, "it has no %s", need);
        return WK_E_INPUT;
    }
    if (AGAIN == SORT) *(double *)memory = numbers(view, "distance")[0];
    return WK_OK;
}

// Crashes on purpose where it uses memory that it did not ask for.
__attribute__((no_sanitize("undefined"))) static double reward(const wk_reward_view *view,
                                                               void *memory)
{
    if (AGAIN == STAND) {
        double height = numbers(view, "xpos/torso")[2] - numbers(view, "xpos/right_foot")[2];
        double missing = (1.2 - height) / 0.6;
        double standing = missing <= 0 ? 1 : pow(0.1, missing * missing);
        return (3 * standing + (1 + numbers(view, "xmat/torso")[8]) / 2) / 4;
    }
    if (AGAIN == SORT) {
        double before = *(double *)memory, after = numbers(view, "distance")[0];
        *(double *)memory = after;
        return 100 * (before - after) + 0.5 * numbers(view, "completion")[0];
    }
    if (AGAIN == REWARD_FORGETFUL) return *(volatile double *)memory += 1;
    if (AGAIN == REWARD_LARGE) return 1e39;
    if (AGAIN == REWARD_NAN && view->control_step == 7) return NAN;
    const double *at = numbers(view, "position");
    return fmax(0, 1 - hypot(at[0] + 0.7, at[1]));
}

const wk_reward *wk_plugin_reward(void)
{
    static const wk_reward again = {
        .abi = AGAIN == REWARD_OTHER_ABI ? 42 : WK_REWARD_ABI,
        .size = sizeof(wk_reward),
        .name = AGAIN == REWARD_NAMELESS     ? NULL
                : AGAIN == REWARD_NAME_TAKEN ? "east"
                : AGAIN == REWARD_RESERVED   ? "explore"
                                             : "again",
        .summary = "a task of the domain once more",
        .memory = AGAIN == REWARD_GREEDY      ? (size_t)1 << 30
                  : AGAIN == REWARD_FORGETFUL ? 0
                                              : sizeof(double),
        .begin = begin,
        .reward = reward,
    };
    return AGAIN == REWARD_NULL ? NULL : &again;
}

#if AGAIN == REWARD_MARK
// Leaves a file behind when it is loaded.
__attribute__((constructor)) static void leave_mark(void)
{
    const char *path = getenv("MARK_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) fclose(file);
}
#endif

#else
int nothing_of_that_name;
#endif
