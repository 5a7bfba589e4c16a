// Rewards after the fact: a task is added to a run whose data was collected before, as
// `waker relabel` does it. The episodes of the run are simulated once more and verified bit for
// bit.
//
// The reward is a plug-in (waker/reward.h), or a function of the caller's: then the states that it
// reads are recorded on the library's threads, and the function is called on the calling thread,
// for one whole episode at a time.
#ifndef WAKER_RELABEL_H
#define WAKER_RELABEL_H

#include "waker/env.h"
#include "waker/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WK_RECORDED_READS_MAX = 64, WK_RECORDED_NAME_MAX = 128 };

/// An episode as it was simulated again. Pointers are borrowed for the call.
typedef struct wk_recorded_episode {
    const wk_domain *domain; // with its own tasks
    uint64_t number;
    const double *theta;         // [n_params]
    size_t steps, control_steps; // agent steps; control steps, up to action_repeat in each of them
    const float *actions;        // [steps, action_size]
    const float *rewards;        // [steps, n_tasks], as stored: of the domain's own tasks
    const uint32_t *step;        // [control_steps]: the agent step of each, from 0
    const double *const *states; // [n_reads]: [1 + control_steps, widths[i]]; first of the start,
                                 // then after each control step
    const int *widths;           // [n_reads]: how many numbers each read has
} wk_recorded_episode;

/// A reward that the caller computes.
typedef struct wk_recorded_reward {
    const char *name;         // [a-z0-9_-], the task's; no task of the domain may have it
    const char *const *reads; // [n_reads]: names of the state (docs/plugins.md); one that ends
                              // with '?' may be missing: then it has no numbers
    int n_reads;
    const char *path;   // where its code is, absolute: kept with the numbers,
    const char *sha256; // like the hash of it, by which other code of the same name is noticed

    /// Fills the reward of each control step, [control_steps]; an agent step earns the sum, in
    /// double precision, rounded to float. Returns false to give up: the run stays as it was.
    bool (*reward)(void *context, const wk_recorded_episode *episode, double *rewards);
    void *context;
} wk_recorded_reward;

typedef struct wk_relabel_config {
    const char *directory;              // of the run
    const char *reward;                 // file of the plug-in,
    const wk_recorded_reward *recorded; // or the caller's reward; one of them is NULL
    const char *plugin;                 // that of the run's domain; NULL: it is built in
    bool restart;                       // replace a reward of that name that other code has made
    int threads;                        // 0: one per core
} wk_relabel_config;

/// What was done.
typedef struct wk_relabel_result {
    char name[64];             // of the task
    uint64_t episodes, rows;   // that the task has now
    uint64_t simulated, steps; // of them, episodes simulated by this call; and agent steps
    double seconds;            // simulating took, and computing rewards
    double mean_return;        // of the task, over the finished episodes
    int threads;
} wk_relabel_result;

/// Adds the task, or brings it up to date with the run's data; what is there already is left as it
/// is. Nothing of the run changes but RUN/rewards/NAME.safetensors, at the end and at once.
wk_status wk_relabel_run(const wk_relabel_config *config, wk_relabel_result *out, wk_error *err);

#ifdef __cplusplus
}
#endif
#endif
