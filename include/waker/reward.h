// Rewards after the fact: a reward function of a user for episodes that were collected before it
// existed. `waker relabel` simulates the episodes of a run once more, from (θ, seed, episode,
// actions), asks the function after every control step, and adds its sums as a task of the run.
//
// A reward is a plug-in like a domain or a rule: one struct behind one exported function. It reads
// the simulator's state by name and calls nothing of waker: these headers are all it needs.
#ifndef WAKER_REWARD_H
#define WAKER_REWARD_H

#include "waker/env.h"
#include "waker/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Version of the structs that a reward sees.
#define WK_REWARD_ABI 1u

enum { WK_REWARD_MEMORY_MAX = 65536 }; // max bytes that a reward may keep of an episode

/// What a reward sees. Pointers are borrowed for the call.
typedef struct wk_reward_view {
    const char *domain;  // its name
    const double *theta; // [n_params] of the episode
    int n_params;
    const float *action; // [action_size] of the agent step, within [-1,1]; NULL at the start
    int action_size;
    int control_step; // control steps before this one in the episode; 0 at the start too

    /// The numbers of the state called `name`, [*count], or NULL: there are none. docs/plugins.md
    /// lists the names of each domain: "xpos/torso", "qvel/rootx", "completion", ...
    const double *(*read)(void *simulation, const char *name, int *count);
    void *simulation;
} wk_reward_view;

/// A reward function.
typedef struct wk_reward {
    uint32_t abi;  // WK_REWARD_ABI
    uint32_t size; // sizeof(wk_reward)
    /// [a-z0-9_-], the task's; no task of the domain may have it, and all, none, explore and random
    /// are reserved.
    const char *name;
    const char *summary;

    /// Bytes that the reward keeps of an episode, zeroed at its start. They are saved and restored
    /// with the state: plain numbers, no pointers. With 0 the functions get NULL.
    size_t memory;

    /// Optional: the start of an episode. Fails where the state lacks what the reward reads.
    wk_status (*begin)(const wk_reward_view *view, void *memory, wk_error *err);

    /// The reward of one control step, in the state it led to; an agent step earns the sum, in
    /// double precision, rounded to float. A pure function of the view and the memory, called from
    /// any thread, one at a time per episode.
    double (*reward)(const wk_reward_view *view, void *memory);
} wk_reward;

/// The function that a plug-in with a reward exports (and the program does not define).
__attribute__((visibility("default"))) const wk_reward *wk_plugin_reward(void);
#define WK_REWARD_PLUGIN_SYMBOL "wk_plugin_reward"

#ifdef __cplusplus
}
#endif
#endif
